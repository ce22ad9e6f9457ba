"""What all verbs print with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from redolab.progress import Progress
    from redolab.report.table import ReportTable


def console() -> Console:
    """Where tables go: as wide as the terminal, or as a page where there is none."""
    from rich.console import Console

    from redolab.report.table import PAGE

    # A terminal is also one at which another machine's output is shown: $FORCE_COLOR says so, and $COLUMNS how wide it is.
    shown = Console()
    return shown if shown.is_terminal else Console(width=PAGE)


def progress() -> Progress:
    """What the lab is doing, shown there."""
    from redolab.progress import Progress

    return Progress(console())


def show_or_say(table: ReportTable, nothing: str) -> None:
    """A table, or what to say when it has no row."""
    if table.cells:
        table.show(console())
    else:
        click.echo(nothing)
