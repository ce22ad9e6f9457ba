"""Runs: listed, shown, reported again, removed."""

from __future__ import annotations

import click

from redolab.commands.console import console, progress, show_or_say


@click.command()
def runs() -> None:
    """List the runs that are kept."""
    from redolab.runs.store import RunStore
    from redolab.upkeep.kept_tables import runs_table

    readable, errors = RunStore().readable()
    show_or_say(runs_table([record for _, record in readable]), "no runs yet: 'make experiment recovery' makes one")
    for error in errors:
        click.echo(f"left out: {error}", err=True)


@click.command()
@click.argument("name", metavar="RUN")
def show(name: str) -> None:
    """Print a run's table again.

    RUN is its name, the beginning of it, or `latest`.
    """
    from redolab.runs.store import RunStore
    from redolab.upkeep.kept_tables import show_run

    show_run(console(), RunStore().get(name))


@click.command()
@click.argument("name", metavar="RUN")
def report(name: str) -> None:
    """Make a run's tables and plots again.

    From what was recorded; RUN is its name, the beginning of it, or `latest`.
    """
    from redolab.runs.session import report_again

    report_again(name, progress())


@click.command()
@click.argument("name", metavar="RUN")
def rm(name: str) -> None:
    """Remove a run and the crash images it made."""
    from redolab.upkeep.housekeeping import remove_run

    for line in remove_run(progress(), name):
        click.echo(line)
