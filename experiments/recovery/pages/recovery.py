"""The page of a large redo log, full, recovered with two buffer pools, on several machines."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redolab.machine.machine_class import MachineClass
from redolab.models.bound import Bound
from redolab.report.contents import Page, Plot
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable, number
from redolab.report.template import filled
from redolab.results.alike import Keyed, keyed_recoveries
from redolab.results.committed import SLOWER_MACHINE, THIRD_MACHINE
from redolab.results.crashes import crashes_of, samples_of
from redolab.results.marks import Off, marks_of, storage_label
from redolab.runs.repeat_command import command
from redolab.runs.store import Run
from redolab.storage.profiles import HOME
from redolab.units import GIB, format_size

from ..factors import Factors
from ..plots import plot_age
from ..remarks import remarks
from ..rows import RecoveryRow, bound_of, recovery_rows
from ..table import count, redo_at_crash, seconds_between
from .tables import on_page

_TEMPLATE = Path(__file__).with_suffix(".md")
RUNS = ["model", SLOWER_MACHINE, THIRD_MACHINE]
"""Folders under data/measured whose runs the page is made from."""
_LOG, _WORKLOAD = 8 * GIB, "bulk-update"
_FULL = 0.9
"""Share of the checkpoint age's hard limit from which on a redo log counts as full; the crashes shown have 0.95 to 0.98."""
_ELSEWHERE = {SLOWER_MACHINE: "a slower machine of the same class", THIRD_MACHINE: "a third one"}
"""Folder of runs → the machine that they were measured on, where it is not the project's own."""


@dataclass(frozen=True, slots=True)
class Crash:
    """What one crash took to recover with one pool on one storage."""

    began: str
    """When it was recovered for the first time."""
    row: RecoveryRow
    seconds: Sequence[float]
    """To ready, of each recovery."""
    elsewhere: str = ""
    """Its machine in words; empty: the project's own."""


@dataclass(frozen=True, slots=True)
class OnMachine:
    """The crashes on machines of one class."""

    machine: str
    recoveries: int
    table: str


def page(runs: Sequence[Run]) -> Page:
    """Return the page of the crashes with a full log of the size; the run with most recoveries at home has the pictures."""
    alike = [each for each in keyed_recoveries(runs) if _is_shown(each)]
    at_home = Counter(each.run for each in alike if each.trial.storage == HOME)
    last = max((run for run in runs if run.name in at_home), key=lambda run: (at_home[run.name], run.name))
    image = crashes_of(last)[0]
    by_machine: dict[MachineClass, list[Keyed]] = defaultdict(list)
    for each in alike:
        by_machine[each.key.machine].append(each)
    most = sorted(by_machine.values(), key=len, reverse=True)
    elsewhere = {run.name: words for run in runs if (words := _ELSEWHERE.get(run.folder.parent.name))}
    crashes = [_crashes(each, elsewhere) for each in most]
    off = marks_of(runs)
    age = Plot("age", partial(plot_age, image=image, samples=samples_of(last, image.name), stem="age"))
    log = format_size(image.spec.instance.log_size)
    shown = on_page(last)
    values = {
        "answer": answer(crashes[0], log),
        "apart": _apart(crashes[0]),
        "machines": [
            OnMachine(
                machine=recoveries[0].key.machine.in_words(),
                recoveries=len(recoveries),
                table=_table(of_machine, recoveries, off).as_markdown(),
            )
            for recoveries, of_machine in zip(most, crashes, strict=True)
        ],
        "shown": shown,
        "command": command(last, Factors(), always=["server", "log_size"]),
        "log": log,
        "dataset": format_size(image.spec.dataset.size),
        "workload": image.spec.workload,
        "clients": image.spec.threads,
        "server": server_label(image.spec.dataset.server, image.spec.dataset.version),
        "why_killed": image.why_killed,
    }
    return Page(filled(_TEMPLATE, values), [shown.phases(title=_title(shown.rows, log)), age])


def _is_shown(each: Keyed) -> bool:
    """Return True for a recovery of a full log: until 2026-11-24 MariaDB was killed at its async flush point, 88 % of the limit."""
    spec, age = each.image.spec, each.image.last_sample.checkpoint_age
    alike = (spec.instance.log_size, spec.workload) == (_LOG, _WORKLOAD)
    return alike and age is not None and age >= _FULL * each.image.hard_limit


def answer(crashes: Sequence[Crash], log: str) -> str:
    """How long each server took at home, its fastest and slowest recovery, the fastest server first; machines apart."""
    others = [
        f"; on {machine} {_each_server(found)}"
        for machine in _ELSEWHERE.values()
        if (found := _at_home(crashes, machine))
    ]
    here = _each_server(_at_home(crashes, ""))
    return f"With a full redo log of {log} servers were ready, by pool and crash: {here}{''.join(others)}."


def _each_server(found: Sequence[tuple[str, Sequence[Crash]]]) -> str:
    return ", ".join(f"{server} after {_of_server(own)}" for server, own in found)


def _at_home(crashes: Sequence[Crash], machine: str) -> list[tuple[str, list[Crash]]]:
    """Server → its crashes on that machine's own disk, the fastest server first."""
    found: dict[str, list[Crash]] = defaultdict(list)
    for crash in crashes:
        if crash.row.storage == HOME and crash.elsewhere == machine:
            found[_server(crash.row)].append(crash)
    return sorted(found.items(), key=lambda entry: statistics.median(_seconds(entry[1])))


def _of_server(crashes: Sequence[Crash]) -> str:
    seconds = _seconds(crashes)
    number_of = len({crash.began for crash in crashes})
    of = f"{len(seconds)} recoveries of {number_of} crashes" if number_of > 1 else f"{len(seconds)} recoveries"
    return f"{min(seconds):.0f} to {max(seconds):.0f} s ({of})"


def _apart(crashes: Sequence[Crash]) -> str:
    """By how much crashes of one server, storage and pool differ, and recoveries of one crash, a sentence."""
    cells: dict[tuple[str, str, int], list[Crash]] = defaultdict(list)
    for crash in crashes:
        cells[_server(crash.row), crash.row.storage, crash.row.buffer_pool_bytes].append(crash)
    again = [[statistics.median(each.seconds) for each in cell] for cell in cells.values() if len(cell) > 1]
    within = max(max(each.seconds) / min(each.seconds) for each in crashes)
    of_one = f"Recoveries of one crash with one pool differed by up to {within - 1:.0%}"
    if not again:
        return f"{of_one}."
    between = max(max(medians) / min(medians) for medians in again)
    return f"{of_one}, their medians from crash to crash, hours or days apart, by up to {between - 1:.0%}."


def _title(rows: Sequence[RecoveryRow], log: str) -> str:
    medians = [row.ready_median_s for row in rows if row.ready_median_s is not None]
    return f"A full redo log of {log}: ready after {min(medians):.0f} to {max(medians):.0f} s"


def _crashes(recoveries: Sequence[Keyed], elsewhere: Mapping[str, str]) -> list[Crash]:
    """Of each run its cells, by server, storage and pool, the oldest first."""
    found = []
    for run in dict.fromkeys(each.run for each in recoveries):
        own = [each for each in recoveries if each.run == run]
        for row in recovery_rows(own):
            cell = [each.trial for each in own if _is_of(each, row)]
            seconds = [trial.ready_s for trial in cell if trial.ready_s is not None]
            images = {trial.image for trial in cell}
            began = min(each.trial.started for each in own if each.trial.image in images)
            found.append(Crash(f"{began:%Y-%m-%d %H:%M}", row, seconds, elsewhere.get(run, "")))
    return sorted(
        found, key=lambda each: (_server(each.row), each.row.storage != HOME, each.row.storage, -each.row.buffer_pool_bytes, each.began)
    )  # fmt: skip


def _is_of(each: Keyed, row: RecoveryRow) -> bool:
    trial = each.trial
    return (trial.server, trial.storage, trial.buffer_pool) == (row.server, row.storage, row.buffer_pool_bytes)


def _table(crashes: Sequence[Crash], recoveries: Sequence[Keyed], off: Off) -> ReportTable:
    columns = [
        Column[Crash]("server", lambda each: _server(each.row), shared=str),
        Column[Crash]("storage", lambda each: storage_label(each.row, off), shared="on {}".format),
        Column[Crash]("pool", lambda each: format_size(each.row.buffer_pool_bytes), right=True),
        Column[Crash]("crash of", lambda each: each.began, shared="crash of {}".format),
        Column[Crash]("redo", lambda each: redo_at_crash(each.row), right=True),
        Column[Crash]("ready, s", lambda each: number(each.row.ready_median_s), right=True),
        Column[Crash]("min–max", lambda each: seconds_between(each.row), right=True),
        Column[Crash]("n", lambda each: str(each.row.n), right=True),
        Column[Crash]("batches", lambda each: count(each.row.batches), right=True),
        Column[Crash]("scan", lambda each: number(each.row.scan_s), right=True),
        Column[Crash]("apply", lambda each: number(each.row.apply_s), right=True),
        Column[Crash]("bound by", lambda each: str(bound_of(each.row) or Bound.NEITHER)),
    ]
    notes = [
        "Seconds to ready: median of the recoveries; scan and apply are of the recovery nearest to it. Servers differ in the redo "
        "that a full log leaves.",
        *remarks([each.row for each in crashes], [each.image for each in recoveries], off),
    ]
    return ReportTable.brief("Crashes", crashes, columns, notes)


def _server(row: RecoveryRow) -> str:
    return server_label(row.server, row.version)


def _seconds(crashes: Iterable[Crash]) -> list[float]:
    return [seconds for crash in crashes for seconds in crash.seconds]
