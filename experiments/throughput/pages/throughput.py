"""The page of what a larger redo log gains in throughput and costs in recovery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redolab.records.crash import filled_to
from redolab.records.plan import CrashPlan
from redolab.report.contents import Page
from redolab.report.template import filled
from redolab.results.gains import Conditions
from redolab.results.loads import found_in
from redolab.results.marks import Off, marks_of
from redolab.runs.confounded import confounded_with_time
from redolab.runs.machines import measured_on
from redolab.runs.repeat_command import command
from redolab.runs.store import Run
from redolab.units import format_size

from ..answer import finding, gained, limited_in_words, name_of, sentence
from ..factors import Factors
from ..report import plots, rto_of, workloads_of
from ..rows import ThroughputSeries, series_of
from ..table import costs_table, throughput_table

_TEMPLATE = Path(__file__).with_suffix(".md")


@dataclass(frozen=True, slots=True)
class _Kind:
    """The loads of one workload, as the page has them; `suffix` tells their pictures from those of the others."""

    workload: str
    where: str
    suffix: str
    finding: str
    answers: Sequence[str]
    limited: str
    table: str
    costs: str
    measured: str
    """On what, and when."""


def page(runs: Sequence[Run]) -> Page:
    """The page of all runs kept for it, the oldest first: each of them, on one machine, is a block of its own."""
    found = found_in(runs)
    series = series_of(found)
    off = marks_of(runs)
    workloads = workloads_of(found)
    of_workload = {name: [each for each in series if each.made.workload == name] for name in workloads}
    first = sorted(workloads, key=lambda name: not any(gained(each) for each in of_workload[name]))
    kinds = [_kind(name, of_workload[name], off, runs, is_first=name == workloads[0]) for name in first]
    values = {
        "kinds": kinds,
        "confounded": confounded_with_time(runs, CrashPlan, {"servers": lambda crash: crash.server}),
        "filled_to": filled_to([each.image for each in found.worst]),
        "commands": [command(run, Factors(), always=("server", "log_size")) for run in runs],
    }
    pictures = [plot for kind in kinds for plot in plots(of_workload[kind.workload], rto_of(runs[-1]), kind.suffix)]
    return Page(filled(_TEMPLATE, values), pictures)


def _kind(workload: str, series: Sequence[ThroughputSeries], off: Off, runs: Sequence[Run], *, is_first: bool) -> _Kind:
    of_it = {load.run for each in series for load in each.loads}
    own = [run for run in runs if run.name in of_it]
    return _Kind(
        workload,
        _where([each.made for each in series]),
        "" if is_first else f"-{workload}",
        finding(series).rstrip("."),
        [sentence(each, series, device=len(series) == 1) for each in series],
        limited_in_words(series),
        throughput_table(series, [workload], off).as_markdown(),
        costs_table(series, off).as_markdown(),
        _measured(series, own),
    )


def _measured(series: Sequence[ThroughputSeries], runs: Sequence[Run]) -> str:
    """On which machine, and when; where there are several, which loads on each."""
    on: dict[str, list[Run]] = {}
    for run in runs:
        on.setdefault("; ".join(measured_on([run])), []).append(run)
    said = []
    for machine, own in on.items():
        dates = ", ".join(dict.fromkeys(f"{run.record().began:%Y-%m-%d}" for run in own))
        names = {run.name for run in own}
        which = [name_of(each, series) for each in series if any(load.run in names for load in each.loads)]
        loads = f" ({'; '.join(which)})" if len(on) > 1 else ""
        said.append(f"{machine}, {dates}{loads}")
    return "; ".join(said)


def _where(made: Sequence[Conditions]) -> str:
    """Where loads ran, as in `on cloud-ssd, 32 clients, tables of 1G`."""
    storages, clients, tables = (
        list(dict.fromkeys(values))
        for values in zip(
            *((each.storage, str(each.connections), format_size(each.tables)) for each in made), strict=True
        )
    )
    return f"on {' and '.join(storages)}, {' and '.join(clients)} clients, tables of {' and '.join(tables)}"
