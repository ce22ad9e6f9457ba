"""Recoveries in error logs."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file, for programs.")
def timeline(files: tuple[Path, ...], as_json: bool) -> None:
    """Show the recoveries in error logs.

    For every crash recovery in the files (- for standard input): its phases, how much redo, and what could not be told; crash
    loops, and how many starts were clean. Exit status 3 if the last start in a file is not ready.
    """
    from redolab.errorlog.timeline_report import report_timelines

    sys.exit(report_timelines(files, as_json))
