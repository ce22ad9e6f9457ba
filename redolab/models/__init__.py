"""Pure functions of numbers: no server, no file, no clock."""
