"""The lab on this machine: its examination, and the removal of all that the lab made on it."""

from __future__ import annotations

import os
import sys

import click

from redolab.commands.console import console, progress
from redolab.commands.machines import machine_option

_UP = "running"
"""State of a running virtual machine, in Vagrant's words."""


@click.command()
@click.option("--log-size", default="8G", metavar="SIZE", help="For a redo log of this size.  [default: 8G]")
@machine_option
def doctor(log_size: str) -> None:
    """Show what this machine offers and lacks."""
    from redolab.commands.upkeep.diagnosis import examine
    from redolab.units import parse_size

    report = examine(parse_size(log_size))
    report.table.show(console())
    sys.exit(0 if report.fit else 1)


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
def clean(yes: bool) -> None:
    """Remove all that the lab made for itself.

    Servers, tools, datasets, crash images and the virtual machine go; runs and their results stay. It says what and how
    much that is, and asks.
    """
    from redolab.commands.upkeep.cleaning import clean as remove_all
    from redolab.commands.upkeep.cleaning import removable
    from redolab.errors import InvalidInput
    from redolab.machine.lab_folder import YES
    from redolab.machines.remote.address import guest_address
    from redolab.machines.remote.visit import check_fetched
    from redolab.machines.virtual.vagrant import Guest
    from redolab.project import PROJECT
    from redolab.units import format_size

    guest = Guest()
    if guest.exists and guest.status() == _UP:
        check_fetched(guest_address(), progress())
    found = removable()
    size = format_size(sum(each.size for each in found))
    asks = bool(found) and not (yes or os.environ.get(YES))
    if asks and not sys.stdin.isatty():
        raise InvalidInput(
            f"{size} of the lab's in {PROJECT.lab} would be removed, and nobody can be asked here",
            "say --yes (make clean YES=1)",
        )
    if found:
        click.echo(f"in {PROJECT.lab}:")
    for each in found:
        click.echo(f"    {each}")
    lost = ", and what was measured in the virtual machine and not fetched" if guest.exists else ""
    if asks and not click.confirm(f"remove these {size}{lost}? Runs stay in {PROJECT.runs}"):
        click.echo("nothing was removed")
        sys.exit(1)
    if guest.has_left:
        guest.destroy(progress())
    click.echo(remove_all(progress()))
