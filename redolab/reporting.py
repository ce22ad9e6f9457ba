"""The end of every run: its table and plots written and shown, also when it was stopped half-way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console

from redolab.lab import Lab
from redolab.report.table import ReportTable
from redolab.results import Run
from redolab.units import format_duration


class Report(Protocol):
    """How an experiment's trials become a table and plots."""

    def __call__(self, run: Run, *, stopped: bool = False) -> Sequence[ReportTable]:
        """Write the tables and the plots of what a run has measured into its folder."""


@contextmanager
def reported(lab: Lab, run: Run, report: Report) -> Iterator[None]:
    """At its end, write and show the table and plots of what was measured: also when it was stopped half-way."""
    console = lab.progress.console
    try:
        yield
    except BaseException:
        if run.trial_count():
            try:
                _show(report(run, stopped=True), console)
            except Exception as error:
                lab.progress.note(f"and its table could not be written: {error}")
        raise
    with lab.progress.stage("writing tables and plots"):
        tables = report(run)
    console.print()
    _show(tables, console)
    shares = " · ".join(f"{kind} {format_duration(seconds)}" for kind, seconds in lab.progress.seconds.items())
    lab.progress.note(f"time: {shares}")
    lab.progress.note(f"everything is in {run.folder}")


def _show(tables: Sequence[ReportTable], console: Console) -> None:
    for table in tables:
        table.show(console)
        console.print()
