"""The page of storages: the same crashes recovered on each."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redolab.machine.machine_class import MachineClass
from redolab.records.crash import filled_to
from redolab.records.plan import CrashPlan
from redolab.report.contents import Page, Plot
from redolab.report.template import filled
from redolab.results.alike import Keyed, Keys, keyed_recoveries
from redolab.results.committed import SLOWER_MACHINE
from redolab.results.crashes import crashes_of
from redolab.results.marks import Off, marks_of, storage_label
from redolab.results.storages import storages_of
from redolab.runs.confounded import confounded_with_time
from redolab.runs.store import Run
from redolab.sizing.calibration import on_its_machine, shipped_calibration
from redolab.sizing.judged_own import OwnCalibration, judged_by_own
from redolab.sizing.judging import JudgedRecovery, judged_recoveries, strata_table
from redolab.sizing.judging import answer as judged_in_words
from redolab.storage.catalogue import storage_profile
from redolab.storage.profiles import CLOUD, HOME
from redolab.storage.table import disks_table
from redolab.units import format_size

from ..rows import RecoveryRow, recovery_rows
from .slower import CellRatio, plot_slower, ratios_on
from .tables import OnPage, of_recoveries, of_rows

_TEMPLATE = Path(__file__).with_suffix(".md")
RUNS = ["storage", "model", SLOWER_MACHINE]
"""Folders under data/measured whose runs the page is made from."""
_MATRIX = "storage"
"""The folder of the runs in which every storage was measured; the others compare two of them."""
_WORKLOAD = "bulk-update"
"""Whose crashes are compared: those of another make other redo, and take other times."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Every storage, on machines of one class."""

    machine: str
    shown: OnPage
    dates: str
    recoveries: int
    slower: Mapping[str, float]
    """Storage → as many times as long as at home, the median of its cells, the least first."""
    spans: Mapping[str, tuple[float, float]]
    """Storage → the same of the cell with the least, and of that with the most."""
    too_slow: Sequence[str]
    """The storages that were slower than asked for in most of their rows: such a disk recovers sooner."""
    penalties: Mapping[str, float]
    """Storage → how many times as long with the smallest pool as with the largest."""
    pools: Sequence[int]
    """Bytes, the largest first."""
    disks: str
    judged: str
    """How far predictions were off, a sentence."""
    predicted: str
    """The table of it."""
    longer_at_home: float | None
    """How many times as long as predicted recoveries took at home (geometric mean)."""
    own: OwnCalibration | None
    """By a calibration of the same machine; None if it has none."""
    predicted_by_own: str
    """The table of it."""

    @property
    def largest(self) -> tuple[str, float]:
        """The storage on which a small pool costs the most, and how many times as long it takes."""
        return max(self.penalties.items(), key=lambda entry: entry[1])

    @property
    def least(self) -> tuple[str, float]:
        """The storage on which a small pool costs the least, and how many times as long it takes."""
        return min(self.penalties.items(), key=lambda entry: entry[1])


@dataclass(frozen=True, slots=True)
class Others:
    """Other servers and sizes on two storages, on machines of one class."""

    machine: str
    shown: OnPage
    dates: str
    recoveries: int
    slower: float
    """As many times as long on the volume as at home."""


def page(runs: Sequence[Run]) -> Page:
    """The page of all runs together, each class of machines by itself."""
    of_matrix = [run for run in runs if run.folder.parent.name == _MATRIX]
    others = [run for run in runs if run.folder.parent.name not in (_MATRIX, SLOWER_MACHINE)]
    of_others = sorted(
        [run for run in others if {each.spec.workload for each in crashes_of(run)} == {_WORKLOAD}],
        key=_smallest_log,
    )
    ((machine, recoveries),) = _by_machine(of_matrix)
    matrix = _matrix(Keys(of_matrix), machine, recoveries, runs)
    own = {storage: ratios_on(matrix.shown.rows, storage) for storage in matrix.slower}
    slower = Plot("slower", partial(plot_slower, storages=own, marked=matrix.too_slow, title=_title(matrix)))
    values = {
        "matrix": matrix,
        "others": [_others(Keys(of_others), machine, own) for machine, own in _by_machine(of_others, (HOME, CLOUD))],
        "confounded": confounded_with_time(
            [*of_matrix, *of_others],
            CrashPlan,
            {
                "servers": lambda crash: crash.server,
                "log sizes": lambda crash: crash.spec.instance.log_size,
            },
        ),
        "home": HOME,
        "cloud": storage_profile(CLOUD).about,
        "filled_to": filled_to([image for run in runs for image in crashes_of(run) if image.spec.kill.fills_up]),
    }
    return Page(filled(_TEMPLATE, values), [slower])


def _by_machine(runs: Sequence[Run], storages: Sequence[str] = ()) -> list[tuple[MachineClass, list[Keyed]]]:
    """The recoveries on these storages, or on all, of each class of machines: of the one that measured the most first."""
    found: dict[MachineClass, list[Keyed]] = defaultdict(list)
    for each in keyed_recoveries(runs):
        if not storages or each.trial.storage in storages:
            found[each.key.machine].append(each)
    return sorted(found.items(), key=lambda entry: -len(entry[1]))


def _title(matrix: Matrix) -> str:
    """As in `A full 2G log takes 7.4 times as long on hdd as on native, 2.6 times on cloud-ssd`."""
    storages = sorted(matrix.slower.items(), key=lambda entry: -entry[1])
    (slowest, times), *others = storages
    beside = f", {dict(others)[CLOUD]:.1f} times on {CLOUD}" if CLOUD in dict(others) else ""
    log = format_size(matrix.shown.rows[0].log_size_bytes)
    return f"A full {log} log takes {times:.1f} times as long on {slowest} as on {HOME}{beside}"


def _is_marked(rows: Sequence[RecoveryRow], off: Off, storage: str) -> bool:
    """Whether most of its rows have a mark in the table."""
    own = [storage_label(row, off) != storage for row in rows if row.storage == storage]
    return 2 * sum(own) > len(own)


def _longer_at_home(judged: Sequence[JudgedRecovery]) -> float | None:
    ratios = [each.ratio for each in judged if each.ratio is not None and each.keyed.trial.storage == HOME]
    return 1 / statistics.geometric_mean(ratios) if ratios else None


def _matrix(keys: Keys, machine: MachineClass, recoveries: Sequence[Keyed], runs: Sequence[Run]) -> Matrix:
    rows, calibration = recovery_rows(recoveries), on_its_machine(shipped_calibration())
    judged = judged_recoveries(recoveries, calibration)
    own = judged_by_own(recoveries, keys.runs[-1], runs, calibration)
    storages = list(dict.fromkeys(row.storage for row in rows))
    known = {storage: times for storage in storages if (times := _slower(rows, storage)) is not None}
    slower = dict(sorted(known.items(), key=lambda entry: entry[1]))
    order = [HOME, *slower]
    off = marks_of(keys.runs)
    rows.sort(key=lambda row: (row.log_size_bytes, row.server, order.index(row.storage), -row.buffer_pool_bytes))
    looks = [
        (record.check, _looked_at(run, record.session))
        for run in sorted(keys.runs, key=lambda run: run.name)
        for record in storages_of(run).records
        if record.check is not None and keys.machine(run, record.session) == machine
    ]
    return Matrix(
        machine=machine.in_words(),
        shown=of_rows(keys.runs, recoveries, rows),
        dates=_dates(recoveries),
        recoveries=len(recoveries),
        slower=slower,
        spans={storage: _span(ratios_on(rows, storage)) for storage in slower},
        too_slow=[storage for storage in slower if _is_marked(rows, off, storage)],
        penalties={storage: times for storage in storages if (times := _penalty(rows, storage)) is not None},
        pools=sorted({row.buffer_pool_bytes for row in rows}, reverse=True),
        disks=disks_table([check for check, _ in looks], [when for _, when in looks]).as_markdown(),
        judged=judged_in_words(judged, calibration),
        predicted=strata_table(judged).as_markdown(),
        longer_at_home=_longer_at_home(judged),
        own=own,
        predicted_by_own="" if own is None else strata_table(own.predicted).as_markdown(),
    )


def _others(keys: Keys, machine: MachineClass, recoveries: Sequence[Keyed]) -> Others:
    shown = of_recoveries(keys.runs, recoveries)
    return Others(
        machine=machine.in_words(),
        shown=shown,
        dates=_dates(recoveries),
        recoveries=len(recoveries),
        slower=_slower(shown.rows, CLOUD) or math.nan,
    )


def _dates(recoveries: Sequence[Keyed]) -> str:
    return " and ".join(sorted({f"{each.trial.started:%Y-%m-%d}" for each in recoveries}))


def _looked_at(run: Run, place: int) -> str:
    """On which machine and when fio looked at the storages in a session of a run."""
    session = run.record().sessions[place]
    return f"{session.machine.cpu}, {session.began:%Y-%m-%d %H:%M}"


def _smallest_log(run: Run) -> int:
    return min((image.spec.instance.log_size for image in crashes_of(run)), default=0)


def _slower(rows: Sequence[RecoveryRow], storage: str) -> float | None:
    """How many times as long as at home recovery takes on it: the median of the cells; None of the home itself."""
    cells = ratios_on(rows, storage)
    return statistics.median(each.times for each in cells) if cells else None


def _span(cells: Sequence[CellRatio]) -> tuple[float, float]:
    return min(each.times for each in cells), max(each.times for each in cells)


def _penalty(rows: Sequence[RecoveryRow], storage: str) -> float | None:
    """How many times as long recovery takes with the smallest pool as with the largest: the median of servers and logs."""
    on_it = [row for row in rows if row.storage == storage and row.ready_median_s is not None]
    ratios = []
    for cell in dict.fromkeys((row.server, row.log_size_bytes) for row in on_it):
        own = [row for row in on_it if (row.server, row.log_size_bytes) == cell]
        by_pool = sorted(own, key=lambda row: row.buffer_pool_bytes)
        if len(by_pool) > 1:
            ratios.append((by_pool[0].ready_median_s or 0.0) / (by_pool[-1].ready_median_s or 1.0))
    return statistics.median(ratios) if ratios else None
