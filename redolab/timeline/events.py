"""What the lines of an error log say about a recovery: one table from their texts to events.

The texts hardly overlap between servers, so that one table serves all; each row says whose line it is. A text
is matched from its beginning and with its own case: what users make the server print (names, queries) must
not look like an event.
"""

from __future__ import annotations

import re
from enum import IntEnum, StrEnum, auto
from typing import NamedTuple

import msgspec


class Event(StrEnum):
    """Something that a line tells."""

    # That of enumerations is a function in Python, and each line is looked up by its event several times.
    __hash__ = str.__hash__

    PROCESS_START = auto()
    START = auto()
    INIT = auto()
    INNODB_BEGINS = auto()
    INNODB_DONE = auto()
    TABLESPACES = auto()
    TABLESPACES_DONE = auto()
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
    OPENED = auto()
    READY = auto()
    VERSION = auto()
    NO_FREE_BLOCK = auto()
    SHUTDOWN = auto()
    STOPPED = auto()
    SIGNAL = auto()
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
    """Which kind of server wrote a line."""

    MYSQL = "mysql"
    PERCONA = "percona"
    MARIADB = "mariadb"


class Row(NamedTuple):
    """A text, what it tells, and the family where only one writes it."""

    event: Event
    text: str
    family: Family | None = None


class LogEvent(msgspec.Struct, frozen=True, gc=False):
    """An event with the values that its line gave."""

    event: Event
    family: Family | None
    values: dict[str, str | None]


# 5.1 and before write an LSN as two 32-bit halves.
_LSN = r"(?P<lsn>\d+(?: \d+)?)"
# Where a server is installed and what its file is called; never more than one line, never a quoted name.
_PROGRAM = r"(?:(?:(?:\d{6} )?[ \d]?\d:\d\d:\d\d )?(?:UTC )?- )?(?:[A-Za-z]:)?[^:'\"\n]{0,300}?"
_E = Event
_MARIADB = Family.MARIADB
_MYSQL = Family.MYSQL

TABLE = (
    # --- the start of a server
    Row(_E.PROCESS_START, r"MySQL Server - start\.", _MYSQL),  # 8.4+
    Row(
        _E.START, rf"{_PROGRAM}\(\S+ (?P<version>\d[^\s)]*)\) start(?:ing|ed) as process \d"
    ),  # MySQL 5.6+, MariaDB to 10.6
    Row(
        _E.START,
        r"Starting MariaDB (?P<version>\S+) .*as process \d",
        _MARIADB,
    ),
    # Written at every verbosity (MY-013576, MY-013577: ha_innodb.cc, innodb_init_params and innobase_init_files).
    Row(_E.INNODB_BEGINS, r"InnoDB initialization has started\.", _MYSQL),  # later 8.0
    Row(_E.INNODB_DONE, r"InnoDB initialization has ended\.", _MYSQL),  # later 8.0
    Row(
        _E.INIT,
        r"(?:The InnoDB memory heap is disabled|Mutexes and rw_locks use|Compressed tables use zlib"
        r"|Using Linux native AIO|Initializing buffer pool|PUNCH HOLE support available"
        r"|Using atomics to ref count|[Hh]ighest supported file format)",
    ),
    # Of transactions, 4 MiB each: the first at the start, more whenever so many are in use (ut0pool.h, PoolManager::add_pool).
    Row(_E.INIT, r"Number of (?:transaction )?pools: (?P<pools>\d+)"),  # MySQL to 8.0, MariaDB
    # --- what .ibd files there are
    Row(_E.TABLESPACES, r"Directories to scan ", _MYSQL),  # 8.0, fil0fil.cc
    Row(_E.TABLESPACES_DONE, r"Completed space ID check of \d+ files", _MYSQL),
    Row(_E.TABLESPACES, r"Reading tablespace information from the \.ibd files"),  # to 5.6
    Row(_E.DOUBLEWRITE, r"Restoring possible half-written data pages"),  # to 5.6, MariaDB to 10.1
    # --- the server knows that it must recover
    Row(_E.CHECKPOINT, r"The latest found checkpoint is at lsn = (?P<lsn>\d+)", _MYSQL),  # 8.0.30+, also clean starts
    Row(
        _E.CHECKPOINT,
        r"Starting to parse redo log at lsn = \d+, whereas checkpoint_lsn = (?P<lsn>\d+)",
        _MYSQL,
    ),  # 8.0
    Row(
        _E.CHECKPOINT, rf"log sequence number {_LSN}\.\s*$"
    ),  # to 5.1, behind "Starting log scan based on checkpoint at"
    # Nothing was written after the checkpoint, yet the data files were not closed: log0recv.cc. MariaDB 10.1 says no more.
    Row(
        _E.MISMATCH,
        r"The log sequence numbers? (?:\d+ and )?\d+ in (?:ibdata files?|the system tablespace) do(?:es)? not match"
        r" the log sequence number (?P<lsn>\d+) in the (?:ib_logfiles|redo log files)",
    ),
    Row(_E.MISMATCH, r"The log sequence number in ibdata files does not match\s*$"),  # 5.5, in two lines
    Row(_E.PROGRESSED, rf"Log scan progressed past the checkpoint (?:lsn|LSN):? {_LSN}"),
    Row(_E.NOT_SHUT_DOWN, r"Database was not shut ?down normally"),
    Row(_E.CRASH_RECOVERY, r"Starting crash recovery\.?\s*$"),  # with three dots it is the binary log's
    Row(_E.FROM_CHECKPOINT, r"Starting crash recovery from checkpoint LSN=(?P<lsn>\d+)", _MARIADB),
    # --- the scan
    Row(_E.SCANNED, rf"Doing recovery: scanned up to log sequence number {_LSN}"),
    Row(
        _E.PARSED,
        r"(?:Read|Parsed) redo log up to LSN=(?P<lsn>\d+)(?:; to recover: (?P<pages>\d+) pages)?",
        _MARIADB,
    ),
    Row(_E.PARSED, r"Multi-batch recovery needed at LSN \d+", _MARIADB),
    Row(_E.END_OF_LOG, r"End of log at LSN=(?P<lsn>\d+)", _MARIADB),  # also clean starts
    # --- the apply batches
    Row(_E.BATCH, r"Starting an apply batch of log records to the database"),
    Row(_E.BATCH, r"Applying a batch of (?P<pages>\d+) redo log records", _MYSQL),  # 8.0
    Row(_E.BATCH_END, r"Apply batch completed"),
    Row(_E.TO_RECOVER, r"Starting (?P<which>final|a) batch to recover (?P<pages>\d+) pages", _MARIADB),  # to 10.10
    Row(_E.PARSED, r"To recover: \d+ pages from log", _MARIADB),  # to 10.5, every 15 s
    Row(_E.TO_RECOVER, r"To recover: (?:LSN (?P<upto>\d+)/\d+; )?(?P<pages>\d+) pages", _MARIADB),  # 10.6+
    Row(
        _E.AFTER_APPLY,
        r"(?:Last (?:MySQL )?binlog file|\d+ (?:out of \d+ )?rollback segment|Opened \d+ undo tablespaces"
        r"|Removed temporary tablespace|Creating shared tablespace for temporary|Setting file "
        r"|Rolling back trx with id|Waiting for purge to start|Waiting for the background threads to start)",
    ),
    # --- the rollback
    Row(
        _E.TRANSACTIONS,
        r"(?P<transactions>\d+) transaction\(s\) which must be rolled back or cleaned up"
        r"(?: in total (?P<rows>\d+)(?P<millions>M?) row operations to undo)?",
    ),
    Row(_E.ROWS, r"in total (?P<rows>\d+)(?P<millions>M?) row operations to undo"),  # to 5.6, the line after
    Row(_E.UNDO_START, r"Starting in background the rollback of (?:uncommitted|recovered) transactions"),
    Row(
        _E.UNDONE,
        r"(?:Rolling back of trx id (?:\d+ )?\w+ completed"  # to 5.5
        r"|Rollback of trx with id \w+ completed|Rolled back recovered transaction \w+)",
    ),
    Row(_E.UNDO_END, r"Rollback of non-prepared transactions completed"),
    # Not written as notes but straight to the log, at every verbosity: of an apply batch and of a rollback.
    Row(_E.PERCENTS, r"Progress in percents?:"),
    Row(_E.UNDO_OPENED, r"Opened \d+ existing undo tablespaces", _MYSQL),  # 8.0, before it reads them (srv0start.cc)
    # --- transactions that are prepared: nothing undoes them (trx0trx.cc, trx_resurrect and trx_recover_for_mysql; handler.cc)
    Row(_E.PREPARED, r"Transaction (?P<prepared_trx>\d+) was in the XA prepared state"),
    Row(_E.PREPARED, r"(?P<prepared>\d+) transactions in prepared state after recovery"),  # MySQL, MariaDB to 10.5
    Row(_E.PREPARED, r"Found (?P<prepared>\d+) prepared transaction\(s\) in InnoDB"),
    # --- the binary log, or the file tc.log, and the engines agree on what was prepared; after a crash only
    Row(_E.BINARY_LOG, r"Recovering after a crash using "),
    Row(_E.XA_RECOVERY, r"Starting (?:XA |table )?crash recovery\.\.\."),  # at every verbosity from 8.0 on (MY-010229)
    Row(_E.XA_RECOVERED, r"(?:XA c|C)rash (?:table )?recovery finished\.\s*$"),  # MY-010232
    # --- open for use
    Row(
        _E.OPENED,
        rf"(?P<version>\d[\w.-]*) started; log sequence number {_LSN}(?P<transaction>; transaction id \d+)?",
    ),
    Row(_E.OPENED, rf"(?:Percona XtraDB \([^)]*\) (?P<xtradb>\S+) )?[Ss]tarted; log sequence number {_LSN}"),
    Row(_E.OPENED, r"log sequence number (?P<lsn>\d+)(?: \([^)]*\))?; transaction id \d+", _MARIADB),
    Row(
        _E.READY,
        rf"{_PROGRAM}: ready for connections\.?"
        r"(?:\s*Version: '(?P<version>[^']+)'(?P<vendor>.*))?",
    ),
    Row(_E.VERSION, r"Version: '(?P<version>[^']+)'(?P<vendor>.*)"),
    Row(_E.PERCENT, r"\d{1,3}%\s*$", _MYSQL),  # 8.0 and later, of an apply batch (log0recv.cc)
    # --- complaints that can go on for ever
    Row(_E.NO_FREE_BLOCK, r"Difficult to find free blocks in the buffer pool"),
    # --- the end of a server
    Row(_E.SHUTDOWN, r"(?:Starting shutdown\.\.\.|(?P<done>Shutdown completed; log sequence number))"),
    Row(_E.STOPPED, rf"{_PROGRAM}: Shutdown complete(?: \(|\.?\s*$)"),
    Row(_E.SIGNAL, rf"{_PROGRAM}(?:mysqld|mariadbd)(?:\.exe)? got signal (?P<signal>\d+)"),
    Row(_E.ABORT, r"(?:Plugin 'InnoDB' init function returned error|Plugin initialization aborted)"),
    Row(_E.ABORT, r"Aborting\s*$"),
    # What the script around the server says; to 5.0 without its own name.
    Row(_E.STARTED_BY_SAFE, r"(?:mysqld_safe Starting \S+ daemon with databases from |mysqld started\s*$)"),
    Row(_E.ENDED_BY_SAFE, r"(?:mysqld_safe \S+ from pid file \S+|mysqld) ended\s*$"),
    Row(_E.RESTARTED_BY_SAFE, r"(?:mysqld_safe \S+|mysqld) restarted\s*$"),
    # --- starts that are to serve nobody
    # Of Percona XtraDB Cluster 8.0 and later WSREP is a subsystem. A node that joins says "from storage" too.
    Row(
        _E.WSREP_RECOVERED,
        r"(?:WSREP: |\[WSREP\] )Recovered position:? *(?P<position>[0-9a-f]{8}-[0-9a-f-]{27}:-?\d\S*)",
    ),
    Row(_E.INITIALISING, rf"{_PROGRAM}\(\S+ (?P<version>\d[^\s)]*)\) initializing of server in progress"),  # 5.7.?, 8.0
    Row(_E.INITIALISED, rf"{_PROGRAM}\(\S+ (?P<version>\d[^\s)]*)\) initializing of server has completed"),
    Row(_E.BACKUP, r"(?:(?:xtra|maria)backup: )?Starting InnoDB instance for recovery"),
    Row(_E.BACKUP_DONE, r"(?:(?:xtra|maria)backup: |innobackupex: )?completed OK!"),
)
_PATTERNS = tuple(re.compile(row.text, re.ASCII) for row in TABLE)
# What the server says outside of InnoDB.
_OUTSIDE = frozenset(
    (
        _E.PROCESS_START,
        _E.START,
        _E.BINARY_LOG,
        _E.XA_RECOVERY,
        _E.XA_RECOVERED,
        _E.READY,
        _E.VERSION,
        _E.STOPPED,
        _E.SIGNAL,
        _E.INITIALISING,
        _E.INITIALISED,
    )
)
_UNNAMED = [re.sub(r"\(\?P<\w+>", "(?:", row.text) for row in TABLE]
_INNODB = "|".join(text for row, text in zip(TABLE, _UNNAMED, strict=True) if row.event not in _OUTSIDE)
# All rows at once, each as the group whose number is its own: most lines say nothing, and one look must be
# enough.
_ANY = re.compile("|".join(f"({text})" for text in _UNNAMED), re.ASCII)


def event_in(text: str) -> LogEvent | None:
    """Return what the message `text` tells, or None."""
    found = _ANY.match(text)
    if found is None or not found.lastindex:
        return None
    row, pattern = TABLE[found.lastindex - 1], _PATTERNS[found.lastindex - 1]
    values = pattern.match(text)
    return LogEvent(row.event, row.family, values.groupdict() if values else {})


class Near(IntEnum):
    """Where a needle is looked for: everywhere, or only where something else stands in the same piece of a log or the one before."""

    ANYTHING = 0
    INNODB = 1
    """Lines of InnoDB's or of a server's start."""
    BACKUP = 2
    """Lines of a backup program's."""


class Needle(NamedTuple):
    """A word that is quick to look for, and what must stand around it to make its line one that matters."""

    word: str
    pattern: str
    near: Near = Near.ANYTHING


# Every line that an event can stand in holds one of these, whatever stands before it and also as JSON.
# InnoDB's own lines can be most of a log (its page cleaner complains every second), so that there the text
# behind is looked at.
NEEDLES = (
    Needle("InnoDB", rf"InnoDB(?:(?![:\]] )|[:\]] +(?:{_INNODB}))"),
    Needle("Percona XtraDB", "Percona XtraDB", Near.INNODB),
    # A pattern that begins with its word is looked for as fast as that.
    Needle("ecover", r"ecover(?:y(?:\.\.\.| finished\.)|ing after a crash using )", Near.INNODB),
    Needle("ERROR]", r"\[ERROR\]", Near.INNODB),
    Needle(
        "mysqld", r"mysqld(?:_safe \S+)? (?:restarted|ended|started|from pid file|daemon with databases)", Near.INNODB
    ),
    Needle("daemon with databases", "daemon with databases", Near.INNODB),
    Needle("Recovered position", "Recovered position", Near.INNODB),
    Needle("initializing of server has", "initializing of server has", Near.INNODB),
    Needle("backup: ", r"backup: [Ee]rror", Near.BACKUP),
    # What a backup program says itself, and InnoDB's lines in it: xtrabackup 8.0 to 8.0.26 writes neither stamp nor `InnoDB:`.
    *(
        Needle(word, re.escape(word), Near.BACKUP)
        for word in (
            "completed OK!",
            "Last binlog file",
            "FATAL ERROR: ",
            "Starting crash recovery",
            "Doing recovery: scanned up",
            "Database was not shut",
            "Applying a batch of",
            "Apply batch completed",
            "atch the log sequence number",
            "; log sequence number",
            "rolled back or cleaned up",
        )
    ),
    *(
        Needle(word, re.escape(word))
        for word in (
            ": ready for connections",
            " as process ",
            "MySQL Server - start",
            "Version: '",
            "got signal ",
            ": Shutdown complete",
        )
    ),
)
_COMPILED = tuple((needle.word, re.compile(needle.pattern, re.ASCII)) for needle in NEEDLES)


def matters(text: str) -> bool:
    """Whether a line may hold an event."""
    return any(word in text and pattern.search(text) for word, pattern in _COMPILED)
