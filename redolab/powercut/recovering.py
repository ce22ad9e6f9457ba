"""Recovery of the crash states of a recorded load, several at once, and of their content."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pymysql
from pymysql.connections import Connection
from pymysql.constants import ER
from pymysql.cursors import Cursor

from redolab.crash.records.recovery import Outcome
from redolab.crash.recovery.checked import CheckedRecovery, CheckedTask, Checks, Prepared, recover_checked
from redolab.disks.loop import mounted
from redolab.disks.place import Place
from redolab.lab import Lab
from redolab.machine.processes import Command, run
from redolab.powercut.images import disk_image
from redolab.powercut.ledger import Found, Ledger
from redolab.powercut.recorded import CHECKS, INSTANCE, RecordedLoad, mount_options
from redolab.powercut.states import DiskState, History
from redolab.servers.instance import Instance
from redolab.workloads.data import DATABASE, LedgerTables, Rows, TableCheck
from redolab.workloads.ledger import ACCOUNTS, DEFINED, ENTRIES, INSERTED, LedgerWorkload, defined_rows

_CONNECT, _ANSWER = 10.0, 120.0
_XA_COMMIT = re.compile(r"XA COMMIT X'([0-9a-fA-F]+)'")
_LAST_LINES = 15
_MOST_EVENTS = 2**30
_SAID = 500
"""Characters kept of a log line, or of a file system checker's output."""
_STUCK_AFTER = 15.0
"""Seconds: small logs, and no healthy recovery was quiet for more than 6.1 s (docs/recovery.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTask(CheckedTask):
    """A recovery of a crash state that is to be checked."""

    state: DiskState
    stuck_after: float = _STUCK_AFTER
    checks_file_system: bool = False
    """True if the file system is checked, after its journal is replayed, before the server starts."""


@dataclass(frozen=True, slots=True)
class StateContent:
    """Content of a server recovered from a crash state; independent of the time of the cut."""

    outcome: Outcome
    found: Found | None
    """Content that the ledger concerns; None if the server was not ready or cannot be read."""
    failed: tuple[TableCheck, ...] = ()
    """Failed checks of properties that must hold whatever was lost."""
    said: tuple[str, ...] = ()
    """Last log lines of a server that was not ready."""

    @property
    def is_sound(self) -> bool:
        """Return True if the server came up and its content is consistent."""
        return self.found is not None and not self.failed


def recover_states(
    lab: Lab,
    recorded: RecordedLoad,
    history: History,
    workload: LedgerWorkload,
    tasks: Sequence[StateTask],
    jobs: int,
    done: Callable[[CheckedRecovery[StateTask, StateContent]], None],
) -> None:
    """Recover the states, `jobs` at once; `done` receives each when it is over. Raises `LabError`."""
    options = mount_options(recorded.file_system)
    damaged: dict[int, TableCheck] = {}

    @contextmanager
    def prepare(task: StateTask) -> Iterator[Prepared]:
        file = recorded.folder / f"state-{task.number}"
        at = recorded.folder / f"state-{task.number}-mounted"
        with disk_image(history, task.state, recorded.base, recorded.kept, file):
            if task.checks_file_system and (said := _damage(file, at, recorded.file_system)):
                damaged[task.number] = TableCheck(
                    what=f"{recorded.file_system} of the disk", expected="whole", found=said
                )
            with mounted(file, at, options, direct=False) as device:
                yield Prepared(at / INSTANCE, Place(name="state", folder=at, device=device))

    # A cut before any write reached the disk leaves nothing to recover.
    answering = {Outcome.READY, Outcome.NO_CRASH_RECOVERY}
    if not recorded.ledger.transactions:
        # Without tables, the server rightly refuses the lab's first write.
        answering.add(Outcome.REFUSED)

    def check(task: StateTask, instance: Instance, outcome: Outcome) -> StateContent:
        if outcome not in answering:
            return StateContent(outcome, None, said=_last_of(instance))
        content = _content(instance, workload, recorded.ledger)
        return replace(content, failed=(*content.failed, *((damaged[task.number],) if task.number in damaged else ())))

    checks = Checks(prepare, check, is_right=lambda content: content.is_sound)
    recover_checked(lab, tasks, checks, jobs, done)


def _damage(file: Path, at: Path, file_system: str) -> str:
    """Return the errors that the file system's checker finds after the journal is replayed; empty if there are none."""
    with mounted(file, at, mount_options(file_system), direct=False):
        pass
    done = run(Command([*CHECKS[file_system], str(file)]), check=False)
    return "" if done.status == 0 else (done.out + done.err).strip()[-_SAID:]


def _content(instance: Instance, workload: LedgerWorkload, ledger: Ledger) -> StateContent:
    try:
        with instance.connections.connect(_CONNECT, _ANSWER) as connection:
            if not ledger.transactions and not _has_tables(connection):
                # A first start, before which there was nothing that could be lost.
                return StateContent(Outcome.READY, Found({}, 0, 0))
            found = found_in(connection, workload.data(0))
            checks = workload.verify(connection, workload.data(0), 1, lambda *_: None)
    except pymysql.MySQLError as error:
        refused = TableCheck(what="the server answers", expected="yes", found=str(error))
        return StateContent(Outcome.REFUSED, None, (refused,), _last_of(instance))
    return StateContent(Outcome.READY, found, tuple(check for check in checks if not check.passed))


def _has_tables(connection: Connection) -> bool:
    with connection.cursor() as cursor:
        found = "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
        return bool(cursor.execute(found, (DATABASE, ENTRIES)))


def found_in(connection: Connection, data: LedgerTables) -> Found:
    """Return the content of a server, as far as the ledger concerns it."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT client, number, COUNT(*) FROM {DATABASE}.{ENTRIES} GROUP BY client, number")
        parts = {(int(client), int(number)): int(count) for client, number, count in cursor.fetchall()}
        cursor.execute(f"SELECT SUM(balance) FROM {DATABASE}.{ACCOUNTS}")
        row = cursor.fetchone()
        defined, unreadable = _defined(cursor)
    balance = int(row[0]) if row and row[0] is not None else 0
    return Found(
        rows_found=parts,
        balance=balance,
        balance_at_first=data.accounts * data.balance,
        logged=logged_in(connection),
        defined=defined,
        prepared=_prepared_in(connection),
        unreadable=unreadable,
    )


def _prepared_in(connection: Connection) -> frozenset[tuple[int, int]]:
    """Return the transactions of XA that a server has prepared, by the names that clients gave them."""
    with connection.cursor() as cursor:
        cursor.execute("XA RECOVER")
        # A name can have any bytes; these have digits and a comma.
        names = [name.decode() if isinstance(name, bytes) else str(name) for *_, name in cursor.fetchall()]
    return frozenset(map(_numbers, names))


def _numbers(name: str) -> tuple[int, int]:
    """Return client and number of a transaction of XA."""
    client, _, number = name.partition(",")
    return int(client), int(number)


def _defined(cursor: Cursor) -> tuple[Rows, str]:
    """Return the rows of the table that a client defines, or the error on reading them."""
    try:
        return defined_rows(cursor), ""
    except pymysql.MySQLError as error:
        return None, f"{DEFINED}: {error}"


def logged_in(connection: Connection) -> frozenset[tuple[int, int]] | None:
    """Return the transactions in the binary log, by the text of their statements; None if it is off."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@log_bin")
        row = cursor.fetchone()
        if row is None or not int(row[0]):
            return None
        cursor.execute("SHOW BINARY LOGS")
        found: set[tuple[int, int]] = set()
        for name, *_ in cursor.fetchall():
            found |= logged_whole(_events(cursor, str(name)))
    return frozenset(found)


def logged_whole(events: Sequence[Sequence[object]]) -> set[tuple[int, int]]:
    """Return the ledger's transactions whose commit is among the events of a file of the binary log."""
    found, open_ones = set[tuple[int, int]](), set[tuple[int, int]]()
    for _, _, kind, _, _, info in events:
        if match := INSERTED.search(str(info)):
            open_ones.add((int(match[1]), int(match[2])))
        elif kind == "Xid" or (kind == "Query" and str(info).startswith("COMMIT")):
            found |= open_ones
            open_ones = set()
        elif match := _XA_COMMIT.search(str(info)):
            found.add(_numbers(bytes.fromhex(match[1]).decode()))
        elif kind in ("Gtid", "Anonymous_Gtid"):
            open_ones = set()
    return found


def _events(cursor: Cursor, name: str) -> Sequence[Sequence[object]]:
    """Return the events of a file of the binary log; without the last one if a crash has cut it."""

    def first(count: int) -> Sequence[Sequence[object]] | None:
        try:
            cursor.execute(f"SHOW BINLOG EVENTS IN '{name}' LIMIT {count}")
            found: Sequence[Sequence[object]] = cursor.fetchall()
        except pymysql.MySQLError as error:
            if error.args[0] != ER.ERROR_WHEN_EXECUTING_COMMAND:
                raise
            return None
        return found

    if (whole := first(_MOST_EVENTS)) is not None:
        return whole
    there, torn = 0, _MOST_EVENTS
    while torn - there > 1:
        middle = (there + torn) // 2
        there, torn = (there, middle) if first(middle) is None else (middle, torn)
    return first(there) or ()


def _last_of(instance: Instance) -> tuple[str, ...]:
    # A page dump is one line of some ten thousand characters.
    return tuple(line.text[:_SAID] for line in instance.log[-_LAST_LINES:])
