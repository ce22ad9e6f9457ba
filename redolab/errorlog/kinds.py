"""Kinds of lines, servers, starts and phases: the words of the table and of all that reads it."""

from __future__ import annotations

from enum import IntEnum, StrEnum, auto

_DIGITS = 20
"""Digits of the largest number of 64 bits."""


class Event(StrEnum):
    """Kind of line that belongs to a start of a server."""

    # An enumeration's own hash is a function in Python, and each line is looked up by its event several times.
    __hash__ = str.__hash__

    PROCESS_START = auto()
    START = auto()
    INIT = auto()
    INNODB_BEGINS = auto()
    INNODB_DONE = auto()
    FILES_FOUND = auto()
    FILES_CHECKED = auto()
    TABLESPACES = auto()
    TABLESPACES_DONE = auto()
    TABLESPACES_READ = auto()
    DOUBLEWRITE = auto()
    CHECKPOINT = auto()
    MISMATCH = auto()
    PROGRESSED = auto()
    NOT_SHUT_DOWN = auto()
    CRASH_RECOVERY = auto()
    FROM_CHECKPOINT = auto()
    SCANNED = auto()
    PARSED = auto()
    END_OF_LOG = auto()
    BATCH = auto()
    BATCH_END = auto()
    TO_RECOVER = auto()
    AFTER_APPLY = auto()
    TRANSACTIONS = auto()
    ROWS = auto()
    UNDO_START = auto()
    UNDONE = auto()
    UNDO_END = auto()
    PERCENTS = auto()
    PERCENT = auto()
    UNDO_OPENED = auto()
    PREPARED = auto()
    BINARY_LOG = auto()
    XA_RECOVERY = auto()
    XA_RECOVERED = auto()
    VALIDATED = auto()
    ALL_VALIDATED = auto()
    OPENED = auto()
    READY = auto()
    VERSION = auto()
    NO_FREE_BLOCK = auto()
    SHUTDOWN = auto()
    STOPPED = auto()
    SIGNAL = auto()
    ASSERTION = auto()
    FATAL = auto()
    ABORT = auto()
    STARTED_BY_SAFE = auto()
    ENDED_BY_SAFE = auto()
    RESTARTED_BY_SAFE = auto()
    WSREP_RECOVERED = auto()
    INITIALISING = auto()
    INITIALISED = auto()
    BACKUP = auto()
    BACKUP_DONE = auto()


class Family(StrEnum):
    """Kind of server that wrote a line."""

    MYSQL = "mysql"
    PERCONA = "percona"
    MARIADB = "mariadb"


class Phase(StrEnum):
    """Phases of a recovery, in their order; the package's docstring says where each begins and ends."""

    __hash__ = str.__hash__

    DISCOVER = "discover"
    SCAN = "scan"
    APPLY = "apply"
    OPEN = "open"
    ACCEPT = "accept"
    ROLLBACK = "rollback"


class StartStage(IntEnum):
    """Stages of a start, recovery or not."""

    STARTING = 0
    RECOVERING = 1
    OPENED = 2
    READY = 3


class StartKind(StrEnum):
    """Purpose of a start."""

    SERVER = "server"
    BACKUP = "backup prepare"
    """`xtrabackup --prepare` or `mariabackup --prepare`: an InnoDB of their own recovers the copied files."""
    POSITION = "wsrep-recover"
    """Galera asks a node for its position before it starts it."""
    INITIALISE = "initialise"
    """`mysqld --initialize`: a data directory is made."""


class End(StrEnum):
    """Reasons why a server has no more lines, in words; others come from the table."""

    SHUT_DOWN = "server was shut down"
    SHUTTING_DOWN = "server began to shut down"
    KILLED_MEANWHILE = "server was killed while it shut down"
    CRASHED = "server crashed"
    DIED = "server died without a word (mysqld_safe started it again)"
    STARTED_AGAIN = "server started again (crash during recovery)"
    LOG_ENDS = "log ends here"


def integer(text: str | None) -> int | None:
    """Return a number of a line; None where it has none, or one with more digits than a server writes."""
    return int(text) if text and len(text) <= _DIGITS and text.isdecimal() else None
