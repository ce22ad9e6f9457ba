"""A start of a server as its lines go by: the state that timeline, `follow`, `export` and the lab read.

A start becomes a recovery with the first line that only a recovery writes. The memory of a start is
bounded: one moment for each kind of line, and sums for the batches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

import msgspec

from redolab.errorlog.clocks import Clocks, LogMoment
from redolab.errorlog.kinds import Event, Family, Phase, StartKind, StartStage, integer
from redolab.errorlog.redo import Redo
from redolab.errorlog.stamps import Record
from redolab.errorlog.tablespaces import TablespaceFiles

_NEWEST = {Family.MYSQL: (9, 7), Family.PERCONA: (9, 7), Family.MARIADB: (11, 8)}
"""Family → the newest series whose lines the table was compared with."""
_NUMBER = re.compile(r"\d+(?:\.\d+)+")
"""A version as servers write theirs."""
# 5.6.31-77.0. Later ones (8.0.32-24) look like a distribution's revision and are known only by the line with
# the vendor.
_PERCONA_VERSION = re.compile(r"\d+\.\d+\.\d+-(?:rel)?\d+\.\d+(?:-log|-debug)*$")
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
    stage: StartStage | None = None
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
    kind: StartKind | None = None
    """Purpose of a start that has such a line."""
    outcome: str | None = None
    """Result of a start that serves nobody, in words."""
    handler: Callable[[Start, StartLine], None] | None = None

    @property
    def begins(self) -> bool:
        """True if it can begin a start of which the log has nothing yet."""
        return self.stage is not None or self.proof is not None


class Meaning(msgspec.Struct, frozen=True, gc=False):
    """Row of a message, the number of its text in the table, the family that writes it, and the values in it."""

    row: Row
    text: int
    family: Family | None
    values: Mapping[str, str | None]

    def value(self, name: str) -> str | None:
        """Return a value that the line gives, None where it does not."""
        return self.values.get(name) or None

    def number(self, name: str) -> int | None:
        """Return a number that the line gives, None where it does not."""
        return integer(self.values.get(name))

    def lsn(self, name: str = "lsn") -> int | None:
        """Return an LSN that the line gives, None where it does not; 5.1 and before write two halves."""
        high, _, low = (self.values.get(name) or "").partition(" ")
        first, second = integer(high), integer(low)
        return first if first is None or second is None else first << 32 | second


class StartLine(msgspec.Struct, gc=False):
    """Line of a start."""

    meaning: Meaning
    record: Record
    moment: LogMoment
    at: float
    """Seconds of the clock on which lines arrive; 0 where nobody saw them arriving."""


@dataclass(slots=True)
class Complaints:
    """Lines in a row that the server finds no free block in its buffer pool; it can repeat them for ever."""

    first: StartLine
    last: StartLine
    times: int = 0


@dataclass(slots=True)
class Start:
    """State of a start of a server, from the lines read so far."""

    source: str
    clocks: Clocks
    head_lost: bool
    """The log begins with it, and after its first lines."""
    kind: StartKind = StartKind.SERVER
    stage: StartStage = StartStage.STARTING
    proven: bool = False
    begun_by: Row | None = None
    """Kind of line that shows best when the server started."""
    marks: dict[Event, LogMoment] = field(default_factory=dict)
    discovered: LogMoment | None = None
    redo: Redo = field(default_factory=Redo)
    files: TablespaceFiles = field(default_factory=TablespaceFiles)
    family: Family | None = None
    version: str | None = None
    opened_lsn: int | None = None
    transactions: int | None = None
    rows: int | None = None
    rolled_back: int = 0
    prepared: int = 0
    has_binary_log: bool = False
    """Prepared transactions are decided by the binary log, and not by the file tc.log."""
    prepared_ones: set[str] = field(default_factory=set)
    """Ids of prepared transactions, where the log has lines for each."""
    last: StartLine | None = None
    """Last line of the scan, of a batch or of the undo tablespaces."""
    undo_read: tuple[LogMoment, LogMoment, int] | None = None
    """Beginning and end of reading the undo logs for transactions open at the crash, and the batches begun by then."""
    restored: LogMoment | None = None
    """Time of the first line after the one that announces the search of the doublewrite buffer."""
    outcome: str | None = None
    """Result of a start that serves nobody, in words; None while it has none."""
    late_notice: bool = False
    notes: bool = False
    """True once one of its lines was a note of InnoDB."""
    _texts_once: set[int] = field(default_factory=set)

    @property
    def hides_notes(self) -> bool:
        """True if the log has lines of the server but no notes of InnoDB: log_error_verbosity was below 3."""
        can_hide = self.family is not Family.MARIADB and _generation(self.version or "5.7") >= (5, 7)
        return can_hide and not self.notes and bool(self.marks)

    @property
    def had_no_redo(self) -> bool:
        """True if the log said only that the checkpoint is its end, and the data files were not closed."""
        events = self.marks.keys()
        return Event.MISMATCH in events and not (self.redo.begun or events & {Event.SCANNED, Event.END_OF_LOG})

    @property
    def began(self) -> LogMoment | None:
        """First line of the server's start, where the log has it."""
        return self.marks.get(self.begun_by.event) if self.begun_by else None

    @property
    def newer_than_known(self) -> str | None:
        """Remark that the server is newer than all whose logs are known; None if it is not."""
        family = self.family or Family.MYSQL
        if _generation(self.version) <= _NEWEST[family]:
            return None
        known = ".".join(map(str, _NEWEST[family]))
        return (
            f"{family} {self.version} is newer than {known}, the newest whose log is known: read as if it were {known}"
        )

    def belongs(self, meaning: Meaning) -> bool:
        """Return True if a line can be of this start."""
        row = meaning.row
        if (row.once and row.event in self.marks) or (row.each_once and meaning.text in self._texts_once):
            return False
        if row.is_first and not self.marks.keys() <= _BEFORE_THE_FIRST:
            return False
        return row.stage is None or row.stage >= self.stage

    def hear(self, line: StartLine) -> None:
        """Take in a line of this start."""
        meaning, moment = line.meaning, line.moment
        row, event, stage = meaning.row, meaning.row.event, meaning.row.stage
        if row.once and line.record.late_form:
            self.late_notice = True
        if row.each_once:
            self._texts_once.add(meaning.text)
        self.family = self.family or meaning.family
        if stage is not None and stage > StartStage.STARTING:
            self.files.end()
            self.stage = max(self.stage, stage)
            if stage > StartStage.RECOVERING:
                self.redo.leave(Phase.ACCEPT if self.stage is StartStage.OPENED else Phase.ROLLBACK, line.at)
        if not self.proven and row.proof is not None:
            self.proven = self._is_proof(row.proof, meaning)
        if row.voice is Voice.NOTE:
            self.notes = True
        if self.restored is None and Event.DOUBLEWRITE in self.marks:
            self.restored = moment
        self.kind = row.kind or self.kind
        if row.outcome is not None and self.kind is not StartKind.SERVER:
            self.outcome = row.outcome.format(**meaning.values)
        if row.handler:
            row.handler(self, line)
        if stage is StartStage.RECOVERING or event is Event.UNDO_OPENED:
            self.last = line
        if event not in self.marks or not (row.keeps_first or row.witness is not None):
            self.marks[event] = moment

    def _is_proof(self, proof: Proof, meaning: Meaning) -> bool:
        if proof is Proof.WITH_PAGES:
            return meaning.values.get("pages") != "0"
        if proof is Proof.WITHOUT_START:
            return self.begun_by is None
        if proof is Proof.WITHOUT_NOTES:
            return self.stage is not StartStage.READY and (self.begun_by is None or not self.notes)
        return True

    def server_begins(self, line: StartLine) -> None:
        """Take in a line of the server's start; the better witness counts."""
        row = line.meaning.row
        if self.begun_by is None or (row.witness or 0) < (self.begun_by.witness or 0):
            self.begun_by = row
        self.names_server(line)

    def names_server(self, line: StartLine) -> None:
        """Take in how the server calls itself."""
        version, vendor = line.meaning.value("version"), line.meaning.value("vendor") or ""
        if version is None:
            return
        if "MariaDB" in version or "MariaDB" in vendor:
            self.family = Family.MARIADB
        elif "Percona" in vendor or _PERCONA_VERSION.match(version):
            self.family = Family.PERCONA
        elif self.family in (None, Family.MYSQL):
            self.family = Family.MYSQL
        if number := _NUMBER.match(version):
            self.version = number[0]

    def names_server_late(self, line: StartLine) -> None:
        """Take in the second line of a ready server of 5.0 to 5.6: the first may be in its language, or lost."""
        self.names_server(line)
        if Event.READY not in self.marks and self.stage > StartStage.STARTING:
            self.marks[Event.READY] = line.moment
            self.stage = StartStage.READY
            self.redo.leave(Phase.ROLLBACK, line.at)

    def checks_files(self, line: StartLine) -> None:
        """Take in that the server begins to check its tablespace files, and their number."""
        self.files.begin(line.at, line.meaning.number("of"))

    def checkpoint(self, line: StartLine) -> None:
        """Take in the checkpoint; MySQL 8.0.30 and later name it after a clean shutdown too."""
        self.redo.checkpoint = line.meaning.lsn() or self.redo.checkpoint
        self.redo.read(line.at, self.redo.phase)

    def must_recover(self, line: StartLine) -> None:
        """Take in that the server must recover."""
        redo, event = self.redo, line.meaning.row.event
        redo.checkpoint = redo.checkpoint or line.meaning.lsn()
        if event is not Event.MISMATCH and redo.batch is None and not redo.complete:
            redo.read(line.at, Phase.SCAN)
        # 5.7 prints this pair only after the scan.
        late = event in (Event.NOT_SHUT_DOWN, Event.CRASH_RECOVERY) and self._prints_late
        # In 5.1 the first of these lines, printed at once, has no stamp but the second has. Where two say it, the usual
        # one counts.
        better = (
            self.discovered is None
            or self.discovered is self.marks.get(Event.MISMATCH)
            or (self.discovered.server is None and line.moment.server is not None)
        )
        if better and not (late or redo.begun or Event.SCANNED in self.marks):
            self.discovered = redo.turn = line.moment

    @property
    def _prints_late(self) -> bool:
        return self.version.startswith("5.7.") if self.version else self.late_notice

    def scanned(self, line: StartLine) -> None:
        """Take in how far the redo is read."""
        redo, event, multi = self.redo, line.meaning.row.event, line.meaning.lsn("multi")
        lsn = line.meaning.lsn() or multi
        if event is Event.END_OF_LOG:
            redo.end = lsn
        if not lsn:
            return
        # The next batch is read. The line of a first of many only says where it ends.
        is_next = event is Event.PARSED and multi is None
        if is_next and redo.batch is not None and lsn > (redo.batch.upto or 0):
            redo.complete_batch(line.at)
        redo.read_to(lsn, line.at, is_ready=Event.READY in self.marks)

    def batch(self, line: StartLine) -> None:
        """Take in that a batch begins; MySQL 8.0 and later count pages there, and call them records."""
        self.redo.begin_batch(line.moment, line.at, line.meaning.number("pages"))

    def pages_to_recover(self, line: StartLine) -> None:
        """Take in that a batch of MariaDB begins, or how much of it is left."""
        meaning = line.meaning
        self.redo.pages_left(
            meaning.value("which"), meaning.value("upto"), meaning.number("pages") or 0, line.moment, line.at
        )

    def after_apply(self, line: StartLine) -> None:
        """Take in a line behind the last batch of MariaDB; other servers have lines of this kind before theirs."""
        redo = self.redo
        if redo.is_last:
            redo.end_turn(line.moment)
        if redo.batch is not None and redo.batch.pages is not None and self.family is Family.MARIADB:
            redo.leave(Phase.OPEN, line.at)

    def percents(self, line: StartLine) -> None:
        """Take in percents of a batch, or of a rollback; no timeline has them."""
        if line.moment.arrival is not None:
            self.redo.percents(line.meaning.value("all") or "", line.at)

    def prepared_transactions(self, line: StartLine) -> None:
        """Take in prepared transactions: lines for each, and their number, which MariaDB repeats."""
        if (transaction := line.meaning.value("prepared_trx")) is not None:
            self.prepared_ones.add(transaction)
        self.prepared = max(self.prepared, len(self.prepared_ones), line.meaning.number("prepared") or 0)

    def open_transactions(self, line: StartLine) -> None:
        """Take in what was open at the crash."""
        if (transactions := line.meaning.number("transactions")) is not None:
            self.transactions = transactions
            if begin := self._undo_begins():
                self.undo_read = begin, line.moment, self.redo.begun
        if (rows := line.meaning.number("rows")) is not None:
            self.rows = rows * (1_000_000 if line.meaning.value("millions") else 1)

    def _undo_begins(self) -> LogMoment | None:
        """Return where the undo logs began to be read, if no more redo is read after the last line of the recovery."""
        if self.last is None or self.redo.is_applying:
            return None
        event = self.last.meaning.row.event
        late = event in (Event.CRASH_RECOVERY, Event.SCANNED, Event.BATCH_END) and self._prints_late
        return self.last.moment if late or event in (Event.END_OF_LOG, Event.UNDO_OPENED) else None

    def has_coordinator(self, line: StartLine) -> None:
        """Take in what decides about prepared transactions."""
        self.has_binary_log = line.meaning.value("coordinator") != "tc.log"

    def rolled_back_one(self, line: StartLine) -> None:
        """Take in that a transaction is rolled back."""
        self.rolled_back += 1
        # Data dictionary transactions are rolled back in the foreground, which says neither that it begins nor that it
        # ends.
        if Event.UNDO_START not in self.marks and self.rolled_back == (self.transactions or 0) - self.prepared:
            self.marks[Event.UNDO_END] = line.moment

    def innodb_opens(self, line: StartLine) -> None:
        """Take in that InnoDB is open, and whose it is."""
        meaning = line.meaning
        self.opened_lsn = self.opened_lsn or meaning.lsn()
        if self.redo.is_last:
            self.redo.end_turn(line.moment)
        number = _NUMBER.match(meaning.value("version") or meaning.value("xtradb") or "")
        if number is None:
            return
        family, is_servers = _named_at_open(_generation(number[0]), line)
        # Percona Server writes most of its lines as MySQL does.
        if self.family is None or (self.family is Family.MYSQL and family is Family.PERCONA):
            self.family = family
        if self.version is None and is_servers and (family or Family.MYSQL) is (self.family or Family.MYSQL):
            self.version = number[0]

    def innodb_is_open(self, line: StartLine) -> None:
        """Take in that InnoDB is open, where its own line is hidden."""
        # A piece of a log that begins with it can have lost the other line.
        if self.marks:
            self.marks.setdefault(Event.OPENED, line.moment)


def _named_at_open(numbers: tuple[int, ...], line: StartLine) -> tuple[Family | None, bool]:
    """Return whose InnoDB has these numbers, where only one can, and whether the number is the server's too.

    5.5 and older have a number of InnoDB's own, and MariaDB before 10.3 has that of the MySQL from which it took
    InnoDB.
    """
    meaning, record = line.meaning, line.record
    if meaning.value("xtradb"):
        # XtraDB 5.6 is in MariaDB 10.0 and 10.1 as well.
        percona = numbers >= (5, 7)
        return (Family.PERCONA if percona else None), percona
    if meaning.value("transaction"):
        return Family.MARIADB, True
    if numbers == (5, 6):
        return (Family.MYSQL if record.process_form else None), record.process_form
    if numbers == (5, 7):
        return None, record.late_form
    # MySQL's versions are years from 26.7 on.
    return (Family.MYSQL, True) if (8, 0) <= numbers < (10, 0) or numbers >= (26, 0) else (None, False)


def _generation(version: str | None) -> tuple[int, ...]:
    """Return the first two numbers of a version, as in `(8, 0)`; nothing where there is none."""
    return tuple(number for part in (version or "").split(".")[:2] if (number := integer(part)) is not None)
