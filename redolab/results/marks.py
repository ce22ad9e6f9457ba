"""Marks on rows that were measured on a storage that was not the disk it stands for, and fio's figures of storages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from redolab.disks.disks_table import disk_dictionaries, disks_table, marks
from redolab.disks.figures import OFF
from redolab.report.numbers import span
from redolab.report.table import ReportTable
from redolab.results.bound import Bound
from redolab.results.storages import storages_of
from redolab.runs.machines import machines_of
from redolab.runs.store import Run

MARK = "!"
Off: TypeAlias = Mapping[tuple[str, str], Mapping[str, str]]
"""(machine, storage) → column of fio's figures that was not as asked → words on it."""
_DECIDED_BY: Mapping[str, Collection[str]] = {
    Bound.SCAN: ("sequential_mb_s",),
    Bound.RANDOM_READS: ("read_us", "queued_reads_per_s"),
    # fio asks for no queued writes: a limit on requests shows in its queued reads.
    Bound.WRITES: ("write_us", "queued_reads_per_s"),
}
"""Bound of a recovery → the figures of its disk that decide its time (`redolab.disks.figures`)."""


@dataclass(frozen=True, slots=True)
class StorageUse:
    """The storage that a row was measured on."""

    machine: str
    """Name of the machine in tables."""
    storage: str
    """Name of the storage as the user asked for it."""
    late_share: float | None
    """Share of the disk model's answers that came late; None for a real disk."""
    buffered: bool
    """True if it was read through the page cache."""
    decided_by: Collection[str] | None = None
    """Columns of the disk's figures that decided its time; None if any of them may have."""


def decided_by(bound: str | None) -> Collection[str] | None:
    """Return the columns of the disk's figures that decide a time bound by this; None if any of them may."""
    return None if bound is None else _DECIDED_BY.get(bound, ())


def marks_of(runs: Sequence[Run]) -> Off:
    """Return the storages of some runs that were not as asked. Raises `LabError`."""
    machines = machines_of(runs)
    return {
        (machines[run.name][record.session], storage): which
        for run in runs
        for record in storages_of(run).records
        if record.check is not None
        for storage, which in marks([record.check]).items()
    }


def storage_label(row: StorageUse, off: Off) -> str:
    """Return a row's storage, marked if it was not the disk it stands for in a figure that decided the row's time."""
    return row.storage + MARK * (bool(_misleading(row, off)) or is_late(row) or row.buffered)


def is_late(row: StorageUse) -> bool:
    """Return True if late answers of the disk model slowed the row, because the disk decided its time."""
    return (row.late_share or 0.0) > OFF and (row.decided_by is None or bool(row.decided_by))


def storage_remarks(rows: Sequence[StorageUse], off: Off) -> list[str]:
    """Return sentences on the storages that a reader needs before using the rows."""
    several = len({row.machine for row in rows}) > 1
    wrong: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for row in rows:
        if misleading := _misleading(row, off):
            wrong[row.machine, row.storage] |= misleading
    named = [
        f"{storage}{MARK}{f' on {machine}' if several else ''}: {', '.join(which.values())}"
        for (machine, storage), which in wrong.items()
    ]
    remarks = (
        [f"Not the disk that was asked for ('redolab show RUN --all' has the figures): {'; '.join(named)}."]
        if named
        else []
    )
    if late := [row for row in rows if is_late(row)]:
        percent = {
            name: [100 * (row.late_share or 0.0) for row in late if row.storage == name] for name in _names(late)
        }
        by = ", ".join(f"{name}{MARK} by {span(values, 0)} %" for name, values in percent.items())
        remarks.append(
            f"Answered later than the disk it stands for: {by}. This machine is slower; such a disk recovers sooner."
        )
    if buffered := f"{MARK}, ".join(_names([row for row in rows if row.buffered])):
        remarks.append(
            f"{buffered}{MARK} is read through the page cache, as its file system has no direct I/O: it is faster than the disk "
            "it stands for. Put REDOLAB_LAB on ext4, XFS or btrfs."
        )
    return remarks


def _misleading(row: StorageUse, off: Off) -> Mapping[str, str]:
    """Return the figures of its disk that were not as asked and decided its time."""
    found = off.get((row.machine, row.storage), {})
    return {column: words for column, words in found.items() if row.decided_by is None or column in row.decided_by}


def disks_of(run: Run) -> tuple[Sequence[ReportTable], Mapping[str, Sequence[Mapping[str, object]]]]:
    """Return fio's figures of a run's storages, as tables and as name → rows for CSV; nothing if fio measured none.

    Raises `LabError`.
    """
    names = machines_of([run])[run.name]
    measured = [(names[each.session], each.check) for each in storages_of(run).records if each.check is not None]
    if not measured:
        return [], {}
    checks, machines = [check for _, check in measured], [machine for machine, _ in measured]
    return [disks_table(checks, machines)], {"disks": disk_dictionaries(checks, machines)}


def _names(rows: Sequence[StorageUse]) -> list[str]:
    return list(dict.fromkeys(row.storage for row in rows))
