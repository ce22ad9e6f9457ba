"""Console and progress that all commands print with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

    from redolab.progress import Progress
    from redolab.report.table import ReportTable


def console() -> Console:
    """Return the console for tables: as wide as the terminal, or as a page without one."""
    from rich.console import Console

    from redolab.report.table import PAGE

    # A terminal may show another machine's output: then $FORCE_COLOR is set, and $COLUMNS has its width.
    shown = Console()
    return shown if shown.is_terminal else Console(width=PAGE)


def progress() -> Progress:
    """Return the progress of the lab, shown on that console."""
    from redolab.progress import Progress

    return Progress(console())


def show_or_say(table: ReportTable, nothing: str) -> None:
    """Show a table, or say `nothing` if it has no row."""
    if table.cells:
        table.show(console())
    else:
        click.echo(nothing)
