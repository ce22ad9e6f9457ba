"""The page of storages: the same crashes recovered on each."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redolab.machine.machine_class import MachineClass
from redolab.records.crash import filled_to
from redolab.report.contents import Page, Plot
from redolab.report.template import filled
from redolab.results.alike import Keyed, Keys, keyed_recoveries, keys_of
from redolab.results.crashes import crashes_of
from redolab.results.marks import storage_label
from redolab.results.storages import storages_of
from redolab.runs.store import Run
from redolab.storage.catalogue import storage_profile
from redolab.storage.profiles import CLOUD, HOME
from redolab.storage.table import disks_table

from ..rows import RecoveryRow
from .slower import plot_slower, ratios_on
from .tables import OnPage, of_recoveries

_TEMPLATE = Path(__file__).with_suffix(".md")


_WORKLOAD = "bulk-update"
"""Whose crashes are compared: those of another make other redo, and take other times."""


@dataclass(frozen=True, slots=True)
class OnMachine:
    """What the page shows of the machines of one class."""

    name: str
    shown: OnPage
    dates: str
    recoveries: int
    slower: Mapping[str, float]
    """Storage → as many times as long as at home, the least first."""
    penalties: Mapping[str, float]
    """Storage → how many times as long with the smallest pool as with the largest."""
    disks: str

    @property
    def slowest(self) -> str:
        """The storage on which a small pool costs the most."""
        return max(self.penalties, key=lambda storage: self.penalties[storage])


def page(runs: Sequence[Run]) -> Page:
    """The page of all runs together, each class of machines by itself, and the picture of the one that measured the most."""
    alike = sorted(
        [run for run in runs if {image.spec.workload for image in crashes_of(run)} == {_WORKLOAD}], key=_smallest_log
    )
    keys = keys_of(alike)
    by_class: dict[MachineClass, list[Keyed]] = defaultdict(list)
    for each in keyed_recoveries(alike):
        by_class[each.key.machine].append(each)
    machines = [
        _on_machine(keys, machine, own) for machine, own in sorted(by_class.items(), key=lambda pair: -len(pair[1]))
    ]
    first = machines[0]
    own = {storage: ratios_on(first.shown.rows, storage) for storage in first.slower}
    marked = [storage for storage in own if _is_marked(first.shown, storage)]
    slower = Plot("slower", partial(plot_slower, storages=own, marked=marked, title=_title(first)))
    values = {
        "machines": machines,
        "first": first,
        "home": HOME,
        "cloud": storage_profile(CLOUD).about,
        "filled_to": filled_to([image for run in alike for image in crashes_of(run)]),
    }
    return Page(filled(_TEMPLATE, values), [slower])


def _title(first: OnMachine) -> str:
    """As in `Recovery takes 19.3 times as long on hdd as on native, 4.8 times on cloud-ssd`."""
    storages = sorted(first.slower.items(), key=lambda entry: -entry[1])
    (slowest, times), *others = storages
    beside = f", {others[0][1]:.1f} times on {others[0][0]}" if others else ""
    return f"Recovery takes {times:.1f} times as long on {slowest} as on {HOME}{beside}"


def _is_marked(shown: OnPage, storage: str) -> bool:
    """Whether most of its rows have a mark in the table."""
    own = [storage_label(row, shown.off) != storage for row in shown.rows if row.storage == storage]
    return 2 * sum(own) > len(own)


def _on_machine(keys: Keys, machine: MachineClass, recoveries: Sequence[Keyed]) -> OnMachine:
    shown = of_recoveries(keys.runs, recoveries)
    storages = list(dict.fromkeys(row.storage for row in shown.rows))
    known = {storage: times for storage in storages if (times := _slower(shown.rows, storage)) is not None}
    penalties = {storage: times for storage in storages if (times := _penalty(shown.rows, storage)) is not None}
    looks = [
        (record.check, _looked_at(run, record.session))
        for run in sorted(keys.runs, key=lambda run: run.name)
        for record in storages_of(run).records
        if record.check is not None and keys.machine(run, record.session) == machine
    ]
    return OnMachine(
        name=machine.in_words(),
        shown=shown,
        dates=" and ".join(sorted({f"{each.trial.started:%Y-%m-%d}" for each in recoveries})),
        recoveries=len(recoveries),
        slower=dict(sorted(known.items(), key=lambda entry: entry[1])),
        penalties=penalties,
        disks=disks_table([check for check, _ in looks], [when for _, when in looks]).as_markdown(),
    )


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
