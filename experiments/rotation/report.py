"""What rotations did to clients and to the log: the answer, the table of cells, and which server flushed its tables."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from redolab.report.contents import Plot, Report
from redolab.report.table import SCREEN, Column, ReportTable
from redolab.results.marks import Off, disks_of, marks_of, storage_label, storage_remarks
from redolab.runs.machines import machines_of
from redolab.runs.store import Run
from redolab.units import format_size

from .methods import AGAIN, Method
from .plots import plot_stalls
from .results import CellResult, results
from .rows import row_of
from .trial import RotationTrial

_NAMED = 4
"""More servers that do the same are not named in a sentence."""
_WHOLE = 100
"""From here on milliseconds have no tenths."""
_EXT3 = (
    "ext3 is mounted by the kernel's ext4 code since Linux 4.3; its files have ext3's lists of blocks, not extents. The kernel that "
    "made ext3 slow at truncating is not this one."
)


def report(run: Run) -> Report:
    """The answer, the tables and the plot of a run."""
    found = measured_in([run])
    disks, disk_rows = disks_of(run)
    return Report(
        answer=answer(found),
        tables=[stalls_table(found, marks_of([run])), flushed_table(found)] if found else [],
        details=[parts_table(found), *disks] if found else [],
        plots=[Plot("stalls", partial(plot_stalls, cells=found))] if found else [],
        rows={"table": [dict(row_of(each)) for cell in found for each in cell.trials], **disk_rows},
    )


def measured_in(runs: Sequence[Run]) -> list[CellResult]:
    """The cells of some runs. Raises `LabError`."""
    names = machines_of(runs)
    return results(
        [(record.trial, names[run.name][record.session]) for run in runs for record in run.trials(RotationTrial)]
    )


def answer(found: Sequence[CellResult]) -> str:
    """What each method costs, what is lost, and which server flushes its tables."""
    if not found:
        return "Nothing was measured."
    return " ".join(part for part in (stalls_in_words(found), lost_in_words(found), flushed_in_words(found)) if part)


def stalls_in_words(found: Sequence[CellResult]) -> str:
    """The longest time of a statement by each method, where logging is not held if that was tried, a sentence."""
    plain = [each for each in found if not each.cell.held] or list(found)
    methods = [method for method in Method if any(each.cell.method is method for each in plain)]
    stalls = ", ".join(_stall([each for each in plain if each.cell.method is method]) for method in methods)
    usual = _span([statistics.median(each.without) for each in plain])
    return f"The longest that a statement takes while a log is rotated: {stalls}; without a rotation {usual} ms."


def _stall(found: Sequence[CellResult]) -> str:
    """As in `4.5 to 25.3 ms by rename-flush`; file systems apart where they have nothing in common."""
    method = found[0].cell.method
    medians: dict[str, list[float]] = defaultdict(list)
    for each in found:
        medians[each.cell.file_system].append(statistics.median(each.during))
    highest_first = sorted(medians.items(), key=lambda pair: -max(pair[1]))
    if len(medians) > 1 and all(min(one) > max(other) for (_, one), (_, other) in pairwise(highest_first)):
        return f"by {method} {', '.join(f'{_span(of_system)} ms on {name}' for name, of_system in highest_first)}"
    return f"{_span([median for own in medians.values() for median in own])} ms by {method}"


def lost_in_words(found: Sequence[CellResult]) -> str:
    """Which methods lost statements that were to be logged, a sentence."""
    copied = [each for each in found if not each.cell.method.keeps_all]
    kept = [each for each in found if each.cell.method.keeps_all]
    said = []
    for held, when in ((False, ""), (True, " with logging held")):
        lost = [trial.check.lost for each in copied if each.cell.held is held for trial in each.trials]
        if lost:
            what = f"{_each_in_words(lost)} statements of the log" if any(lost) else "none"
            said.append(f"copytruncate lost {what}{when}")
    if kept:
        lost_by = sum(each.of_all(lambda trial: trial.check.lost + trial.check.torn) for each in kept)
        rotations = sum(len(each.trials) for each in kept)
        verb = "lost none" if not lost_by else f"lost or tore {lost_by:,}"
        said.append(f"the {'others' if copied else 'methods'} {verb} in {rotations:,} rotation{'s' * (rotations != 1)}")
    words = "; ".join(said)
    return f"{words[:1].upper()}{words[1:]}."


def _each_in_words(counts: Sequence[int]) -> str:
    """As in `25,293 and 25,716`; of more than two the median, as in `25,504 (median of 6, at most 25,716)`."""
    if len(counts) > 2:
        return f"{statistics.median(counts):,.0f} (median of {len(counts)}, at most {max(counts):,})"
    return " and ".join(f"{count:,}" for count in counts)


def flushed_in_words(found: Sequence[CellResult]) -> str:
    """Which servers flushed tables at SIGHUP, a sentence; nothing where none was sent."""
    hung = [each for each in found if each.cell.method is Method.RENAME_HUP]
    if not hung:
        return ""
    flush = list(dict.fromkeys(each.label for each in hung if each.flushed))
    keep = [each for each in dict.fromkeys(each.label for each in hung) if each not in flush]
    which = f"all {len(flush)} servers" if len(flush) > _NAMED and not keep else ", ".join(flush)
    said = [f"flushes the tables of {which}"] if flush else []
    said += [f"leaves those of {', '.join(keep)} open"] if keep else []
    return f"SIGHUP {' and '.join(said)} (bug 65481)."


def again_in_words(found: Sequence[CellResult]) -> list[str]:
    """Of which servers the log had to be opened once more, a sentence; none where all opened it."""
    labels = dict.fromkeys(
        each.label
        for each in found
        if any(phase.name.endswith(AGAIN) for trial in each.trials for phase in trial.phases)
    )
    if not labels:
        return []
    return [
        f"{', '.join(labels)}: no new log was opened while log_output was NONE, and the old one was written on, until it was asked for "
        "once more after that."
    ]


def milliseconds(values: Sequence[float]) -> str:
    """As in `12.3 (4.5–67.8)`: median, least and most; of one its value."""
    if len(values) == 1:
        return _ms(values[0])
    return f"{_ms(statistics.median(values))} ({_ms(min(values))}–{_ms(max(values))})"


def copied_table(found: Sequence[CellResult]) -> ReportTable | None:
    """What each part of copytruncate took, and what was lost meanwhile; None where it was not tried."""
    copied = [each for each in found if each.cell.method is Method.COPYTRUNCATE]
    if not copied:
        return None

    def part(name: str) -> Callable[[CellResult], str]:
        return lambda row: milliseconds(
            [1000 * each.seconds for trial in row.trials for each in trial.phases if each.name == name]
        )

    columns = [
        Column[CellResult]("server", lambda row: row.label, shared=str),
        Column[CellResult]("fs", lambda row: row.cell.file_system, shared=str),
        Column[CellResult]("held", lambda row: "on" if row.cell.held else "off", shared="logging held: {}".format),
        *(Column[CellResult](f"{name}, ms", part(name), right=True) for name in ("copy", "sync", "truncate")),
        Column[CellResult](
            "lost, s", lambda row: f"{statistics.median(each.check.lost_s for each in row.trials):.1f}", right=True
        ),
    ]
    return ReportTable.brief("What copytruncate waits for, and loses", copied, columns, [], SCREEN)


def stalls_table(found: Sequence[CellResult], off: Off, widest: int = SCREEN) -> ReportTable:
    """A row a cell."""
    several = len({each.machine for each in found}) > 1
    columns = [
        *([Column[CellResult]("machine", lambda row: row.machine)] if several else []),
        Column[CellResult]("server", lambda row: row.label, shared=str),
        Column[CellResult]("storage", lambda row: storage_label(row, off), shared=str),
        Column[CellResult]("log", lambda row: format_size(row.cell.log_file), shared="a log of {}".format),
        Column[CellResult]("fs", lambda row: row.cell.file_system, shared=str),
        Column[CellResult]("method", lambda row: str(row.cell.method), shared=str),
        Column[CellResult]("held", lambda row: "on" if row.cell.held else "off", shared="logging held: {}".format),
        Column[CellResult]("longest, ms", lambda row: milliseconds(row.during), right=True),
        Column[CellResult]("without", lambda row: milliseconds(row.without), right=True),
        Column[CellResult]("more (95 %)", _more, right=True),
        Column[CellResult]("slow s", _slow, right=True, spare=True),
        Column[CellResult]("lost", lambda row: _count(row, lambda trial: trial.check.lost), right=True),
        Column[CellResult]("torn", lambda row: _count(row, lambda trial: trial.check.torn), right=True),
        Column[CellResult]("unlogged", lambda row: _count(row, lambda trial: trial.check.unlogged), right=True),
        Column[CellResult]("tables flushed", _flushed, right=True, spare=True),
        Column[CellResult]("n", lambda row: str(len(row.trials)), right=True, shared=_rotations),
    ]
    notes = [
        "longest: the longest time of a statement in a stretch, in ms from when it was due, median (least–most); without: in the stretch "
        "of equal length before; more: median of the pairs. slow s: seconds in which less than half of the usual was answered, of all "
        "rotations (and of the stretches without).",
        "lost, torn, unlogged: statements a rotation, median: gone with no reason for it; there in part; left out while logging was "
        "held. Of rm-flush what was sent before the new log was open went with the file, and does not count.",
        *again_in_words(found),
        *([_EXT3] if any(each.cell.file_system == "ext3" for each in found) else []),
        *storage_remarks(found, off),
    ]
    return ReportTable.brief("Rotations", found, columns, notes, widest)


@dataclass(frozen=True, slots=True)
class _Flushing:
    """What one method did to the tables of one server."""

    label: str
    method: Method
    trials: Sequence[RotationTrial]


def flushed_table(found: Sequence[CellResult]) -> ReportTable:
    """A row for each server and method: whether tables were flushed."""
    together: dict[tuple[str, Method], list[RotationTrial]] = {}
    for each in found:
        together.setdefault((each.label, each.cell.method), []).extend(each.trials)
    rows = [_Flushing(label, method, trials) for (label, method), trials in together.items()]
    columns = [
        Column[_Flushing]("server", lambda row: row.label, shared=str),
        Column[_Flushing]("method", lambda row: str(row.method), shared=str),
        Column[_Flushing]("tables flushed", _flushed_of, right=True),
        Column[_Flushing]("open before", lambda row: _median(row, "before", "open_tables"), right=True),
        Column[_Flushing]("after", lambda row: _median(row, "after", "open_tables"), right=True),
        Column[_Flushing]("Flush_commands", lambda row: _growth(row, "flush_commands"), right=True),
        Column[_Flushing]("Com_flush", lambda row: _growth(row, "com_flush"), right=True),
        Column[_Flushing]("Opened_tables", lambda row: _growth(row, "opened_tables"), right=True),
    ]
    notes = [
        "Flushed: more than half of the idle tables that were open are closed after the rotation. Counters: by how much each grew, "
        "median; – where the server has none."
    ]
    return ReportTable.brief("Which server flushes its tables", rows, columns, notes)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a cell's rotations."""

    result: CellResult
    name: str
    seconds: Sequence[float]
    longest: Sequence[float]


def parts_table(found: Sequence[CellResult]) -> ReportTable:
    """A row for each part of each cell's rotations."""
    rows = []
    for result in found:
        for name in dict.fromkeys(phase.name for trial in result.trials for phase in trial.phases):
            phases = [phase for trial in result.trials for phase in trial.phases if phase.name == name]
            rows.append(_Part(result, name, [each.seconds for each in phases], [each.longest_ms for each in phases]))
    columns = [
        Column[_Part]("server", lambda row: row.result.label),
        Column[_Part]("storage", lambda row: row.result.cell.storage),
        Column[_Part]("log", lambda row: format_size(row.result.cell.log_file)),
        Column[_Part]("fs", lambda row: row.result.cell.file_system),
        Column[_Part]("method", lambda row: str(row.result.cell.method)),
        Column[_Part]("held", lambda row: "on" if row.result.cell.held else "off"),
        Column[_Part]("part", lambda row: row.name),
        Column[_Part]("took, ms", lambda row: milliseconds([1000 * each for each in row.seconds]), right=True),
        Column[_Part]("longest answer, ms", lambda row: milliseconds(row.longest), right=True),
    ]
    notes = [
        "longest answer: of a statement that was on its way in that part, from when it was sent; the time that it waited to be sent "
        "is not in it. Median (least–most)."
    ]
    return ReportTable.of("Parts of rotations", rows, columns, notes)


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= _WHOLE else f"{value:.1f}"


def _more(row: CellResult) -> str:
    low, high = row.more_interval
    between = "" if math.isnan(low) else f" ({_signed(low)} to {_signed(high)})"
    return f"{_signed(row.more)}{between}"


def _signed(value: float) -> str:
    return f"{value:+,.0f}" if abs(value) >= _WHOLE else f"{value:+.1f}"


def _slow(row: CellResult) -> str:
    return f"{row.of_all(lambda trial: trial.during.slow_seconds)} ({row.of_all(lambda trial: trial.without.slow_seconds)})"


def _rotations(count: str) -> str:
    return "one rotation each" if count == "1" else f"{count} rotations each"


def _count(row: CellResult, count: Callable[[RotationTrial], int]) -> str:
    return f"{row.median_of(count):,.0f}"


def _flushed(row: CellResult) -> str:
    return "yes" if row.flushed == len(row.trials) else f"{row.flushed} of {len(row.trials)}" if row.flushed else "no"


def _flushed_of(row: _Flushing) -> str:
    flushed = sum(bool(each.flushed_tables) for each in row.trials)
    return f"{flushed} of {len(row.trials)} rotations"


def _median(row: _Flushing, when: str, name: str) -> str:
    values = [getattr(getattr(each, when), name) for each in row.trials]
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):,.0f}" if known else "–"


def _growth(row: _Flushing, name: str) -> str:
    grown = [
        getattr(each.after, name) - getattr(each.before, name)
        for each in row.trials
        if getattr(each.before, name) is not None and getattr(each.after, name) is not None
    ]
    return f"+{statistics.median(grown):,.0f}" if grown else "–"


def _span(values: Sequence[float]) -> str:
    low, high = _ms(min(values)), _ms(max(values))
    return low if low == high else f"{low} to {high}"
