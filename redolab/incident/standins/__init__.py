"""Stand-ins for packages that are not pure Python, or larger than what is used of them: packed under their names."""
