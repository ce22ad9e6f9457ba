"""The recovery table: one row a cell, from the trials of a run."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

from redolab.crashes.images import CrashImage, undo_pages
from redolab.crashes.outcome import Outcome
from redolab.crashes.recovery import RecoveryTrial
from redolab.machine.device import DeviceUse
from redolab.models.bound import Bound, bound_by
from redolab.report.table import Column, ReportTable, number
from redolab.runs.schema import TrialRecord
from redolab.storage.figures import OFF
from redolab.timeline import Phase
from redolab.units import KIB, format_size

CellKey: TypeAlias = tuple[str, int, str, int, str]
"""Server, log size in bytes, storage, buffer pool in bytes, settings that were asked for."""
_PHASES = tuple(Phase)


@dataclass(frozen=True, slots=True)
class RecoveryRow:
    """One cell: `n` recoveries of one crash image with one pool on one storage. Sizes in bytes, times in seconds.

    The phases are those of the recovery whose time to ready is nearest to the median.
    """

    server: str
    version: str
    storage: str
    log_size_bytes: int
    buffer_pool_bytes: int
    settings: str
    """What was set beyond the lab's own settings, as in `innodb_read_io_threads=16`."""
    dataset_bytes: int
    redo_from_recovery_bytes: int | None
    redo_from_last_sample_bytes: int | None
    dirty_pages: int | None
    undo_pages: int | None
    """By how many pages the files that hold undo grew during the fill: of the dirty pages at most so many are undo."""
    pages_read: int | None
    """What the server had read from its files when it was ready: pages to recover, and what its start reads. None after more
    than one batch, between which it counts anew."""
    pages_recovered: int | None
    n: int
    """Recoveries that ended in a server that was ready: all times are theirs."""
    wrong: int
    """Of these, those after which the tables were not as they must be."""
    stuck: int
    """Recoveries that got no further and were ended by the lab."""
    gave_up: int
    """Recoveries that the server gave up."""
    ended_at: str
    """Where those that were stuck or given up ended, as in `50 % of apply`."""
    progress_ended_s: float | None
    """When they got on last (median)."""
    ready_median_s: float | None
    ready_min_s: float | None
    ready_max_s: float | None
    start_s: float | None
    """From the start of the process to the server's first line."""
    discover_s: float | None
    scan_s: float | None
    apply_s: float | None
    open_s: float | None
    accept_s: float | None
    rollback_s: float | None
    first_write_median_s: float | None
    batches: int | None
    ranges: Mapping[str, tuple[float, float]]
    """Phase → its shortest and longest seconds, of the phases that every recovery of the cell has."""
    device: DeviceUse | None
    """What the device under the storage did to ready, in that same recovery."""
    cpu_s: float | None
    busiest_thread_s: float | None
    cores: int | None
    typical_ready_s: float | None
    """To ready, of the recovery whose phases and usage these are."""
    late_share: float | None
    """By how much the disk model answered late at most, as a share of its latencies."""
    took_median_s: float | None
    page_cache_dropped: bool
    buffered: bool
    """Whether the disk model's file was read through the page cache."""
    why_blank: str
    """Why a phase has no number, where one has none."""
    notes: str
    """What the log tells beyond the phases."""


def recovery_rows(
    records: Sequence[TrialRecord[RecoveryTrial]], crashes: Sequence[CrashImage], order: Sequence[CellKey] = ()
) -> list[RecoveryRow]:
    """A row for each (image, storage, pool, settings), in the order given, the others as they were first measured."""
    images = {image.name: image for image in crashes}
    cells: dict[tuple[str, str, int, str], list[TrialRecord[RecoveryTrial]]] = defaultdict(list)
    for record in records:
        trial = record.trial
        cells[trial.image, trial.storage, trial.buffer_pool, trial.settings].append(record)
    ranks = {key: place for place, key in enumerate(order)}
    rows = [_row(cell, images[image]) for (image, *_), cell in cells.items()]
    return sorted(
        rows,
        key=lambda row: ranks.get(
            (row.server, row.log_size_bytes, row.storage, row.buffer_pool_bytes, row.settings), len(ranks)
        ),
    )


def _row(records: Sequence[TrialRecord[RecoveryTrial]], image: CrashImage) -> RecoveryRow:
    cell = [record.trial for record in records]
    ready = [trial.seconds_to_ready for trial in cell if trial.seconds_to_ready is not None]
    median = statistics.median(ready) if ready else None
    # Phases of one real recovery add up to its time to ready; medians taken phase by phase would not.
    typical = min(cell, key=lambda trial: _distance(trial, median))
    timeline, last = typical.timeline, image.last_sample
    sampled = None if last.lsn is None or last.checkpoint_lsn is None else last.lsn - last.checkpoint_lsn
    times = () if timeline is None else timeline.phases
    phases = {time.phase: time.seconds for time in times}
    logged = None if timeline is None else timeline.seconds_to_ready
    unfinished = [trial.unfinished for trial in cell if trial.unfinished is not None]
    return RecoveryRow(
        server=typical.server,
        version=typical.version,
        storage=typical.storage,
        log_size_bytes=typical.log_size,
        buffer_pool_bytes=typical.buffer_pool,
        settings=typical.settings,
        dataset_bytes=image.spec.dataset.size,
        # Of one that got no further the log tells only how far it had been read.
        redo_from_recovery_bytes=None if timeline is None or typical.unfinished else timeline.redo_bytes,
        redo_from_last_sample_bytes=sampled,
        dirty_pages=last.dirty_pages,
        undo_pages=undo_pages(image),
        pages_read=typical.pages_read,
        pages_recovered=None if timeline is None else timeline.pages,
        n=len(ready),
        wrong=sum(bool(trial.failed_checks) for trial in cell),
        stuck=sum(trial.outcome is Outcome.STUCK for trial in cell),
        gave_up=sum(trial.outcome is Outcome.GAVE_UP for trial in cell),
        ended_at=", ".join(dict.fromkeys(each.where for each in unfinished)),
        progress_ended_s=_median([each.progress_ended for each in unfinished]),
        ready_median_s=median,
        ready_min_s=min(ready, default=None),
        ready_max_s=max(ready, default=None),
        start_s=None if logged is None else max(0.0, (typical.seconds_to_ready or logged) - logged),
        discover_s=phases.get(Phase.DISCOVER),
        scan_s=phases.get(Phase.SCAN),
        apply_s=phases.get(Phase.APPLY),
        open_s=phases.get(Phase.OPEN),
        accept_s=phases.get(Phase.ACCEPT),
        rollback_s=phases.get(Phase.ROLLBACK),
        first_write_median_s=_median([trial.first_write for trial in cell]),
        batches=None if timeline is None else timeline.batches,
        ranges=_ranges(cell),
        device=typical.device,
        cpu_s=None if typical.cpu is None else typical.cpu.seconds,
        busiest_thread_s=None if typical.cpu is None else typical.cpu.busiest_thread,
        cores=None if typical.cpu is None else typical.cpu.cores,
        typical_ready_s=typical.seconds_to_ready,
        late_share=max((trial.late_share for trial in cell if trial.late_share is not None), default=None),
        took_median_s=_median([record.took for record in records]),
        page_cache_dropped=all(trial.cache_dropped for trial in cell),
        buffered=any(trial.buffered for trial in cell),
        why_blank="; ".join(dict.fromkeys(f"{time.phase}: {time.why}" for time in times if time.seconds is None)),
        notes="" if timeline is None else "; ".join(timeline.notes),
    )


def _distance(trial: RecoveryTrial, median: float | None) -> float:
    """How far from the median of those that were ready; one that was not is farther than all."""
    if trial.seconds_to_ready is None or median is None:
        return math.inf
    return abs(trial.seconds_to_ready - median)


def _ranges(cell: Sequence[RecoveryTrial]) -> dict[str, tuple[float, float]]:
    ranges = {}
    for phase in _PHASES:
        timelines = [trial.timeline for trial in cell if trial.timeline is not None]
        seconds = [time.seconds for timeline in timelines for time in timeline.phases if time.phase is phase]
        known = [each for each in seconds if each is not None]
        if known and len(known) == len(cell):
            ranges[str(phase)] = (min(known), max(known))
    return ranges


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def bound_of(row: RecoveryRow) -> Bound | None:
    """What the recovery of a row was bound by; None where the device or the processors were not measured."""
    if row.device is None or row.cpu_s is None or row.busiest_thread_s is None or row.cores is None:
        return None
    if row.typical_ready_s is None:
        return None
    device = row.device
    return bound_by(
        seconds=row.typical_ready_s,
        cpu=row.cpu_s,
        busiest_thread=row.busiest_thread_s,
        cores=row.cores,
        busy=device.busy,
        reads=device.reads,
        read_bytes=device.read_bytes,
        writes=device.writes,
    )


def _is_late(row: RecoveryRow) -> bool:
    return (row.late_share or 0.0) > OFF


def _redo(row: RecoveryRow) -> str:
    sampled = "–" if row.redo_from_last_sample_bytes is None else format_size(row.redo_from_last_sample_bytes)
    recovered = "–" if row.redo_from_recovery_bytes is None else format_size(row.redo_from_recovery_bytes)
    return f"{recovered} ({sampled})"


def _ready(row: RecoveryRow) -> str:
    parts = []
    if row.ready_median_s is not None:
        parts.append(f"{row.ready_median_s:.2f} ({row.ready_min_s:.2f}–{row.ready_max_s:.2f}) of {row.n}")
    if row.wrong:
        parts.append(f"{row.wrong} WRONG")
    for count, how in ((row.stuck, "STUCK"), (row.gave_up, "GAVE UP")):
        if count:
            times = f" ({count} of {row.n + row.stuck + row.gave_up})"
            parts.append(f"{how} at {row.ended_at}{times}")
    return ", ".join(parts)


def _count(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"


def _dirty(row: RecoveryRow) -> str:
    undo = "" if row.undo_pages is None else f" ({_count(min(row.undo_pages, row.dirty_pages or 0))})"
    return _count(row.dirty_pages) + undo


_SETTINGS = Column[RecoveryRow]("settings", lambda row: row.settings or "–")
_COLUMNS = [
    Column[RecoveryRow]("server", lambda row: f"{row.server} ({row.version.split('-')[0]})"),
    Column[RecoveryRow]("storage", lambda row: row.storage),
    Column[RecoveryRow]("log", lambda row: format_size(row.log_size_bytes), right=True),
    Column[RecoveryRow]("pool", lambda row: format_size(row.buffer_pool_bytes), right=True),
    _SETTINGS,
    Column[RecoveryRow]("redo at crash", _redo, right=True),
    Column[RecoveryRow]("dirty pages (undo up to)", _dirty, right=True),
    Column[RecoveryRow]("pages read", lambda row: _count(row.pages_read), right=True),
    Column[RecoveryRow]("ready, s: median (min–max) of n", _ready, right=True),
    Column[RecoveryRow]("batches", lambda row: _count(row.batches), right=True),
    Column[RecoveryRow]("start", lambda row: number(row.start_s), right=True),
    Column[RecoveryRow]("discover", lambda row: number(row.discover_s), right=True),
    Column[RecoveryRow]("scan", lambda row: number(row.scan_s), right=True),
    Column[RecoveryRow]("apply", lambda row: number(row.apply_s), right=True),
    Column[RecoveryRow]("open", lambda row: number(row.open_s), right=True),
    Column[RecoveryRow]("accept", lambda row: number(row.accept_s), right=True),
    Column[RecoveryRow]("rollback after ready", lambda row: number(row.rollback_s), right=True),
]


def _asked(rows: Sequence[RecoveryRow], columns: Sequence[Column[RecoveryRow]]) -> list[Column[RecoveryRow]]:
    """The columns, without that of settings where none were asked for."""
    return [column for column in columns if column is not _SETTINGS or any(row.settings for row in rows)]


def _range(phase: Phase) -> Column[RecoveryRow]:
    def cell(row: RecoveryRow) -> str:
        if str(phase) not in row.ranges:
            return "–"
        least, most = row.ranges[str(phase)]
        return f"{least:.2f}–{most:.2f}"

    return Column(f"{phase}, s", cell, right=True)


def _requests(count: int, size: int) -> str:
    mean = f", {size / count / KIB:.0f} KiB each" if count else ""
    return f"{count:,} of {size / 1e6:,.0f} MB{mean}"


_LIMIT_COLUMNS = [
    Column[RecoveryRow]("server", lambda row: row.server),
    Column[RecoveryRow]("storage", lambda row: row.storage),
    Column[RecoveryRow]("log", lambda row: format_size(row.log_size_bytes), right=True),
    Column[RecoveryRow]("pool", lambda row: format_size(row.buffer_pool_bytes), right=True),
    _SETTINGS,
    Column[RecoveryRow]("ready, s", lambda row: number(row.typical_ready_s), right=True),
    Column[RecoveryRow]("bound by", lambda row: str(bound_of(row) or "–")),
    Column[RecoveryRow]("CPU, s", lambda row: number(row.cpu_s), right=True),
    Column[RecoveryRow]("busiest thread, s", lambda row: number(row.busiest_thread_s), right=True),
    Column[RecoveryRow](
        "disk busy, s", lambda row: "–" if row.device is None else f"{row.device.busy:.2f}", right=True
    ),
    Column[RecoveryRow]("queue", lambda row: "–" if row.device is None else f"{row.device.queue:.1f}", right=True),
    Column[RecoveryRow](
        "reads",
        lambda row: "–" if row.device is None else _requests(row.device.reads, row.device.read_bytes),
        right=True,
    ),
    Column[RecoveryRow](
        "writes",
        lambda row: "–" if row.device is None else _requests(row.device.writes, row.device.written_bytes),
        right=True,
    ),
    *(_range(phase) for phase in (Phase.SCAN, Phase.APPLY, Phase.OPEN)),
    Column[RecoveryRow]("late", lambda row: "–" if row.late_share is None else f"{row.late_share:.1%}", right=True),
]


def limits_table(rows: Sequence[RecoveryRow]) -> ReportTable:
    """Why each storage took as long as it did."""
    notes = [
        "What the disk and the processor did from the start to ready, in the recovery nearest to the median; scan, apply and open: the "
        "shortest and the longest of all. 'queue': requests in flight while there were any. docs/storage.md says what 'bound by' means."
    ]
    if any(_is_late(row) for row in rows):
        notes.append(
            "'late': by how much the disk model answered later than the modelled disk would have, as a share of all its latencies: this "
            "machine's own disk or processors were slower."
        )
    return ReportTable.of("What the recoveries waited for", rows, _asked(rows, _LIMIT_COLUMNS), notes)


def recovery_table(
    rows: Sequence[RecoveryRow],
    crashes: Sequence[CrashImage],
    off: Mapping[str, str] | None = None,
) -> ReportTable:
    """The table a person reads, with notes on what stands in it; every number of it is in the rows as well.

    `off`: storage → which of its figures were not as asked.
    """
    notes = [
        "Times are seconds; the phases, from 'start' (of the process, to the server's first line) to 'accept', are those of "
        "the recovery nearest to the median. 'redo at crash' is the recovery's own end LSN less its checkpoint LSN, "
        "and in brackets the same from the last sample before the SIGKILL.",
    ]
    for row in rows:
        blank = f"blank: {row.why_blank}" if row.why_blank else ""
        said = "; ".join(part for part in (blank, row.notes) if part)
        if said:
            log = f"log {format_size(row.log_size_bytes)}, " if len({each.log_size_bytes for each in rows}) > 1 else ""
            asked = f", {row.settings}" if row.settings else ""
            notes.append(f"{row.server}, {log}pool {format_size(row.buffer_pool_bytes)}{asked}: {said}.")
    notes = list(dict.fromkeys(notes))
    notes += [
        f"{image.name} was killed when {image.why_killed}."
        for image in crashes
        if "stopped growing" in image.why_killed
    ]
    not_as_asked = off or {}
    notes += [
        f"{storage}! was not the disk that was asked for ({which}): see Disks."
        for storage, which in not_as_asked.items()
        if any(row.storage == storage for row in rows)
    ]
    late = list(dict.fromkeys(row.storage for row in rows if _is_late(row)))
    if late:
        notes.append(
            f"{', '.join(late)}! answered later than the disks they stand for would have, because this machine was slower ('late' "
            "below): on such a disk the recovery is quicker than here."
        )
    buffered = list(dict.fromkeys(row.storage for row in rows if row.buffered))
    if buffered:
        notes.append(
            f"{', '.join(buffered)}! lies in a file whose file system knows no direct I/O: it is read through the page cache, and so "
            "quicker than the disk it stands for. Put REDOLAB_LAB on ext4, XFS or btrfs."
        )
    if not all(row.page_cache_dropped for row in rows):
        notes.append(
            "The page cache could not be dropped before the recoveries (no root): they read part of the files from memory."
        )
    columns = [
        Column[RecoveryRow](
            column.heading,
            lambda row: row.storage + "!" * (row.storage in not_as_asked or _is_late(row) or row.buffered),
        )
        if column.heading == "storage"
        else column
        for column in _asked(rows, _COLUMNS)
    ]
    return ReportTable.of("Crash recovery", rows, columns, notes)


def row_dictionaries(rows: Sequence[RecoveryRow]) -> list[dict[str, object]]:
    """The rows as CSV and Parquet take them."""
    return [_flat(row) for row in rows]


def _flat(row: RecoveryRow) -> dict[str, object]:
    flat = asdict(row)
    ranges, device = flat.pop("ranges"), flat.pop("device")
    for phase in _PHASES:
        flat[f"{phase}_shortest_s"], flat[f"{phase}_longest_s"] = ranges.get(str(phase), (None, None))
    for name in DeviceUse.__struct_fields__:
        flat[f"device_{name}"] = None if device is None else getattr(device, name)
    return {**flat, "bound_by": None if bound_of(row) is None else str(bound_of(row))}
