"""This machine: what it offers and lacks, and removing all that the lab made on it."""

from __future__ import annotations

import sys

import click

from redolab.commands.console import console, progress
from redolab.commands.machines import machine_option


@click.command()
@click.option("--log-size", default="8G", metavar="SIZE", help="For a redo log of this size.  [default: 8G]")
@machine_option
def doctor(log_size: str) -> None:
    """Show what this machine offers and lacks."""
    from redolab.units import parse_size
    from redolab.upkeep.diagnosis import examine

    report = examine(parse_size(log_size))
    report.table.show(console())
    sys.exit(0 if report.fit else 1)


@click.command()
def clean() -> None:
    """Remove all that the lab made for itself.

    Servers, tools, datasets, crash images and the virtual machine go; runs and their results stay.
    """
    from redolab.upkeep.housekeeping import clean as remove_all
    from redolab.virtual.vagrant import Guest

    guest = Guest.of_settings()
    if guest.exists:
        guest.destroy(progress())
    for line in remove_all(progress()):
        click.echo(line)
