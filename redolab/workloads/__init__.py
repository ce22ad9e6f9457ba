"""Under which load: what writes to an instance until it is told to stop."""
