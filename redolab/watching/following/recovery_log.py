"""The error log of a server that recovers, line by line, into how far it has come."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields

from redolab.models.time_left import Done
from redolab.timeline.events import Event, Family, LogEvent, event_in
from redolab.timeline.numbers import integer, lsn_of
from redolab.timeline.phase import Phase
from redolab.timeline.stamps import Record
from redolab.units import MIB
from redolab.watching.following.tablespace_files import TablespaceFiles

_PERCENTS = re.compile(r"(?:InnoDB: )?(?:Progress in percents?: ?)?(?P<percents>\d{1,3}%?(?: \d{1,3}%?)*) ?")
"""The whole of what is said."""
_NUMBER = re.compile(r"\d{1,3}")
_ALL = 100
_PAGES_LEFT = re.compile(r"[Tt]o recover: (?:LSN (?P<upto>\d+)/\d+; )?(?P<pages>\d+) pages")
_BATCH_OF = re.compile(r"batch to recover (?P<pages>\d+) pages")
_MULTI_BATCH = re.compile(r"Multi-batch recovery needed at LSN (?P<lsn>\d+)")
_UP_TO = re.compile(r"(?:Read|Parsed) redo log up to LSN=(?P<lsn>\d+)")
_BEGINS = frozenset(
    (Event.PROCESS_START, Event.START, Event.INIT, Event.INNODB_BEGINS, Event.STARTED_BY_SAFE, Event.RESTARTED_BY_SAFE)
)
"""What a server says when it begins."""
_FIRST_POOL = "1"
_FILES_END = frozenset((Event.TABLESPACES_DONE, Event.DOUBLEWRITE))
"""What is said when all tablespace files have been looked at."""
_ENDS = {
    Event.SHUTDOWN: "it is being shut down",
    Event.STOPPED: "it was shut down",
    Event.SIGNAL: "it crashed",
    Event.ABORT: "it gave up",
    Event.ENDED_BY_SAFE: "it ended",
}


@dataclass(slots=True)
class _Reading:
    """The redo that is read, by LSN."""

    checkpoint: int | None = None
    upto: int | None = None
    end: int | None = None
    """Where the redo ends, once a line says so."""
    since: float | None = None
    """When this stretch of reading began; None while nothing is read."""
    seconds: float = 0.0
    """Of the stretches before."""

    def begin(self, at: float) -> None:
        if self.since is None:
            self.since = at

    def pause(self, at: float) -> None:
        if self.since is not None:
            self.seconds += at - self.since
            self.since = None

    def seconds_at(self, now: float) -> float:
        return self.seconds + (0.0 if self.since is None else now - self.since)

    def bytes_to(self, lsn: int | None) -> float:
        return 0.0 if self.checkpoint is None or lsn is None else float(max(0, lsn - self.checkpoint))


@dataclass(slots=True)
class _Batch:
    """Pages that are being brought up to date."""

    since: float
    upto: int | None
    """LSN of the redo that it holds."""
    told_upto: str = ""
    pages: int | None = None
    """To do when it began."""
    share: float = 0.0
    """Of it done, as far as a line says."""
    shown_at: float | None = None
    """When such a line came last."""

    def show(self, share: float, at: float) -> None:
        if share > self.share:
            self.share, self.shown_at = share, at


@dataclass(slots=True)
class _Applying:
    """All batches."""

    upto: int | None = None
    """LSN up to which the complete ones reach."""
    seconds: float = 0.0
    """Of the complete ones."""
    batches: int = 0
    batch: _Batch | None = None


@dataclass(slots=True)
class RecoveryLog:
    """What the lines of a server's start have said; times in seconds, of whichever clock `hear` is given."""

    began: float | None = None
    """When the server began."""
    ready: float | None = None
    ended: str | None = None
    """How the server ended, in words."""
    version: str | None = None
    family: Family | None = None
    recovers: bool = False
    """Whether a line said that it must."""
    events: int = 0
    """Lines of its recovery, of those that MySQL prints at its default verbosity only the percents."""
    phase: Phase = Phase.DISCOVER
    rows_to_undo: int | None = None
    undone: bool = False
    blocked_since: float | None = None
    """When it began to complain of no free block; None once it has told anything else."""
    blocked_at: float = 0.0
    """When it did so last."""
    stated_checkpoint: int | None = None
    """The LSN from which redo is applied, where a line says so."""
    unfinished_percent: int | None = None
    """Of the batch at hand, in a line that is not at its end: servers up to 8.0.15 end it with the batch."""
    files: TablespaceFiles = field(default_factory=TablespaceFiles)
    _reading: _Reading = field(default_factory=_Reading)
    _applying: _Applying = field(default_factory=_Applying)

    def hear(self, record: Record, at: float) -> None:
        """Take in what was said at that time."""
        known = event_in(record.text)
        if known is None:
            self._hear_percents(record.text, at)
            self.files.hear(record.text, at)
            return
        if known.event is Event.NO_FREE_BLOCK:
            # A server that runs may say so too, and a log that was rotated has no line of its start.
            self.recovers = self.recovers or (self.ready is None and self.began is not None)
            self.blocked_since = at if self.blocked_since is None else self.blocked_since
            self.blocked_at = at
            return
        if known.event in _BEGINS and self._is_another(known):
            self.forget()
        if self.began is None:
            self.began = at
        self.blocked_since = None
        self.family = self.family or known.family
        self.version = self.version or known.values.get("version")
        self._take(known, record.text, at)

    def forget(self) -> None:
        """Another start begins."""
        for each in fields(self):
            value = each.default if each.default_factory is MISSING else each.default_factory()
            setattr(self, each.name, value)

    def _is_another(self, known: LogEvent) -> bool:
        """Whether a line of a start is one of another start: InnoDB says some such lines again when it needs more of something."""
        return (self.recovers or self.ready is not None or self.ended is not None) and known.values.get("pools") in (
            None,
            _FIRST_POOL,
        )

    def hear_unfinished(self, text: str) -> None:
        """Look at the beginning of a line whose end has not come yet."""
        found = _PERCENTS.fullmatch(text)
        self.unfinished_percent = None if found is None else _percent_in(found["percents"])

    @property
    def percent(self) -> int | None:
        """Of the batch at hand, where a line says one."""
        batch = self._applying.batch
        if batch is None or batch.shown_at is None:
            return self.unfinished_percent
        return round(100 * batch.share)

    @property
    def batches(self) -> int:
        """Complete ones."""
        return self._applying.batches

    def done(self, now: float, total: int | None = None, most: int | None = None) -> Done:
        """Return how far it had come at that time.

        `total`: bytes of all redo where something else than the log shows it, `most`: what there can be at most.
        """
        reading, applying = self._reading, self._applying
        known = float(total) if total is not None else None
        if known is None and reading.end is not None and reading.checkpoint is not None:
            known = reading.bytes_to(reading.end)
        complete = reading.bytes_to(applying.upto)
        batch = applying.batch
        in_batch = 0.0 if batch is None else max(0.0, now - batch.since)
        applied, unseen = complete, in_batch
        if batch is not None and batch.shown_at is not None:
            applied += batch.share * max(0.0, reading.bytes_to(batch.upto) - complete)
            unseen = max(0.0, now - batch.shown_at)
        return Done(
            elapsed=0.0 if self.began is None else max(0.0, now - self.began),
            total=known,
            most=None if most is None else float(most),
            read=reading.bytes_to(reading.upto),
            applied=applied,
            complete=complete,
            reading_s=reading.seconds_at(now),
            applying_s=applying.seconds + in_batch,
            unseen_s=unseen,
            in_batch_s=in_batch,
            pages_a_mib=self._pages_a_mib(complete),
        )

    def _pages_a_mib(self, complete: float) -> float | None:
        batch = self._applying.batch
        if batch is None or not batch.pages:
            return None
        redo = self._reading.bytes_to(batch.upto) - complete
        return batch.pages / (redo / MIB) if redo >= MIB else None

    def _take(self, known: LogEvent, text: str, at: float) -> None:
        if known.event in _ENDS:
            self.ended = _ENDS[known.event]
        elif (take := _TAKES.get(known.event)) is not None:
            self.events += 1
            self.files.end()
            take(self, known, text, at)
        elif known.event is Event.TABLESPACES:
            self.files.begin(at)
        elif known.event in _FILES_END:
            self.files.end()

    def _from_checkpoint(self, known: LogEvent, _text: str, at: float) -> None:
        self._begins_at(known)
        self._must_recover(known, "", at)

    def _checkpoint(self, known: LogEvent, _text: str, at: float) -> None:
        # MySQL 8.0.30 and later says so after a clean shutdown too.
        self._begins_at(known)
        self._reading.begin(at)

    def _begins_at(self, known: LogEvent) -> None:
        self.stated_checkpoint = lsn_of(known.values.get("lsn")) or self.stated_checkpoint
        self._reading.checkpoint = self.stated_checkpoint or self._reading.checkpoint

    def _progressed(self, known: LogEvent, _text: str, at: float) -> None:
        # 5.7 says so after its first look at the log.
        if self._reading.checkpoint is None:
            self._begins_at(known)
        self._must_recover(known, "", at)

    def _must_recover(self, _known: LogEvent, _text: str, at: float) -> None:
        self.recovers = True
        if self._applying.batch is None and not self._applying.batches:
            self._reading.begin(at)
            self.phase = Phase.SCAN

    def _scanned(self, known: LogEvent, _text: str, at: float) -> None:
        self.recovers = True
        self._read_to(lsn_of(known.values.get("lsn")), at)

    def _end_of_log(self, known: LogEvent, _text: str, at: float) -> None:
        self._reading.end = lsn_of(known.values.get("lsn"))
        self._read_to(self._reading.end, at)

    def _read_to(self, lsn: int | None, at: float) -> None:
        if lsn is None:
            return
        self._reading.checkpoint = self._reading.checkpoint or lsn
        if self._applying.batch is None and self.ready is None:
            self._reading.begin(at)
            self.phase = Phase.SCAN
        self._reading.upto = max(lsn, self._reading.upto or 0)

    def _parsed(self, _known: LogEvent, text: str, at: float) -> None:
        if (multi := _MULTI_BATCH.search(text)) is not None:
            # The first batch holds what had been parsed by then; the rest is read on, and read again later.
            self._read_to(int(multi["lsn"]), at)
        elif (upto := _UP_TO.search(text)) is not None:
            lsn, batch = int(upto["lsn"]), self._applying.batch
            if batch is not None and lsn > (batch.upto or 0):
                # The next batch is read.
                self._end_batch(at)
            self._read_to(lsn, at)

    def _batch(self, known: LogEvent, _text: str, at: float) -> None:
        self.recovers = True
        # MySQL 8.0 and later count pages there, and call them records.
        self._begin_batch(at, self._reading.upto).pages = integer(known.values.get("pages"))

    def _batch_ended(self, _known: LogEvent, _text: str, at: float) -> None:
        self._end_batch(at)

    def _pages_to_do(self, _known: LogEvent, text: str, at: float) -> None:
        self.recovers = True
        if (left := _PAGES_LEFT.search(text)) is not None:
            self._pages_left(int(left["pages"]), left["upto"] or "", at)
            return
        # MariaDB to 10.10: a batch begins with its pages.
        self._end_batch(at)
        of = _BATCH_OF.search(text)
        self._begin_batch(at, self._reading.upto).pages = None if of is None else integer(of["pages"])

    def _pages_left(self, pages: int, upto: str, at: float) -> None:
        """MariaDB: so many pages are left of the batch that holds the redo to that LSN, or the last one."""
        batch = self._applying.batch
        if batch is None or upto != batch.told_upto:
            self._end_batch(at)
            batch = self._begin_batch(at, integer(upto) or self._reading.end or self._reading.upto)
            batch.told_upto, batch.pages = upto, pages
            return
        batch.pages = max(pages, batch.pages or pages)
        batch.show(1 - pages / batch.pages if batch.pages else 1.0, at)

    def _begin_batch(self, at: float, upto: int | None) -> _Batch:
        if self._applying.batch is None:
            self._reading.pause(at)
            self._applying.batch = _Batch(at, upto)
            self.phase = Phase.APPLY
        return self._applying.batch

    def _end_batch(self, at: float) -> None:
        batch = self._applying.batch
        if batch is None:
            return
        self._applying.seconds += at - batch.since
        self._applying.upto = max(batch.upto or 0, self._applying.upto or 0) or None
        self._applying.batches += 1
        self._applying.batch = None
        if self._reading.end is not None and (self._applying.upto or 0) >= self._reading.end:
            self.phase = Phase.OPEN
            return
        # What follows is more redo, until something else is said.
        self._reading.begin(at)
        self.phase = Phase.SCAN

    def _after_apply(self, known: LogEvent, _text: str, at: float) -> None:
        batch = self._applying.batch
        if known.event is Event.AFTER_APPLY and (
            batch is None or self.family is not Family.MARIADB or batch.pages is None
        ):
            # Other servers apply the last batch only now, or have lines of this kind before it.
            return
        self._end_batch(at)
        self._reading.pause(at)
        self.phase = Phase.ACCEPT if known.event is Event.OPENED else Phase.OPEN

    def _is_ready(self, _known: LogEvent, _text: str, at: float) -> None:
        self._end_batch(at)
        self._reading.pause(at)
        self.ready, self.phase, self.ended = at, Phase.ROLLBACK, None

    def _undo_ended(self, _known: LogEvent, _text: str, _at: float) -> None:
        self.undone = True

    def _percents(self, _known: LogEvent, text: str, at: float) -> None:
        self._hear_percents(text, at)

    def _note_rows(self, known: LogEvent, _text: str, _at: float) -> None:
        rows = integer(known.values.get("rows"))
        if rows is not None:
            self.rows_to_undo = rows * (1_000_000 if known.values.get("millions") else 1)

    def _hear_percents(self, text: str, at: float) -> None:
        batch = self._applying.batch
        if batch is None or (found := _PERCENTS.fullmatch(text)) is None:
            return
        self.unfinished_percent = None
        if (percent := _percent_in(found["percents"])) is not None:
            batch.show(percent / 100, at)


def _percent_in(said: str) -> int | None:
    return max((int(each) for each in _NUMBER.findall(said) if int(each) <= _ALL), default=None)


_TAKES: dict[Event, Callable[[RecoveryLog, LogEvent, str, float], None]] = {
    Event.CHECKPOINT: RecoveryLog._checkpoint,
    Event.FROM_CHECKPOINT: RecoveryLog._from_checkpoint,
    Event.PROGRESSED: RecoveryLog._progressed,
    Event.NOT_SHUT_DOWN: RecoveryLog._must_recover,
    Event.CRASH_RECOVERY: RecoveryLog._must_recover,
    Event.SCANNED: RecoveryLog._scanned,
    Event.PARSED: RecoveryLog._parsed,
    Event.END_OF_LOG: RecoveryLog._end_of_log,
    Event.BATCH: RecoveryLog._batch,
    Event.BATCH_END: RecoveryLog._batch_ended,
    Event.TO_RECOVER: RecoveryLog._pages_to_do,
    Event.PERCENTS: RecoveryLog._percents,
    Event.TRANSACTIONS: RecoveryLog._note_rows,
    Event.ROWS: RecoveryLog._note_rows,
    Event.UNDO_END: RecoveryLog._undo_ended,
    Event.AFTER_APPLY: RecoveryLog._after_apply,
    Event.OPENED: RecoveryLog._after_apply,
    Event.INNODB_DONE: RecoveryLog._after_apply,
    Event.XA_RECOVERY: RecoveryLog._after_apply,
    Event.READY: RecoveryLog._is_ready,
}
"""Event → what it changes."""
