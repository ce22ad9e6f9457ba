"""Lines of an error log that belong to a start: one table from their texts to their meaning.

A new line of a new server version is one row, or one more text of a row. The texts hardly overlap between servers, so
that one table serves all; each text says whose it is where only one family writes it. A text is matched from the
beginning of the message and with its own case: what users make the server print (names, queries) must not look like a
line of a start.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from redolab.errorlog.kinds import End, Event, Family, StartKind, StartStage
from redolab.errorlog.start import Meaning, Proof, Row, Start, Voice

# 5.1 and before write an LSN as two 32-bit halves.
_LSN = r"(?P<lsn>\d+(?: \d+)?)"
# Where a server is installed and what its file is called; never more than one line, never a quoted name.
_PROGRAM = r"(?:(?:(?:\d{6} )?[ \d]?\d:\d\d:\d\d )?(?:UTC )?- )?(?:[A-Za-z]:)?[^:'\"\n]{0,300}?"
_MYSQL, _MARIADB = Family.MYSQL, Family.MARIADB
_STARTING, _RECOVERING, _OPENED, _READY = StartStage
_ALWAYS, _SERVER, _CRASH = Voice.ALWAYS, Voice.SERVER, Proof.ALWAYS

TABLE = (
    # --- the start of a server
    Row(Event.PROCESS_START, ((r"MySQL Server - start\.", _MYSQL),),  # 8.4+
        stage=_STARTING, is_first=True, once=True, witness=0, voice=_SERVER, handler=Start.server_begins),
    Row(Event.START, (
            rf"{_PROGRAM}\(\S+ (?P<version>\d[^\s)]*)\) start(?:ing|ed) as process \d",  # MySQL 5.6+, MariaDB to 10.6
            (r"Starting MariaDB (?P<version>\S+) .*as process \d", _MARIADB),
        ),
        stage=_STARTING, is_first=True, witness=1, voice=_SERVER, handler=Start.server_begins),
    # Written at every verbosity (MY-013576, MY-013577: ha_innodb.cc, innodb_init_params and innobase_init_files).
    Row(Event.INNODB_BEGINS, ((r"InnoDB initialization has started\.", _MYSQL),),  # later 8.0
        stage=_STARTING, witness=2, voice=_ALWAYS, handler=Start.server_begins),
    Row(Event.INNODB_DONE, ((r"InnoDB initialization has ended\.", _MYSQL),),  # later 8.0
        stage=_OPENED, voice=_ALWAYS, handler=Start.innodb_is_open),
    Row(Event.INIT, (
            "The InnoDB memory heap is disabled",
            "Mutexes and rw_locks use",
            "Compressed tables use zlib",
            "Using Linux native AIO",
            "Initializing buffer pool",
            "PUNCH HOLE support available",
            "Using atomics to ref count",
            "[Hh]ighest supported file format",
        ),
        stage=_STARTING, each_once=True, witness=2, handler=Start.server_begins),
    # Pools of transactions, 4 MiB each: the first at the start, further ones when all are in use (ut0pool.h,
    # PoolManager::add_pool).
    Row(Event.INIT, (r"Number of (?:transaction )?pools: 1\s*$",),  # MySQL to 8.0, MariaDB
        stage=_STARTING, witness=2, handler=Start.server_begins),
    # --- what .ibd files there are
    Row(Event.TABLESPACES, ((r"Directories to scan ", _MYSQL),),  # 8.0
        stage=_STARTING, handler=Start.checks_files),
    Row(Event.FILES_FOUND, ((r"Using \d+ threads? to scan (?P<of>\d+) tablespace files", _MYSQL),),  # fil0fil.cc
        stage=_STARTING, handler=Start.checks_files),
    Row(Event.FILES_CHECKED, ((r"(?P<thread>Thread# \d+) - Checked (?P<done>\d+)/\d+ files", _MYSQL),),
        stage=_STARTING,
        handler=lambda start, line: start.files.checked(
            line.meaning.value("thread") or "", line.meaning.number("done") or 0, line.at
        )),
    Row(Event.TABLESPACES_DONE, ((r"Completed space ID check of \d+ files", _MYSQL),),
        stage=_STARTING, handler=lambda start, _: start.files.end()),
    Row(Event.TABLESPACES_READ, (r"Reading tablespace information from the \.ibd files",),  # to 5.6
        stage=_RECOVERING, proof=_CRASH, handler=Start.checks_files),
    Row(Event.DOUBLEWRITE, ("Restoring possible half-written data pages",),  # to 5.6, MariaDB to 10.1
        stage=_RECOVERING, proof=_CRASH, keeps_first=True),
    # --- the server knows that it must recover
    Row(Event.CHECKPOINT, (
            (r"The latest found checkpoint is at lsn = (?P<lsn>\d+)", _MYSQL),  # 8.0.30+, also clean starts
            (r"Starting to parse redo log at lsn = \d+, whereas checkpoint_lsn = (?P<lsn>\d+)", _MYSQL),  # 8.0
            rf"log sequence number {_LSN}\.\s*$",  # to 5.1, behind "Starting log scan based on checkpoint at"
        ),
        stage=_RECOVERING, handler=Start.checkpoint),
    Row(Event.MISMATCH, (
            # Nothing was written after the checkpoint, yet the data files were not closed (log0recv.cc): all that
            # MariaDB 10.1 says.
            r"The log sequence numbers? (?:\d+ and )?\d+ in (?:ibdata files?|the system tablespace) do(?:es)? not match"
            r" the log sequence number (?P<lsn>\d+) in the (?:ib_logfiles|redo log files)",
            r"The log sequence number in ibdata files does not match\s*$",  # 5.5, in two lines
        ),
        stage=_RECOVERING, proof=_CRASH, handler=Start.must_recover),
    Row(Event.PROGRESSED, (rf"Log scan progressed past the checkpoint (?:lsn|LSN):? {_LSN}",),
        stage=_RECOVERING, once=True, proof=_CRASH, handler=Start.must_recover),
    Row(Event.NOT_SHUT_DOWN, ("Database was not shut ?down normally",),
        stage=_RECOVERING, once=True, proof=_CRASH, handler=Start.must_recover),
    Row(Event.CRASH_RECOVERY, (r"Starting crash recovery\.?\s*$",),  # with three dots it is the binary log's
        stage=_RECOVERING, once=True, proof=_CRASH, handler=Start.must_recover),
    Row(Event.FROM_CHECKPOINT, ((r"Starting crash recovery from checkpoint LSN=(?P<lsn>\d+)", _MARIADB),),
        stage=_RECOVERING, once=True, proof=_CRASH, handler=Start.must_recover),
    # --- the scan
    Row(Event.SCANNED, (rf"Doing recovery: scanned up to log sequence number {_LSN}",),
        stage=_RECOVERING, proof=_CRASH, handler=Start.scanned),
    Row(Event.PARSED, (
            (r"(?:Read|Parsed) redo log up to LSN=(?P<lsn>\d+)(?:; to recover: (?P<pages>\d+) pages)?", _MARIADB),
            (r"Multi-batch recovery needed at LSN (?P<multi>\d+)", _MARIADB),
            (r"To recover: \d+ pages from log", _MARIADB),  # to 10.5, every 15 s
        ),
        stage=_RECOVERING, proof=Proof.WITH_PAGES, handler=Start.scanned),
    Row(Event.END_OF_LOG, ((r"End of log at LSN=(?P<lsn>\d+)", _MARIADB),),  # also clean starts
        stage=_RECOVERING, handler=Start.scanned),
    # --- the apply batches
    Row(Event.BATCH, (
            "Starting an apply batch of log records to the database",
            (r"Applying a batch of (?P<pages>\d+) redo log records", _MYSQL),  # 8.0
        ),
        stage=_RECOVERING, proof=Proof.WITH_PAGES, handler=Start.batch),
    Row(Event.BATCH_END, ("Apply batch completed",),
        stage=_RECOVERING, handler=lambda start, line: start.redo.end_batch(line.moment, line.at)),
    Row(Event.TO_RECOVER, (
            (r"Starting (?P<which>final|a) batch to recover (?P<pages>\d+) pages", _MARIADB),  # to 10.10
            (r"To recover: (?:LSN (?P<upto>\d+)/\d+; )?(?P<pages>\d+) pages", _MARIADB),  # 10.6+
        ),
        stage=_RECOVERING, proof=Proof.WITH_PAGES, handler=Start.pages_to_recover),
    Row(Event.AFTER_APPLY, (
            r"(?:Last (?:MySQL )?binlog file|\d+ (?:out of \d+ )?rollback segment|Opened \d+ undo tablespaces"
            r"|Removed temporary tablespace|Creating shared tablespace for temporary|Setting file "
            r"|Rolling back trx with id|Waiting for purge to start|Waiting for the background threads to start)",
        ),
        keeps_first=True, handler=Start.after_apply),
    # --- the rollback
    Row(Event.TRANSACTIONS, (
            r"(?P<transactions>\d+) transaction\(s\) which must be rolled back or cleaned up"
            r"(?: in total (?P<rows>\d+)(?P<millions>M?) row operations to undo)?",
        ),
        proof=Proof.WITHOUT_START, handler=Start.open_transactions),
    Row(Event.ROWS, (r"in total (?P<rows>\d+)(?P<millions>M?) row operations to undo",),  # to 5.6, the line after
        proof=Proof.WITHOUT_START, handler=Start.open_transactions),
    Row(Event.UNDO_START, ("Starting in background the rollback of (?:uncommitted|recovered) transactions",),
        proof=Proof.WITHOUT_START, keeps_first=True),
    Row(Event.UNDONE, (
            r"(?:Rolling back of trx id (?:\d+ )?\w+ completed"  # to 5.5
            r"|Rollback of trx with id \w+ completed|Rolled back recovered transaction \w+)",
        ),
        proof=Proof.WITHOUT_START, handler=Start.rolled_back_one),
    Row(Event.UNDO_END, ("Rollback of non-prepared transactions completed",),
        proof=Proof.WITHOUT_START),
    # Written straight to the log, of an apply batch and of a rollback.
    Row(Event.PERCENTS, (r"Progress in percents?: *(?P<all>.*)",),
        proof=_CRASH, keeps_first=True, voice=_ALWAYS, handler=Start.percents),
    # Of an apply batch, 8.0 and later (log0recv.cc). `follow` leaves them out, as in the recoveries that it compares
    # with.
    Row(Event.PERCENT, ((r"\d{1,3}%\s*$", _MYSQL),)),
    Row(Event.UNDO_OPENED, ((r"Opened \d+ existing undo tablespaces", _MYSQL),)),  # 8.0, before it reads them
    # --- transactions that are prepared: nothing undoes them (trx0trx.cc, trx_resurrect, trx_recover_for_mysql)
    Row(Event.PREPARED, (
            r"Transaction (?P<prepared_trx>\d+) was in the XA prepared state",
            r"(?P<prepared>\d+) transactions in prepared state after recovery",  # MySQL, MariaDB to 10.5
            r"Found (?P<prepared>\d+) prepared transaction\(s\) in InnoDB",
        ), handler=Start.prepared_transactions),
    # --- the binary log, or the file tc.log, and the engines agree on what was prepared; after a crash only
    Row(Event.BINARY_LOG, (r"Recovering after a crash using (?P<coordinator>\S*)",),
        stage=_OPENED, proof=Proof.WITHOUT_NOTES, voice=_SERVER, handler=Start.has_coordinator),
    Row(Event.XA_RECOVERY, (r"Starting (?:XA |table )?crash recovery\.\.\.",),  # at every verbosity, 8.0+ (MY-010229)
        stage=_OPENED, proof=Proof.WITHOUT_NOTES, keeps_first=True, voice=_SERVER),
    Row(Event.XA_RECOVERED, (r"(?:XA c|C)rash (?:table )?recovery finished\.\s*$",),  # MY-010232
        stage=_OPENED, proof=Proof.WITHOUT_NOTES, voice=_SERVER),
    # --- tablespaces are validated (dict0dict.cc)
    Row(Event.VALIDATED, (
            (r"\d+ ?threads? have validated (?P<done>\d+) out of (?P<of>\d+) tablespaces so far", _MYSQL),
        ),
        handler=lambda start, line: start.files.validated(
            line.meaning.number("done") or 0, line.meaning.number("of") or 0, line.at
        )),
    Row(Event.ALL_VALIDATED, ((r"Scanned \d+ tablespaces\. Validated \d+", _MYSQL),),
        handler=lambda start, _: start.files.end()),
    # --- open for use
    Row(Event.OPENED, (
            rf"(?P<version>\d[\w.-]*) started; log sequence number {_LSN}(?P<transaction>; transaction id \d+)?",
            rf"(?:Percona XtraDB \([^)]*\) (?P<xtradb>\S+) )?[Ss]tarted; log sequence number {_LSN}",
            (r"log sequence number (?P<lsn>\d+)(?: \([^)]*\))?; transaction id \d+", _MARIADB),
        ),
        stage=_OPENED, once=True, handler=Start.innodb_opens),
    Row(Event.READY, (rf"{_PROGRAM}: ready for connections\.?(?:\s*Version: '(?P<version>[^']+)'(?P<vendor>.*))?",),
        stage=_READY, once=True, voice=_SERVER, handler=Start.names_server),
    Row(Event.VERSION, ("Version: '(?P<version>[^']+)'(?P<vendor>.*)",),
        voice=_SERVER, handler=Start.names_server_late),
    # --- complaints that can go on for ever
    Row(Event.NO_FREE_BLOCK, ("Difficult to find free blocks in the buffer pool",), voice=_ALWAYS
    ),
    # --- the end of a server
    Row(Event.SHUTDOWN, (r"(?:Starting shutdown\.\.\.|(?P<done>Shutdown completed; log sequence number))",),
        ends=End.SHUT_DOWN),
    Row(Event.STOPPED, (rf"{_PROGRAM}: Shutdown complete(?: \(|\.?\s*$)",),
        voice=_SERVER, ends=End.SHUT_DOWN, is_last=True),
    Row(Event.SIGNAL, (rf"{_PROGRAM}(?:mysqld|mariadbd)(?:\.exe)? got (?P<signal>signal \d+|exception \w+)",),
        voice=_SERVER, ends=f"{End.CRASHED} ({{signal}})"),
    Row(Event.ASSERTION, ("Assertion failure(?:: | in )",), ends=End.CRASHED, is_quoted=True),
    Row(Event.FATAL, ("Fatal error: ",),
        voice=_SERVER, ends="server gave up", is_quoted=True),
    Row(Event.ABORT, (
            "(?:Plugin 'InnoDB' init function returned error|Plugin initialization aborted)",
            r"Server exits\.",
            r"Aborting\s*$",
        ),
        ends="server gave up"),
    # Lines of the script around the server; to 5.0 without its own name.
    Row(Event.STARTED_BY_SAFE, (r"(?:mysqld_safe Starting \S+ daemon with databases from |mysqld started\s*$)",),
        ends=End.STARTED_AGAIN),
    Row(Event.ENDED_BY_SAFE, (r"(?:mysqld_safe \S+ from pid file \S+|mysqld) ended\s*$",),
        ends="server ended", is_last=True),
    Row(Event.RESTARTED_BY_SAFE, (r"(?:mysqld_safe \S+|mysqld) restarted\s*$",),
        ends=End.DIED, is_last=True),
    # --- starts that are to serve nobody
    Row(Event.WSREP_RECOVERED, (
            # In Percona XtraDB Cluster 8.0 and later, WSREP is a subsystem. A node that joins says "from storage"
            # too.
            r"(?:WSREP: |\[WSREP\] )Recovered position:? *(?P<position>[0-9a-f]{8}-[0-9a-f-]{27}:-?\d\S*)",
        ), kind=StartKind.POSITION, outcome="recovered position {position}"),
    Row(Event.INITIALISING, (rf"{_PROGRAM}\(\S+ (?P<version>\d[^\s)]*)\) initializing of server in progress",),
        stage=_STARTING, is_first=True, once=True, witness=1, voice=_SERVER, kind=StartKind.INITIALISE,
        handler=Start.server_begins),
    Row(Event.INITIALISED, (rf"{_PROGRAM}\(\S+ (?P<version>\d[^\s)]*)\) initializing of server has completed",),
        voice=_SERVER, kind=StartKind.INITIALISE, outcome="initialised"),
    Row(Event.BACKUP, ("(?:(?:xtra|maria)backup: )?Starting InnoDB instance for recovery",),
        stage=_STARTING, witness=1, kind=StartKind.BACKUP, handler=Start.server_begins),
    Row(Event.BACKUP_DONE, ("(?:(?:xtra|maria)backup: |innobackupex: )?completed OK!",),
        outcome="completed OK!"),
)  # fmt: skip


class _Text(NamedTuple):
    row: Row
    family: Family | None
    pattern: re.Pattern[str]
    unnamed: str


def _texts() -> list[_Text]:
    found = []
    for row in TABLE:
        for each in row.texts:
            text, family = (each, None) if isinstance(each, str) else each
            found.append(_Text(row, family, re.compile(text, re.ASCII), re.sub(r"\(\?P<\w+>", "(?:", text)))
    # The path of a program, with which lines of the server begin, takes longer to rule out than a word.
    return sorted(found, key=lambda each: each.row.voice is Voice.SERVER)


_TEXTS = _texts()
# All texts at once: most lines say nothing, and one look must be enough. The empty group behind each has its number;
# a group around it would have the text tried even where its first letter is another.
_ANY = re.compile("|".join(f"(?:{each.unnamed})()" for each in _TEXTS), re.ASCII)


@lru_cache(maxsize=256)
def meaning_of(text: str) -> Meaning | None:
    """Return the meaning of a message for a start; None if it has none."""
    found = _ANY.match(text)
    if found is None or not found.lastindex:
        return None
    number = found.lastindex - 1
    row, family, pattern, _ = _TEXTS[number]
    values = pattern.match(text) if pattern.groups else None
    return Meaning(row, number, family, values.groupdict() if values else {})


class Near(IntEnum):
    """Surroundings in which a needle is looked for: in the same piece of a log or the one before."""

    ANYTHING = 0
    INNODB = 1
    """Lines of InnoDB's or of a server's start."""
    BACKUP = 2
    """Lines of a backup program's."""


def _spaced(text: str) -> str:
    """Return a text as lines can have it: with more blanks than the record, and with what follows it on a web page."""
    return re.sub(r" (?![*+?{]|\\d\])", " +", text).replace(r"\s*$", r"\s*(?:<|$)")


_INNODB = "|".join(_spaced(each.unnamed) for each in _TEXTS if each.row.voice is not Voice.SERVER)
# Every line with a meaning holds one of these, whatever stands before it and also as JSON. InnoDB's own lines can be most
# of a log (its page cleaner complains every second), so that the pattern of these includes the text behind `InnoDB`.
NEEDLES: dict[Near, dict[str, str]] = {
    Near.ANYTHING: {
        "InnoDB": rf"InnoDB(?:(?![:\]] )|[:\]] +(?:{_INNODB}))",
        "connections": ": +ready +for +connections",
        " got ": " got (?:signal|exception) ",
        " as process ": " as process ",
        "MySQL Server - start": "MySQL Server - start",
        ": Shutdown complete": ": Shutdown complete",
    },
    Near.INNODB: {
        "Percona XtraDB": "Percona XtraDB",
        # A pattern that begins with its word is looked for as fast as that.
        "ecover": r"ecover(?:y(?:\.\.\.| +finished\.)|ing +after +a +crash +using )",
        "ERROR]": r"\[ERROR\]",
        "mysqld": r"mysqld(?:_safe \S+)? (?:restarted|ended|started|from pid file|daemon with databases)",
        "daemon with databases": "daemon with databases",
        "Recovered position": "Recovered position",
        "initializing of server has": "initializing of server has",
        "Version: '": "Version: '",
    },
    # What a backup program says itself, and InnoDB's lines in it: xtrabackup 8.0 to 8.0.26 writes neither stamp nor
    # `InnoDB:`.
    Near.BACKUP: {
        word: re.escape(word)
        for word in (
            "backup: ",
            "Xtrabackup]",
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
    },
}
"""Word that is quick to look for → the pattern around it that makes its line one that matters."""
_COMPILED = [(word, re.compile(each, re.ASCII)) for needles in NEEDLES.values() for word, each in needles.items()]


def matters(text: str) -> bool:
    """Return True if a line may have a meaning."""
    # A loop: nearly every line of a crash loop has the first word, and a generator would take longer than that.
    for word, pattern in _COMPILED:  # noqa: SIM110
        if word in text and pattern.search(text):
            return True
    return False
