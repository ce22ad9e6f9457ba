"""Report on a larger log within one load: its gain, and throughput while the log changes size."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from redolab.grouping import by_key
from redolab.report.contents import Plot, Report
from redolab.report.labels import server_label
from redolab.report.numbers import NONE, number, span
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt
from redolab.report.quantities import quantities_of
from redolab.report.table import Column, ReportTable
from redolab.results.turns import Resize, ResizedLoad, Turn
from redolab.runs.default_report import Configuration, configurations_table
from redolab.runs.store import Run
from redolab.runs.trial_results import Result
from redolab.units import format_duration, format_size

from .experiment import Block, Load, Resizing

_FROM, _TO = -10, 30
"""Seconds before and after the statement."""
_BRIEFLY = ("rate", "latency_95_ms", "checkpoint_age_bytes", "pages_bytes_per_commit", "device_bytes_per_commit")


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The blocks of one load."""

    results: Sequence[Result[Load, Block, Any]]

    @property
    def group(self) -> Load:
        """Server, storage and clients."""
        return self.results[0].group

    @property
    def load(self) -> ResizedLoad:
        """Measured blocks, as results know them."""
        return ResizedLoad([each.trial for each in self.results])

    @property
    def sizes(self) -> tuple[str, str]:
        """The smaller log and the larger one, as in `256M`."""
        small, large = self.load.sizes
        return format_size(small), format_size(large)

    @property
    def label(self) -> str:
        """Server and version, as in `MySQL 9.7.4`."""
        return server_label(self.group.server, self.results[0].trial.version)

    def turns(self) -> list[Configuration]:
        """Return the turns with each size of the log."""
        return self._blocks.split("log", lambda block: block.turns, lambda turn: format_size(turn.log_size_bytes))

    def changes(self) -> list[Configuration]:
        """Return the changes of size, to the larger log and back."""
        return self._blocks.split("change", lambda block: block.resizes, Resize.in_words)

    @property
    def _blocks(self) -> Configuration:
        return Configuration({**self.group.described(), "server": self.label}, self.results)


def report(run: Run) -> Report:
    """Return the answer, the tables and the plot of a run. Raises `LabError`."""
    by_load = by_key(Resizing.results(run), lambda each: each.group)
    found = [LoadResult(results) for results in by_load.values()]
    if not found:
        return Report(answer="Nothing was measured.", tables=[])
    seconds = run.plan(Resizing.plan_type).conditions.seconds
    changes = [change for each in found for change in each.changes()]
    return Report(
        answer=answer(found),
        tables=[turns_table(found, seconds, _BRIEFLY), *([changes_table(changes)] if changes else [])],
        details=[turns_table(found, seconds, list(quantities_of(Turn)))],
        plots=[Plot("changes", partial(plot_changes, found=found))] if changes else [],
    )


def answer(found: Sequence[LoadResult]) -> str:
    """Return a sentence: the larger log's change of throughput, and the slowest second of a resize."""
    small, large = found[0].sizes
    gains = [each.load.gain for each in found]
    gained = gains[0].with_interval(1) if len(gains) == 1 else f"{span([100 * each.change for each in gains], 1)} %"
    slowest = [change.slowest for each in found for block in each.load.blocks for change in block.resizes]
    met = f"; the slowest second while it changed had {number(100 * min(slowest), 0)} % of the usual" if slowest else ""
    return f"A redo log of {large} instead of {small} changed throughput by {gained}{met}."


def turns_table(found: Sequence[LoadResult], seconds: float, names: Sequence[str]) -> ReportTable:
    """Return a row for each load and size, with these quantities of its turns."""
    loads = {each.group: each.load for each in found}

    def gain(row: Configuration) -> str:
        load, size = loads[row.results[0].group], row.results[0].trial.log_size_bytes
        return load.gain.with_interval(1) if size == max(load.sizes) else NONE

    notes = [
        f"Turns of {format_duration(seconds)}. Throughput: NOTPM of TPC-C, else commits a second. Gain: with its 95 % "
        "interval; each block counts once. Pages (without the doublewrite buffer) and device: bytes written for each "
        "commit.",
    ]
    turns = [turn for each in found for turn in each.turns()]
    quantities = {name: each for name, each in quantities_of(Turn).items() if name in names}
    gained = Column[Configuration]("gain", gain, right=True)
    return configurations_table("Both sizes, interleaved within one load", turns, quantities, notes, [gained])


def changes_table(changes: Sequence[Configuration]) -> ReportTable:
    """Return a row for each load and direction."""
    notes = [
        "Seconds until the statement was answered, and until the log had its new size. Throughput meanwhile, and in the "
        "slowest second before the turn is measured, as shares of the 10 s before the statement.",
    ]
    return configurations_table("Changing the log's size under load", changes, quantities_of(Resize), notes)


def plot_changes(found: Sequence[LoadResult]) -> Figure:
    """Draw throughput around each change: a row of panels a load, to the larger log on the left, back on the right."""
    size = (WIDTH, 1.4 + 1.9 * len(found))
    figure, panels = plt.subplots(
        len(found), 2, figsize=size, sharex=True, sharey=True, layout="constrained", squeeze=False
    )
    for row, each in zip(panels, found, strict=True):
        for panel, grows in zip(row, (True, False), strict=True):
            _panel(panel, each.load.resizes(grows=grows))
        row[0].set_ylabel("throughput", fontsize="small")
    for panel in panels[-1]:
        panel.set_xlabel("seconds since the statement", fontsize="small")
    panels[0][0].set_xlim(_FROM, _TO)
    panels[0][0].set_ylim(bottom=0)
    labels = panels[0][0].get_legend_handles_labels()
    figure.legend(*labels, loc="outside lower center", ncols=3, fontsize="small", frameon=False)
    head(figure, answer(found).removesuffix("."), "")
    for row, each in zip(panels, found, strict=True):
        small, large = each.sizes
        name = f"{each.label}, {each.group.workload} on {each.group.storage}"
        for panel, change in zip(row, (f"{small} to {large}", f"{large} to {small}"), strict=True):
            panel.set_title(f"{name}: {change}", fontsize="small", loc="left", color=MODEL)
    return figure


def _panel(panel: Axes, changes: Sequence[Resize]) -> None:
    for place, each in enumerate(changes):
        at, rates = zip(*each.rates, strict=True)
        shares = [100 * rate / each.usual_rate for rate in rates]
        panel.plot(at, shares, color=MEASURED, alpha=0.5, linewidth=1, label="" if place else "one change")
    panel.axvline(0, color=MODEL, linewidth=0.8, label="statement")
    if changes:
        done = statistics.median(each.in_force_s for each in changes)
        panel.axvline(done, color=LIMIT, linestyle="--", linewidth=1, label="the log has its size (median)")
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:.0f} %")
    panel.grid(visible=True, axis="y", color="#DDDDDD", linewidth=0.5)
    panel.set_axisbelow(True)
