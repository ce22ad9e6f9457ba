"""Report on rotations: answer, tables and picture of a run."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

from redolab.report.contents import Report
from redolab.report.numbers import number, span
from redolab.report.quantities import quantities_of
from redolab.report.table import Column, ReportTable
from redolab.results.marks import Off, StorageUse, disks_of, marks_of, storage_label, storage_remarks
from redolab.runs.default_report import Configuration, configurations, configurations_table
from redolab.runs.paired_plot import paired_plots
from redolab.runs.store import Run

from .experiment import Phase, Rotation, RotationTrial
from .rotating import AGAIN

_EXT3 = (
    "ext3 is mounted by the kernel's ext4 code since Linux 4.3; its files have ext3's lists of blocks, not extents. The kernel that "
    "made ext3 slow at truncating is not this one."
)


def report(run: Run) -> Report:
    """Return the answer, the tables and the plot of a run. Raises `LabError`."""
    found = configurations(Rotation, run)
    disks, disk_rows = disks_of(run)
    said, pair = answer(found), ("longest_without_ms", "longest_ms")
    return Report(
        answer=said,
        tables=[stalls_table(found, marks_of([run]))] if found else [],
        details=[parts_table(found), *disks] if found else [],
        plots=paired_plots("stalls", found, pair, "server", ("method", "held", "file system"), said.partition(". ")[0]),
        rows=disk_rows,
    )


def answer(found: Sequence[Configuration]) -> str:
    """Return the longest times of a statement with and without a rotation, and the losses, as a sentence."""
    if not found:
        return "Nothing was measured."
    longest, usual = (
        number(max(value for each in found for value in each.values(name)), 0)
        for name in ("longest_ms", "longest_without_ms")
    )
    return f"While logs were rotated a statement took up to {longest} ms, without a rotation {usual} ms. {lost_in_words(found)}"


def lost_in_words(found: Sequence[Configuration]) -> str:
    """Return how many statements a rotation lost, by copytruncate and by methods that promise to keep all."""
    steps = [(row.results[0].step, row.trials) for row in found]
    copied = [each.lost for step, trials in steps if not (step.method.keeps_all or step.held) for each in trials]
    kept = [each.lost + each.torn for step, trials in steps if step.method.keeps_all for each in trials]
    said = [f"copytruncate lost {span(copied, 0)} statements of the log"] if copied else []
    if kept:
        said.append(f"{'the others' if said else 'the methods'} lost {sum(kept) or 'none'}")
    words = "; ".join(said)
    return f"{words[:1].upper()}{words[1:]}."


def stalls_table(found: Sequence[Configuration], off: Off) -> ReportTable:
    """Return a row for each configuration."""
    uses = [_use(each) for each in found]
    marked = [
        replace(each, factors={**each.factors, "storage": storage_label(use, off)})
        for each, use in zip(found, uses, strict=True)
    ]
    flushed = Column[Configuration]("tables flushed", _flushed, right=True, spare=True)
    notes = [
        "longest: the longest time of a statement in a window, from when it was due; without: in the window of equal length before; "
        "more: of the pairs.",
        "lost, unlogged: statements a rotation: gone with no reason for it; left out while logging was held. Of rm-flush what was sent "
        "before the new log was open went with the file, and does not count.",
        *_again_in_words(found),
        *([_EXT3] if any(each.factors["file system"] == "ext3" for each in found) else []),
        *storage_remarks(uses, off),
    ]
    return configurations_table("Rotations", marked, quantities_of(RotationTrial), notes, [flushed])


def _use(row: Configuration) -> StorageUse:
    """Return a configuration's storage, as tables mark it."""
    late = [each.late_share for each in row.trials if each.late_share is not None]
    return StorageUse(
        machine=row.results[0].machine,
        storage=row.results[0].group.storage,
        late_share=statistics.median(late) if late else None,
        buffered=any(each.buffered for each in row.trials),
    )


def _flushed(row: Configuration) -> str:
    """Return how many rotations closed more than half of the tables that no client read, such as `3 of 6`."""
    return f"{sum(bool(each.flushed_tables) for each in row.trials)} of {len(row.results)}"


def _again_in_words(found: Sequence[Configuration]) -> list[str]:
    """Return a note on the servers that opened a new log only when asked again; nothing if there are none."""
    labels = dict.fromkeys(
        row.factors["server"]
        for row in found
        if any(part.name.endswith(AGAIN) for each in row.trials for part in each.parts)
    )
    if not labels:
        return []
    return [
        f"{', '.join(labels)}: no new log was opened while log_output was NONE, and the old one was written on, until it was asked for "
        "once more after that."
    ]


def parts_table(found: Sequence[Configuration]) -> ReportTable:
    """Return a row for each part of each configuration's rotations."""
    parts = [part for row in found for part in row.split("part", lambda trial: trial.parts, lambda part: part.name)]
    notes = [
        "longest answer: of a statement that was on its way in that part, from when it was sent; the time that it waited to be sent "
        "is not in it."
    ]
    return configurations_table("Parts of rotations", parts, quantities_of(Phase), notes)
