"""One start of a server as its lines go by: what was told, and when.

What it needs to remember is bounded: one moment per kind of line, and sums for the batches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple

import msgspec

from redolab.timeline.events import Event, Family, LogEvent
from redolab.timeline.moments import Clocks, LogMoment, Total
from redolab.timeline.numbers import NUMBER

# 5.6.31-77.0. Later ones (8.0.32-24) look like a distribution's revision and are known only by the line with
# the vendor.
_PERCONA_VERSION = re.compile(r"\d+\.\d+\.\d+-(?:rel)?\d+\.\d+(?:-log|-debug)*$")

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
    prepared_ones: set[str] = field(default_factory=set)
    """Their numbers, where each has lines of its own."""
    last: Heard | None = None
    """The line of the scan, of a batch or of the undo tablespaces that was heard last."""
    resurrected: Resurrection | None = None
    is_restoring: bool = False
    """Whether the line that the doublewrite buffer is looked through was its last."""
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

    def name(self, version: str, vendor: str) -> None:
        """Take in how the server calls itself."""
        if "MariaDB" in version or "MariaDB" in vendor:
            self.family = Family.MARIADB
        elif "Percona" in vendor or _PERCONA_VERSION.match(version):
            self.family = Family.PERCONA
        elif self.family in (None, Family.MYSQL):
            self.family = Family.MYSQL
        if number := NUMBER.match(version):
            self.version = number[0]
