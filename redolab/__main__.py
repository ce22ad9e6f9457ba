"""Entry point of `python -m redolab`."""

from redolab.commands.main import main

main()
