"""Effect of a purge of binary logs on writers, and its dependence on the size of the files."""
