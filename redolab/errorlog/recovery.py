"""A start of a server as its lines go by: the state that timeline, `follow`, `export` and the lab read.

A start becomes a recovery with the first line that only a recovery writes. Its memory is bounded: one moment for each
kind of line, and sums for the batches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

import msgspec

from redolab.errorlog.clocks import Clocks, LogMoment
from redolab.errorlog.kinds import (
    NEWEST,
    NUMBER,
    Event,
    Family,
    Phase,
    Stage,
    StartKind,
    generation,
    integer,
    lsn_of,
)
from redolab.errorlog.redo import Redo, Turns
from redolab.errorlog.stamps import Clock
from redolab.errorlog.tablespaces import TablespaceFiles

# 5.6.31-77.0. Later ones (8.0.32-24) look like a distribution's revision and are known only by the line with
# the vendor.
_PERCONA_VERSION = re.compile(r"\d+\.\d+\.\d+-(?:rel)?\d+\.\d+(?:-log|-debug)*$")
_LAST_BATCH = "last"
_BEFORE_THE_FIRST = frozenset((Event.PROCESS_START, Event.PERCENTS))
"""Lines that can stand before a server's first one: 8.0.15 keeps its lines back until InnoDB has recovered, but not the
percents of a rollback."""


class Proof(Enum):
    """Condition under which a line proves that its start is a recovery."""

    ALWAYS = auto()
    WITH_PAGES = auto()
    """Proof unless the line counts 0 pages: a clean start of MySQL 8 applies a batch too."""
    WITHOUT_START = auto()
    """Proof if the server's first lines are lost: a rollback alone is no recovery of redo, but it follows one."""
    WITHOUT_NOTES = auto()
    """Proof if the server is not ready yet, and no InnoDB line since the start says that it had nothing to recover."""


class Voice(Enum):
    """Part of the server that writes a line, and when."""

    NOTE = auto()
    """InnoDB, as a note: MySQL 5.7 and later leave notes out with log_error_verbosity below 3."""
    ALWAYS = auto()
    """InnoDB, at every verbosity."""
    SERVER = auto()
    """The server around it, or the script that starts it."""


class Row(msgspec.Struct, frozen=True, gc=False):
    """Kind of line in the table: its texts, and what it means to a start."""

    event: Event
    texts: tuple[str | tuple[str, Family], ...]
    """Regular expressions from the beginning of the message, with the family where only one writes it."""
    stage: Stage | None = None
    """Stage in which the start is by then. A line of an earlier stage than reached is of another start."""
    proof: Proof | None = None
    witness: int | None = None
    """Rank among the lines that show when a server started; the best is 0."""
    is_first: bool = False
    """True if the line stands before all other lines of its start."""
    once: bool = False
    """True if each start has at most one such line."""
    each_once: bool = False
    """True if each start has each text of this kind at most once."""
    keeps_first: bool = False
    """True if the time of the first such line counts, not that of the last one."""
    voice: Voice = Voice.NOTE
    ends: str | None = None
    """Reason for the end of the server, in words; such a line is of no start's course."""
    is_last: bool = False
    """True if the next line belongs to another server."""
    is_quoted: bool = False
    """True if the text says more than that the server ends."""
    handler: Callable[[Recovery, Said], None] | None = None

    @property
    def begins(self) -> bool:
        """True if it can begin a start of which the log has nothing yet."""
        return self.stage is not None or self.proof is not None


class Said(msgspec.Struct, gc=False):
    """Line of a start.

    `late_form`: it has the form that only MySQL 5.7 writes; `process_form`: that of MySQL 5.6, and of MariaDB from 10.3
    on.
    """

    row: Row
    text: int
    """Number of its text in the table."""
    family: Family | None
    values: Mapping[str, str | None]
    moment: LogMoment
    at: float
    """Seconds of the clock on which lines arrive; 0 where nobody saw them arriving."""
    late_form: bool = False
    process_form: bool = False

    @property
    def event(self) -> Event:
        """Kind of the line."""
        return self.row.event

    def value(self, name: str) -> str | None:
        """Return a value that the line gives, None where it does not."""
        return self.values.get(name) or None

    def number(self, name: str) -> int | None:
        """Return a number that the line gives, None where it does not."""
        return integer(self.values.get(name))


@dataclass(slots=True)
class Complaints:
    """Lines in a row that the server finds no free block in its buffer pool; it can repeat them for ever."""

    since: LogMoment
    since_at: float
    last_at: float
    """Seconds of the clock on which lines arrive, as `since_at`."""
    times: int = 0


class Resurrection(NamedTuple):
    """Reading of the undo logs for transactions open at the crash, between two lines; after so many batches."""

    begin: LogMoment
    end: LogMoment
    batches: int


@dataclass(slots=True)
class Recovery:
    """State of a start of a server, from the lines read so far."""

    source: str
    clocks: Clocks
    since: float
    """Arrival of its first line, in seconds."""
    head_lost: bool
    """The log begins with it, and after its first lines."""
    kind: StartKind = StartKind.SERVER
    stage: Stage = Stage.STARTING
    proven: bool = False
    begun_by: Event | None = None
    marks: dict[Event, LogMoment] = field(default_factory=dict)
    discovered: LogMoment | None = None
    redo: Redo = field(default_factory=Redo)
    turns: Turns = field(default_factory=Turns)
    files: TablespaceFiles = field(default_factory=TablespaceFiles)
    family: Family | None = None
    version: str | None = None
    opened_lsn: int | None = None
    pages: int | None = None
    batch_key: str | None = None
    transactions: int | None = None
    rows: int | None = None
    rolled_back: int = 0
    prepared: int = 0
    prepared_ones: set[str] = field(default_factory=set)
    """Numbers of prepared transactions, where each has lines of its own."""
    last: Said | None = None
    """Last line of the scan, of a batch or of the undo tablespaces."""
    resurrected: Resurrection | None = None
    restored: LogMoment | None = None
    """Time of the first line after the one that the doublewrite buffer is looked through."""
    outcome: str | None = None
    """Result of a start that serves nobody, in words; None while it has none."""
    late_notice: bool = False
    notes: bool = False
    """True once one of its lines was a note of InnoDB."""
    _said_once: set[int] = field(default_factory=set)
    _witness: int = 0
    """Rank of the line by which it is known when it began."""

    @property
    def hides_notes(self) -> bool:
        """True if InnoDB wrote no notes, as far as its lines tell: log_error_verbosity was below 3."""
        can_hide = self.family is not Family.MARIADB and generation(self.version or "5.7") >= (5, 7)
        return can_hide and not self.notes and bool(self.marks)

    @property
    def is_undecided(self) -> bool:
        """True if the server took connections, and the log does not tell whether it recovered before."""
        return Event.READY in self.marks and not self.proven and (self.head_lost or not self.notes)

    @property
    def is_servers(self) -> bool:
        """True if a server said that it starts, and no program that has an InnoDB of its own."""
        return bool(self.marks.keys() & {Event.PROCESS_START, Event.START})

    @property
    def had_no_redo(self) -> bool:
        """True if the log said only that the checkpoint is its end, and the data files were not closed."""
        said = self.marks.keys()
        return Event.MISMATCH in said and not (self.turns.batches or said & {Event.SCANNED, Event.END_OF_LOG})

    @property
    def began(self) -> LogMoment | None:
        """First line of the server's start, where the log has it."""
        return self.marks.get(self.begun_by) if self.begun_by else None

    @property
    def newer_than_known(self) -> str | None:
        """Remark that the server is newer than all whose logs are known; None if it is not."""
        family = self.family or Family.MYSQL
        newest = NEWEST[family]
        if generation(self.version) <= newest:
            return None
        known = ".".join(map(str, newest))
        return (
            f"{family} {self.version} is newer than {known}, the newest whose log is known: read as if it were {known}"
        )

    def belongs(self, said: Said) -> bool:
        """Return True if a line can be of this start."""
        row = said.row
        if (row.once and row.event in self.marks) or (row.each_once and said.text in self._said_once):
            return False
        if row.is_first and not self.marks.keys() <= _BEFORE_THE_FIRST:
            return False
        return row.stage is None or row.stage >= self.stage

    def hear(self, said: Said) -> None:
        """Take in a line of this start."""
        row, event, moment = said.row, said.row.event, said.moment
        if row.once and said.late_form:
            self.late_notice = True
        if row.each_once:
            self._said_once.add(said.text)
        if self.family is None:
            self.family = said.family
        if row.stage is not None and row.stage > Stage.STARTING:
            self.files.end()
            self.stage = max(self.stage, row.stage)
        if not self.proven and row.proof is not None:
            self.proven = self._is_proof(row.proof, said)
        if row.voice is Voice.NOTE:
            self.notes = True
        if self.restored is None and Event.DOUBLEWRITE in self.marks:
            self.restored = moment
        if row.handler:
            row.handler(self, said)
        if row.stage is Stage.RECOVERING:
            self.last = said
        if event not in self.marks or not (row.keeps_first or row.witness is not None):
            self.marks[event] = moment

    def _is_proof(self, proof: Proof, said: Said) -> bool:
        match proof:
            case Proof.ALWAYS:
                return True
            case Proof.WITH_PAGES:
                return said.values.get("pages") != "0"
            case Proof.WITHOUT_START:
                return self.begun_by is None
            case Proof.WITHOUT_NOTES:
                return self.stage is not Stage.READY and (self.begun_by is None or not self.notes)

    def starts(self, said: Said) -> None:
        """Take in a line of the server's start; the better witness counts."""
        if self.begun_by is None or (said.row.witness or 0) < self._witness:
            self.begun_by, self._witness = said.event, said.row.witness or 0
        self.names(said)

    def prepares_backup(self, said: Said) -> None:
        """Take in that a backup is prepared."""
        self.kind = StartKind.BACKUP
        self.starts(said)

    def has_prepared_backup(self, _said: Said) -> None:
        """Take in that a backup is prepared to its end."""
        if self.kind is StartKind.BACKUP:
            self.outcome = "completed OK!"

    def initialises(self, said: Said) -> None:
        """Take in that a data directory is made."""
        self.kind = StartKind.INITIALISE
        self.starts(said)

    def has_initialised(self, _said: Said) -> None:
        """Take in that the data directory is made."""
        self.outcome = "initialised"

    def tells_position(self, said: Said) -> None:
        """Take in the position that Galera asked for."""
        self.kind = StartKind.POSITION
        self.outcome = f"recovered position {said.value('position') or 'not told'}"

    def names(self, said: Said) -> None:
        """Take in how the server calls itself."""
        version, vendor = said.value("version"), said.value("vendor") or ""
        if version is None:
            return
        if "MariaDB" in version or "MariaDB" in vendor:
            self.family = Family.MARIADB
        elif "Percona" in vendor or _PERCONA_VERSION.match(version):
            self.family = Family.PERCONA
        elif self.family in (None, Family.MYSQL):
            self.family = Family.MYSQL
        if number := NUMBER.match(version):
            self.version = number[0]

    def names_late(self, said: Said) -> None:
        """Take in the second line of a ready server of 5.0 to 5.6: the first may be in its language, or lost."""
        self.names(said)
        if Event.READY not in self.marks and self.stage > Stage.STARTING:
            self.marks[Event.READY] = said.moment
            self.stage = Stage.READY
            self.redo.leave(Phase.ROLLBACK, said.at)

    def looks_at_files(self, said: Said) -> None:
        """Take in that the server looks at its tablespace files, and at how many."""
        self.files.begin(said.at, said.number("of"))

    def checked_files(self, said: Said) -> None:
        """Take in how many files a thread has looked at."""
        self.files.checked(said.value("thread") or "", said.number("done") or 0, said.at)

    def validated_files(self, said: Said) -> None:
        """Take in how many tablespaces are validated."""
        self.files.validated(said.number("done") or 0, said.number("of") or 0, said.at)

    def has_looked_at_files(self, _said: Said) -> None:
        """Take in that all files have been looked at."""
        self.files.end()

    def checkpoint(self, said: Said) -> None:
        """Take in the checkpoint; MySQL 8.0.30 and later name it after a clean shutdown too."""
        self.redo.checkpoint = lsn_of(said.value("lsn")) or self.redo.checkpoint
        self.redo.read(said.at)

    def discovers(self, said: Said) -> None:
        """Take in that the server must recover."""
        self.redo.checkpoint = self.redo.checkpoint or lsn_of(said.value("lsn"))
        if said.event is not Event.MISMATCH:
            self.redo.scan(said.at)
        # 5.7 prints this pair only after the scan.
        late = said.event in (Event.NOT_SHUT_DOWN, Event.CRASH_RECOVERY) and self._prints_late
        # In 5.1 the first of these lines, printed at once, has no stamp but the second has. Where two say it, the usual
        # one counts.
        better = (
            self.discovered is None
            or self.discovered is self.marks.get(Event.MISMATCH)
            or (self.discovered.tick(Clock.SERVER) is None and said.moment.tick(Clock.SERVER) is not None)
        )
        if better and not (late or self.turns.batches or Event.SCANNED in self.marks):
            self.discovered = said.moment
            self.turns.begin(said.moment)

    @property
    def _prints_late(self) -> bool:
        return self.version.startswith("5.7.") if self.version else self.late_notice

    def scanned(self, said: Said) -> None:
        """Take in how far the redo is read."""
        batch = self.redo.batch
        lsn = lsn_of(said.value("lsn") or said.value("multi"))
        if said.event is Event.END_OF_LOG:
            self.redo.end = lsn
        # The next batch is read. The line of a first of many only says where it ends.
        is_next = said.event is Event.PARSED and said.value("multi") is None
        if lsn and is_next and batch is not None and lsn > (batch.upto or 0):
            self.redo.end_batch(said.at)
        if lsn:
            self.redo.read_to(lsn, said.at, is_ready=Event.READY in self.marks)

    def batch(self, said: Said) -> None:
        """Take in that a batch begins; MySQL 8.0 and later count pages there, and call them records."""
        self._batch(said)
        self.redo.begin_batch(said.at, self.redo.scanned).pages = said.number("pages")

    def batch_ends(self, said: Said) -> None:
        """Take in that a batch is done."""
        self.turns.batch_end(said.moment)
        self.redo.end_batch(said.at)

    def pages_to_recover(self, said: Said) -> None:
        """Take in that a batch of MariaDB begins, or, 15 s later, how much of it is left."""
        which, upto, pages = said.value("which"), said.value("upto"), said.number("pages")
        one_of_many = which == "a"
        key = f"a {said.moment.number}" if one_of_many else upto or _LAST_BATCH
        if key != self.batch_key:
            self.batch_key = key
            if one_of_many:
                self.turns.mix()
            self._batch(said)
        if which is None:
            self.redo.pages_left(pages or 0, upto or "", said.at)
        else:
            self.redo.end_batch(said.at)
            self.redo.begin_batch(said.at, self.redo.scanned).pages = pages

    def _batch(self, said: Said) -> None:
        self.turns.batch(said.moment)
        if (pages := said.number("pages")) is not None:
            self.pages = (self.pages or 0) + pages

    def after_apply(self, said: Said) -> None:
        """Take in a line behind the last batch of MariaDB; other servers have lines of this kind before theirs."""
        if self.batch_key == _LAST_BATCH:
            self.turns.batch_end(said.moment)
        batch = self.redo.batch
        if batch is not None and batch.pages is not None and self.family is Family.MARIADB:
            self.redo.leave(Phase.OPEN, said.at)

    def percents(self, said: Said) -> None:
        """Take in percents of a batch, or of a rollback; no timeline has them."""
        if said.moment.arrival is not None:
            self.redo.percents(said.value("all") or "", said.at)

    def undo_opened(self, said: Said) -> None:
        """Take in that the undo tablespaces are open."""
        self.last = said

    def prepared_transactions(self, said: Said) -> None:
        """Take in prepared transactions: lines for each, and their number, which MariaDB tells more than once."""
        if (transaction := said.value("prepared_trx")) is not None:
            self.prepared_ones.add(transaction)
            self.prepared = max(self.prepared, len(self.prepared_ones))
        elif (count := said.number("prepared")) is not None:
            self.prepared = max(self.prepared, count)

    def open_transactions(self, said: Said) -> None:
        """Take in what was open at the crash."""
        if (transactions := said.number("transactions")) is not None:
            self.transactions = transactions
            if begin := self._undo_begins():
                self.resurrected = Resurrection(begin, said.moment, self.turns.batches)
        if (rows := said.number("rows")) is not None:
            self.rows = rows * (1_000_000 if said.value("millions") else 1)

    def _undo_begins(self) -> LogMoment | None:
        """Return where the undo logs began to be read, if no more redo is read after the last line of the recovery."""
        last = self.last
        if last is None or self.turns.applying:
            return None
        late = last.event in (Event.CRASH_RECOVERY, Event.SCANNED, Event.BATCH_END) and self._prints_late
        return last.moment if late or last.event in (Event.END_OF_LOG, Event.UNDO_OPENED) else None

    def rolled_one_back(self, said: Said) -> None:
        """Take in that a transaction is rolled back."""
        self.rolled_back += 1
        # Data dictionary transactions are rolled back in the foreground, which says neither that it begins nor that it
        # ends.
        if Event.UNDO_START not in self.marks and self.rolled_back == (self.transactions or 0) - self.prepared:
            self.marks[Event.UNDO_END] = said.moment

    def opens(self, said: Said) -> None:
        """Take in that InnoDB is open, and whose it is."""
        self.opened_lsn = self.opened_lsn or lsn_of(said.value("lsn"))
        self.redo.leave(Phase.ACCEPT, said.at)
        if self.batch_key == _LAST_BATCH:
            self.turns.batch_end(said.moment)
        number = NUMBER.match(said.value("version") or said.value("xtradb") or "")
        if number is None:
            return
        family, is_servers = _named_at_open(generation(number[0]), said)
        # Percona Server writes most of its lines as MySQL does.
        if self.family is None or (self.family is Family.MYSQL and family is Family.PERCONA):
            self.family = family
        if self.version is None and is_servers and (family or Family.MYSQL) is (self.family or Family.MYSQL):
            self.version = number[0]

    def is_open(self, said: Said) -> None:
        """Take in that InnoDB is open, where its own line is hidden."""
        self.redo.leave(Phase.ACCEPT, said.at)
        # A piece of a log that begins with it can have lost the other line.
        if self.marks:
            self.marks.setdefault(Event.OPENED, said.moment)

    def decides_prepared(self, said: Said) -> None:
        """Take in that the binary log decides what was prepared."""
        self.redo.leave(Phase.ACCEPT, said.at)

    def is_ready(self, said: Said) -> None:
        """Take in that the server takes connections."""
        self.names(said)
        self.redo.leave(Phase.ROLLBACK, said.at)


def _named_at_open(numbers: tuple[int, ...], said: Said) -> tuple[Family | None, bool]:
    """Return whose InnoDB has these numbers, where only one can, and whether the number is the server's too.

    5.5 and older have a number of InnoDB's own, and MariaDB before 10.3 has that of the MySQL from which it took
    InnoDB.
    """
    if said.value("xtradb"):
        # XtraDB 5.6 is in MariaDB 10.0 and 10.1 as well.
        percona = numbers >= (5, 7)
        return (Family.PERCONA if percona else None), percona
    if said.value("transaction"):
        return Family.MARIADB, True
    if numbers == (5, 6):
        return (Family.MYSQL if said.process_form else None), said.process_form
    if numbers == (5, 7):
        return None, said.late_form
    # MySQL's versions are years from 26.7 on.
    return (Family.MYSQL, True) if (8, 0) <= numbers < (10, 0) or numbers >= (26, 0) else (None, False)
