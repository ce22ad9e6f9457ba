"""The command line, with a file for each group of commands."""
