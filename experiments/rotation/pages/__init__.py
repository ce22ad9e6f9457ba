"""Pages of results that are made from runs of rotations: a module and a template each."""
