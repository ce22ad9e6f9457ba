"""`python -m redolab`."""

from redolab.cli import main

main()
