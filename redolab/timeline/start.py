"""One start of a server as its lines go by: what was told, and when.

A start becomes a recovery with the first line that only a recovery writes. What it needs to remember is
bounded: one moment per kind of line, and sums for the batches.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple

import msgspec

from redolab.timeline.events import Event, Family, LogEvent
from redolab.timeline.moments import Clocks, LogMoment, Total
from redolab.timeline.stamps import Clock

# 5.6.31-77.0. Later ones (8.0.32-24) look like a distribution's revision and are known only by the line with
# the vendor.
_PERCONA_VERSION = re.compile(r"\d+\.\d+\.\d+-(?:rel)?\d+\.\d+(?:-log|-debug)*$")
_NUMBER = re.compile(r"\d+(?:\.\d+)+")

_LAST_BATCH = "last"
_DIGITS = 20
"""Of the largest number of 64 bits."""

MIXED_TURNS = "MariaDB scans on between batches and does not say when one ends"
LOG_BEGINS_LATER = "the log begins after this"


class Reached(IntEnum):
    """How far a start has come."""

    STARTING = 0
    RECOVERING = 1
    OPENED = 2
    READY = 3


class StartKind(StrEnum):
    """What a server was started for."""

    SERVER = "server"
    BACKUP = "backup prepare"
    """`xtrabackup --prepare` or `mariabackup --prepare`: an InnoDB of their own recovers the copied files."""
    POSITION = "wsrep-recover"
    """Galera asks a node where it stands, before it starts it."""
    INITIALISE = "initialise"
    """`mysqld --initialize`: a data directory is made."""


# The stage that a line belongs to. A line of an earlier stage than reached is of another start.
STAGES = {
    Event.PROCESS_START: Reached.STARTING,
    Event.START: Reached.STARTING,
    Event.INIT: Reached.STARTING,
    Event.INNODB_BEGINS: Reached.STARTING,
    Event.INITIALISING: Reached.STARTING,
    Event.BACKUP: Reached.STARTING,
    Event.CHECKPOINT: Reached.RECOVERING,
    Event.MISMATCH: Reached.RECOVERING,
    Event.PROGRESSED: Reached.RECOVERING,
    Event.NOT_SHUT_DOWN: Reached.RECOVERING,
    Event.CRASH_RECOVERY: Reached.RECOVERING,
    Event.FROM_CHECKPOINT: Reached.RECOVERING,
    Event.SCANNED: Reached.RECOVERING,
    Event.PARSED: Reached.RECOVERING,
    Event.END_OF_LOG: Reached.RECOVERING,
    Event.BATCH: Reached.RECOVERING,
    Event.BATCH_END: Reached.RECOVERING,
    Event.TO_RECOVER: Reached.RECOVERING,
    Event.OPENED: Reached.OPENED,
    Event.READY: Reached.READY,
}
# Each start writes these once: another one is of another start, even where no line of that start itself is in
# the log.
_ONCE = frozenset((Event.PROGRESSED, Event.NOT_SHUT_DOWN, Event.CRASH_RECOVERY, Event.FROM_CHECKPOINT))
# What can stand before a server's first lines.
_BEFORE: dict[Event, frozenset[Event]] = {
    # 8.0.15 keeps its lines back until InnoDB has recovered, but not a rollback's percents.
    Event.PROCESS_START: frozenset((Event.PERCENTS,)),
    Event.START: frozenset((Event.PROCESS_START, Event.PERCENTS)),
}
UNDO = frozenset((Event.UNDO_START, Event.UNDONE, Event.UNDO_END, Event.TRANSACTIONS, Event.ROWS))
# Lines of a recovery and of nothing else. A clean start of MySQL 8 applies a batch too, of 0 records.
_PROOF = frozenset(
    (
        Event.MISMATCH,
        Event.DOUBLEWRITE,
        Event.NOT_SHUT_DOWN,
        Event.CRASH_RECOVERY,
        Event.FROM_CHECKPOINT,
        Event.SCANNED,
        Event.PARSED,
        Event.BATCH,
        Event.TO_RECOVER,
        Event.PERCENTS,
    )
)
# What a server of MySQL 5.7 and later writes whatever its log_error_verbosity. All else are notes.
_NOT_NOTES = frozenset(
    (
        Event.PROCESS_START,
        Event.START,
        Event.INITIALISING,
        Event.INITIALISED,
        Event.INNODB_BEGINS,
        Event.INNODB_DONE,
        Event.PERCENTS,
        Event.XA_RECOVERY,
        Event.XA_RECOVERED,
        Event.READY,
        Event.VERSION,
        Event.NO_FREE_BLOCK,
    )
)


# The witnesses that its notes would be there too.
_VISIBLE = frozenset((Event.INNODB_DONE, Event.READY, Event.PERCENTS, Event.XA_RECOVERY))


class Heard(msgspec.Struct, gc=False):
    """A line's event and when it came.

    `late_form`: it has the form that only MySQL 5.7 writes; `process_form`: that of MySQL 5.6, and of MariaDB from 10.3 on.
    """

    log_event: LogEvent
    moment: LogMoment
    late_form: bool
    process_form: bool

    @property
    def event(self) -> Event:
        """What the line tells."""
        return self.log_event.event

    def value(self, name: str) -> str | None:
        """A value that the line gives, None where it does not."""
        return self.log_event.values.get(name) or None


@dataclass(slots=True)
class Redo:
    """Scan and apply, which take turns: MySQL applies a batch whenever its memory for parsed redo is full.

    `turn` is where the current turn began, None while nobody knows; `first` where the first batch did.
    MariaDB does not say when a batch ends. To 10.5 it scans on between batches, so that neither can be timed
    (`mixed`); later it has read all redo before the first batch, and reading it again between batches counts
    as apply.
    """

    turn: LogMoment | None = None
    first: LogMoment | None = None
    applying: bool = False
    scan: Total = field(default_factory=Total)
    apply: Total = field(default_factory=Total)
    batches: int = 0
    mixed: bool = False
    # The last turn's end may still get its stamp from the line that follows.
    unsettled: tuple[Total, LogMoment, LogMoment] | None = None

    def begin(self, moment: LogMoment) -> None:
        """The scan begins."""
        self.turn = moment

    def batch(self, moment: LogMoment) -> None:
        """A batch begins."""
        self.batches += 1
        self.first = self.first or moment
        if not self.applying:
            self._change(self.scan, moment)
            self.applying = True

    def batch_end(self, moment: LogMoment) -> None:
        """A batch is done."""
        if not self.applying and not self.batches:
            self.apply.fail(LOG_BEGINS_LATER)
            self.scan.fail(LOG_BEGINS_LATER)
            self.turn, self.batches = moment, 1
        elif self.applying:
            self._change(self.apply, moment)
            self.applying = False

    def mix(self) -> None:
        """The scan goes on after this batch, nobody knows when."""
        self.mixed = True
        self.scan.fail(MIXED_TURNS)
        self.apply.fail(MIXED_TURNS)

    def settle(self) -> None:
        """Add up what is known by now."""
        if self.unsettled:
            total, begin, end = self.unsettled
            total.add(begin, end)
            self.unsettled = None

    def _change(self, total: Total, moment: LogMoment) -> None:
        self.settle()
        if self.turn is None:
            total.fail(LOG_BEGINS_LATER)
        else:
            self.unsettled = (total, self.turn, moment)
        self.turn = moment


class Resurrection(NamedTuple):
    """The undo logs are read for transactions that were open at the crash, between two lines; after so many batches."""

    begin: LogMoment
    end: LogMoment
    batches: int


@dataclass(slots=True)
class Start:
    """What one start of a server has told so far."""

    source: str
    clocks: Clocks
    stage: Reached = Reached.STARTING
    proven: bool = False
    begun_by: Event | None = None
    marks: dict[Event, LogMoment] = field(default_factory=dict)
    discovered: LogMoment | None = None
    redo: Redo = field(default_factory=Redo)
    family: Family | None = None
    version: str | None = None
    checkpoint_lsn: int | None = None
    scanned_lsn: int | None = None
    first_scanned_lsn: int | None = None
    opened_lsn: int | None = None
    pages: int | None = None
    batch_key: str | None = None
    transactions: int | None = None
    rows: int | None = None
    rolled_back: int = 0
    prepared: int = 0
    last: Heard | None = None
    """The line of the scan, of a batch or of the undo tablespaces that was heard last."""
    resurrected: Resurrection | None = None
    restored: LogMoment | None = None
    """When the first line came after the one that the doublewrite buffer is looked through."""
    kind: StartKind = StartKind.SERVER
    outcome: str | None = None
    """What a start that serves nobody came to, in words; None while it has not."""
    late_notice: bool = False
    notes: bool = False
    """Whether any of its lines was a note of InnoDB."""
    no_free_block: int = 0
    """How often the server found no free block in the buffer pool since it got on last."""
    no_free_block_since: LogMoment | None = None

    @property
    def hides_notes(self) -> bool:
        """Whether InnoDB wrote no notes, as far as its lines tell: log_error_verbosity was below 3."""
        return not self.notes and bool(self.marks.keys() & _VISIBLE)

    @property
    def had_no_redo(self) -> bool:
        """Whether the log said only that the checkpoint is its end, and the data files were not closed."""
        said = self.marks.keys()
        return Event.MISMATCH in said and not (self.redo.batches or said & {Event.SCANNED, Event.END_OF_LOG})

    @property
    def began(self) -> LogMoment | None:
        """The first line of the server's start, where the log has it."""
        return self.marks.get(self.begun_by) if self.begun_by else None

    def belongs(self, event: Event) -> bool:
        """Whether a line that tells `event` can be of this start."""
        role = _ROLES[event]
        stage = role.stage
        if stage is None:
            return True
        if role.once and event in self.marks:
            return False
        if stage is Reached.STARTING:
            return self.stage is Reached.STARTING and (event not in _BEFORE or self.marks.keys() <= _BEFORE[event])
        return stage >= self.stage and not (stage is self.stage and stage >= Reached.OPENED)

    def hear(self, line: Heard) -> None:
        """Take in a line of this start."""
        log_event = line.log_event
        event = log_event.event
        role = _ROLES[event]
        if role.once and line.late_form:
            self.late_notice = True
        if self.family is None:
            self.family = log_event.family
        if role.stage is not None and role.stage > self.stage:
            self.stage = role.stage
        # A rollback alone is no recovery of redo, unless this is the end of a log whose beginning is lost.
        if (role.proof and log_event.values.get("pages") != "0") or (role.undo and self.begun_by is None):
            self.proven = True
        if role.note:
            self.notes = True
        if event is Event.NO_FREE_BLOCK:
            self.no_free_block_since = self.no_free_block_since or line.moment
            self.no_free_block += 1
        else:
            self.no_free_block, self.no_free_block_since = 0, None
        if self.restored is None and Event.DOUBLEWRITE in self.marks:
            self.restored = line.moment
        if role.handler:
            role.handler(self, line)
        if role.stage is Reached.RECOVERING:
            self.last = line
        if not role.first or event not in self.marks:
            self.marks[event] = line.moment

    def name(self, version: str, vendor: str) -> None:
        """Take in how the server calls itself."""
        if "MariaDB" in version or "MariaDB" in vendor:
            self.family = Family.MARIADB
        elif "Percona" in vendor or _PERCONA_VERSION.match(version):
            self.family = Family.PERCONA
        elif self.family in (None, Family.MYSQL):
            self.family = Family.MYSQL
        if number := _NUMBER.match(version):
            self.version = number[0]


# Of these the first counts; of all others the last.
_FIRST = frozenset(
    (
        Event.PROCESS_START,
        Event.START,
        Event.INIT,
        Event.INNODB_BEGINS,
        Event.INITIALISING,
        Event.BACKUP,
        Event.DOUBLEWRITE,
        Event.PERCENTS,
        Event.XA_RECOVERY,
        Event.UNDO_START,
        Event.OPENED,
        Event.READY,
        Event.AFTER_APPLY,
    )
)
# The better witness of a server's start first.
_FIRST_LINES = {
    Event.PROCESS_START: 0,
    Event.START: 1,
    Event.INITIALISING: 1,
    Event.BACKUP: 1,
    Event.INIT: 2,
    Event.INNODB_BEGINS: 2,
}


def _on_start(start: Start, line: Heard) -> None:
    if start.begun_by is None or _FIRST_LINES[line.event] < _FIRST_LINES[start.begun_by]:
        start.begun_by = line.event
    _on_version(start, line)


def _on_backup(start: Start, line: Heard) -> None:
    start.kind = StartKind.BACKUP
    _on_start(start, line)


def _on_backup_done(start: Start, _line: Heard) -> None:
    if start.kind is StartKind.BACKUP:
        start.outcome = "completed OK!"


def _on_initialising(start: Start, line: Heard) -> None:
    start.kind = StartKind.INITIALISE
    _on_start(start, line)


def _on_initialised(start: Start, _line: Heard) -> None:
    start.outcome = "initialised"


def _on_position(start: Start, line: Heard) -> None:
    start.kind = StartKind.POSITION
    start.outcome = f"recovered position {line.value('position') or 'not told'}"


def _on_version(start: Start, line: Heard) -> None:
    if version := line.value("version"):
        start.name(version, line.value("vendor") or "")


def _on_version_line(start: Start, line: Heard) -> None:
    """The second line of those that say that a server of 5.0 to 5.6 is ready: the first may be in its language, or lost."""
    _on_version(start, line)
    if Event.READY not in start.marks and start.stage > Reached.STARTING:
        start.marks[Event.READY] = line.moment
        start.stage = Reached.READY


def _on_discovered(start: Start, line: Heard) -> None:
    start.checkpoint_lsn = start.checkpoint_lsn or _lsn(line.value("lsn"))
    # 5.7 prints this pair only after the scan.
    late = line.event in (Event.NOT_SHUT_DOWN, Event.CRASH_RECOVERY) and _prints_late(start)
    # In 5.1 the first of these lines, printed at once, has no stamp but the second has. Where two say it, the usual one counts.
    better = (
        start.discovered is None
        or start.discovered is start.marks.get(Event.MISMATCH)
        or (start.discovered.tick(Clock.SERVER) is None and line.moment.tick(Clock.SERVER) is not None)
    )
    if better and not (late or start.redo.batches or Event.SCANNED in start.marks):
        start.discovered = line.moment
        start.redo.begin(line.moment)


def _prints_late(start: Start) -> bool:
    return start.version.startswith("5.7.") if start.version else start.late_notice


def _on_checkpoint(start: Start, line: Heard) -> None:
    start.checkpoint_lsn = _lsn(line.value("lsn"))


def _on_scanned(start: Start, line: Heard) -> None:
    # A second batch reads from its own beginning again, and says how far it is: the end is where the first came to.
    if lsn := _lsn(line.value("lsn")):
        start.scanned_lsn = max(lsn, start.scanned_lsn or 0)
        start.first_scanned_lsn = start.first_scanned_lsn or lsn


def _on_batch(start: Start, line: Heard) -> None:
    start.redo.batch(line.moment)
    if (pages := _integer(line.value("pages"))) is not None:
        start.pages = (start.pages or 0) + pages


def _on_batch_end(start: Start, line: Heard) -> None:
    start.redo.batch_end(line.moment)


def _on_to_recover(start: Start, line: Heard) -> None:
    """A batch of MariaDB begins, or it says again, 15 s later, how large it is."""
    values = line.log_event.values
    one_of_many = values.get("which") == "a"
    key = f"a {line.moment.number}" if one_of_many else values.get("upto") or _LAST_BATCH
    if key != start.batch_key:
        start.batch_key = key
        if one_of_many:
            start.redo.mix()
        _on_batch(start, line)


def _on_after_apply(start: Start, line: Heard) -> None:
    if start.batch_key == _LAST_BATCH:
        start.redo.batch_end(line.moment)


def _undo_begins(start: Start) -> LogMoment | None:
    """Where the undo logs began to be read, if after the line of the recovery that was heard last no more redo is."""
    last = start.last
    if last is None or start.redo.applying:
        return None
    late = last.event in (Event.CRASH_RECOVERY, Event.SCANNED, Event.BATCH_END) and _prints_late(start)
    return last.moment if late or last.event in (Event.END_OF_LOG, Event.UNDO_OPENED) else None


def _on_undo_opened(start: Start, line: Heard) -> None:
    start.last = line


def _on_prepared(start: Start, line: Heard) -> None:
    # One line for each, and their number, which stands in MariaDB's log more than once.
    count = _integer(line.value("prepared"))
    start.prepared = start.prepared + 1 if count is None else max(start.prepared, count)


def _on_transactions(start: Start, line: Heard) -> None:
    if (transactions := _integer(line.value("transactions"))) is not None:
        start.transactions = transactions
        if begin := _undo_begins(start):
            start.resurrected = Resurrection(begin, line.moment, start.redo.batches)
    if (rows := _integer(line.value("rows"))) is not None:
        start.rows = rows * (1_000_000 if line.value("millions") else 1)


def _on_undone(start: Start, line: Heard) -> None:
    start.rolled_back += 1
    # Data dictionary transactions are rolled back in the foreground, which says neither that it begins nor that it ends.
    if Event.UNDO_START not in start.marks and start.rolled_back == (start.transactions or 0) - start.prepared:
        start.marks[Event.UNDO_END] = line.moment


def _on_opened(start: Start, line: Heard) -> None:
    start.opened_lsn = start.opened_lsn or _lsn(line.value("lsn"))
    _on_after_apply(start, line)
    number = _NUMBER.match(line.value("version") or line.value("xtradb") or "")
    if number is None:
        return
    family, is_servers = _named_at_open(generation(number[0]), line)
    # Percona Server writes most of its lines as MySQL does.
    if start.family is None or (start.family is Family.MYSQL and family is Family.PERCONA):
        start.family = family
    if start.version is None and is_servers and (family or Family.MYSQL) is (start.family or Family.MYSQL):
        start.version = number[0]


def _on_innodb_done(start: Start, line: Heard) -> None:
    if Event.OPENED not in start.marks and start.stage < Reached.OPENED:
        start.marks[Event.OPENED] = line.moment
        start.stage = Reached.OPENED


def _on_xa_recovery(start: Start, _line: Heard) -> None:
    # It is begun only where the binary log was left in use: by a server that InnoDB's shutdown did not follow.
    if not start.notes:
        start.proven = True


def _named_at_open(numbers: tuple[int, ...], line: Heard) -> tuple[Family | None, bool]:
    """Whose InnoDB is opened as of these numbers, where only one can be, and whether the number is the server's too.

    5.5 and older have a number of InnoDB's own, and MariaDB before 10.3 has that of the MySQL from which it took InnoDB.
    """
    if line.value("xtradb"):
        # XtraDB 5.6 is in MariaDB 10.0 and 10.1 as well.
        percona = numbers >= (5, 7)
        return (Family.PERCONA if percona else None), percona
    if line.value("transaction"):
        return Family.MARIADB, True
    if numbers == (5, 6):
        return (Family.MYSQL if line.process_form else None), line.process_form
    if numbers == (5, 7):
        return None, line.late_form
    # MySQL's versions are years from 26.7 on.
    return (Family.MYSQL, True) if (8, 0) <= numbers < (10, 0) or numbers >= (26, 0) else (None, False)


def generation(version: str) -> tuple[int, ...]:
    """The first two numbers of a version, as in `(8, 0)`; none of what is no version."""
    return tuple(number for part in version.split(".")[:2] if (number := _integer(part)) is not None)


def _integer(text: str | None) -> int | None:
    """A number of a line; None where it has none, or one with more digits than a server writes."""
    return int(text) if text and len(text) <= _DIGITS and text.isdecimal() else None


def _lsn(text: str | None) -> int | None:
    """An LSN of a line, which is of two numbers to 5.1."""
    high, _, low = (text or "").partition(" ")
    first, second = _integer(high), _integer(low)
    return first if first is None or second is None else first << 32 | second


_HANDLERS: dict[Event, Callable[[Start, Heard], None]] = {
    Event.PROCESS_START: _on_start,
    Event.START: _on_start,
    Event.INIT: _on_start,
    Event.INNODB_BEGINS: _on_start,
    Event.INITIALISING: _on_initialising,
    Event.INITIALISED: _on_initialised,
    Event.BACKUP: _on_backup,
    Event.BACKUP_DONE: _on_backup_done,
    Event.WSREP_RECOVERED: _on_position,
    Event.CHECKPOINT: _on_checkpoint,
    Event.MISMATCH: _on_discovered,
    Event.PROGRESSED: _on_discovered,
    Event.NOT_SHUT_DOWN: _on_discovered,
    Event.CRASH_RECOVERY: _on_discovered,
    Event.FROM_CHECKPOINT: _on_discovered,
    Event.SCANNED: _on_scanned,
    Event.PARSED: _on_scanned,
    Event.END_OF_LOG: _on_scanned,
    Event.BATCH: _on_batch,
    Event.BATCH_END: _on_batch_end,
    Event.TO_RECOVER: _on_to_recover,
    Event.AFTER_APPLY: _on_after_apply,
    Event.TRANSACTIONS: _on_transactions,
    Event.ROWS: _on_transactions,
    Event.UNDONE: _on_undone,
    Event.UNDO_OPENED: _on_undo_opened,
    Event.PREPARED: _on_prepared,
    Event.XA_RECOVERY: _on_xa_recovery,
    Event.OPENED: _on_opened,
    Event.INNODB_DONE: _on_innodb_done,
    Event.READY: _on_version,
    Event.VERSION: _on_version_line,
}


class _Role(NamedTuple):
    """What a kind of line means to a start, looked up once for each line."""

    stage: Reached | None
    once: bool
    proof: bool
    undo: bool
    note: bool
    first: bool
    handler: Callable[[Start, Heard], None] | None


_ROLES = {
    event: _Role(
        STAGES.get(event),
        event in _ONCE,
        event in _PROOF,
        event in UNDO,
        event not in _NOT_NOTES,
        event in _FIRST,
        _HANDLERS.get(event),
    )
    for event in Event
}
