"""Reading runs: nothing here starts, mounts or measures anything."""
