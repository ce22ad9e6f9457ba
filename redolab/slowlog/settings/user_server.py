"""A user's server whose global variables are read and set. It reconnects, to the same server only."""

from __future__ import annotations

import re
import socket
import struct
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR, ER

from redolab.errors import LabError
from redolab.servers.address import Address, refused
from redolab.servers.dialects import is_server_process
from redolab.slowlog.settings.note import ServerIdentity

PATIENCE = 60.0
"""Seconds for which a lost connection is tried again."""
CLOCK_TOLERANCE = 5.0
"""Seconds by which two readings of a server's start may differ: both clocks have whole seconds, and may be set."""
PAUSE = 0.5
_LONGEST_PAUSE = 30.0
"""Seconds between attempts to reconnect: the first pause, which doubles up to the longest."""
_LOST = frozenset(
    {CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST, CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR, 2055, 0}
    # Errors of the server: shutting down, packets out of order or late, killed, idle for too long.
    | {1053, 1158, 1159, 1160, 1161, 1317, 1927, 3169, 4031}
)
_NOT_ALLOWED = (ER.SPECIFIC_ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR, ER.ACCESS_DENIED_ERROR)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SYSTEM = ("system user", "event_scheduler", "Daemon")
_ALL = "ALL PRIVILEGES"
_TO_SET = ("SUPER", "SYSTEM_VARIABLES_ADMIN")
"""Privileges of which either lets an account set global variables."""
_TO_FLUSH, _TO_SEE_CONNECTIONS = "RELOAD", "PROCESS"
_OWN_SESSION = (
    # Its own statements are in no log of slow ones, and a text means the same on every server.
    "SET SESSION long_query_time = 31536000",
    "SET SESSION slow_query_log = 0",
    "SET SESSION sql_mode = ''",
    "SET SESSION time_zone = '+00:00'",
)


class Refusal(LabError):
    """The server refuses a statement."""


class Restarted(LabError):
    """The server was restarted since it was first asked: values from SET GLOBAL are gone."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Statements and bytes that clients have sent since the server started, by the server's counters."""

    statements: int
    received: int
    """Bytes."""


class UserServer:
    """A server of the user's. After an interrupted statement, the next one uses a new connection."""

    def __init__(
        self, address: Address, *, patience: float = PATIENCE, say: Callable[[str], None] = lambda _: None
    ) -> None:
        """Connect; `say` receives that a connection is lost or back. Raises `LabError` if the server cannot be reached."""
        self.address = address
        self._patience = patience
        self._say = say
        self._own_questions = 0
        self._is_answer_read = True
        try:
            self._connection: Connection | None = self._connected()
            self.identity = _identity(self._connection)
        except pymysql.MySQLError as error:
            raise refused(address, error) from error

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None and self._connection.open:
            with suppress(pymysql.MySQLError, OSError):
                self._connection.close()
        self._connection = None

    @property
    def connection_id(self) -> int | None:
        """Return the connection's number on the server; None while there is no connection."""
        if self._connection is None:
            return None
        return int(self._connection.thread_id())  # type: ignore[no-untyped-call]

    def keep_alive(self) -> None:
        """Ping the server so that it keeps the connection. A lost connection is replaced when it is next needed."""
        with suppress(pymysql.MySQLError, OSError):
            if self._connection is not None:
                self._connection.ping(reconnect=False)

    def variables(self) -> dict[str, str]:
        """Return all global variables, by name in lower case."""
        return {str(name).lower(): str(value) for name, value in self.rows("SHOW GLOBAL VARIABLES")}

    def traffic(self) -> Traffic:
        """Return the clients' traffic so far, without the questions asked here."""
        named = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Bytes_received')"
        counted = {str(name).lower(): int(value) for name, value in self.rows(named)}
        self._own_questions += 1
        return Traffic(counted.get("questions", 0) - self._own_questions, counted.get("bytes_received", 0))

    def connections(self) -> list[int]:
        """Return the ids of other clients' connections that this account may see."""
        return [
            int(row[0])
            for row in self.rows("SHOW PROCESSLIST")
            if row[0] != self.connection_id and row[1] not in _SYSTEM
        ]

    def flush(self) -> None:
        """Close and reopen the slow query log, without an entry in the binary log. Raises `LabError`."""
        try:
            self._ask("FLUSH LOCAL SLOW LOGS")
        except pymysql.MySQLError as error:
            if error.args[0] != ER.PARSE_ERROR:
                raise self._refusal("FLUSH LOCAL SLOW LOGS", error) from error
            # MySQL before 5.5.3 can only flush all logs at once, the binary log too. Setting the name also reopens
            # the file.
            self.carry_out("SET GLOBAL slow_query_log_file = @@GLOBAL.slow_query_log_file")

    def rows(self, query: str) -> Sequence[Sequence[Any]]:
        """Return the rows of a query. Raises `LabError` if it is refused, `Restarted` if the server was restarted."""
        try:
            return self._ask(query)
        except pymysql.MySQLError as error:
            raise self._refusal(query, error) from error

    def carry_out(self, *statements: str) -> None:
        """Run these statements on one connection, all again if it is lost meanwhile. Raises `LabError` as `rows`."""
        try:
            self._ask(*statements)
        except pymysql.MySQLError as error:
            raise self._refusal(statements[-1], error) from error

    def kill(self, connection: int) -> None:
        """End a connection of the lab's own that may still have a statement under way; nothing if it is gone."""
        with suppress(pymysql.MySQLError):
            self._ask(f"KILL {connection}")

    def check_privileges(self, *, sets_variables: bool = True) -> None:
        """Raise `LabError` that names the account's missing privileges.

        MariaDB and managed services have rules of their own. The check therefore also tries SET GLOBAL with the present
        value of the variable.
        """
        grants = [str(row[0]) for row in self.rows("SHOW GRANTS")]
        lacking = missing_privileges(grants, sets_variables=sets_variables)
        if lacking:
            account = self.rows("SELECT CURRENT_USER()")[0][0]
            raise LabError(
                f"the account {account} lacks {', '.join(lacking)}",
                "grant it (of a role: SET DEFAULT ROLE), or use an account that has it; on a managed service as RDS no account "
                "may SET GLOBAL: change its parameter group there",
            )
        if sets_variables:
            self.carry_out("SET GLOBAL long_query_time = @@GLOBAL.long_query_time")

    def process_on_host(self) -> int | None:
        """Return the process id of the server at the address, if it runs here and this account may see it.

        None if the listener is no server: behind a proxy or a tunnel, the server is elsewhere.
        """
        sock = getattr(self._connection, "_sock", None)
        if sock is None:
            return None
        if sock.family == socket.AF_UNIX:
            pid, _, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            return _if_server(int(pid))
        return _if_server(_listening_on(sock))

    def _connected(self) -> Connection:
        connection = self.address.connect()
        with connection.cursor() as cursor:
            for statement in _OWN_SESSION:
                # Some versions lack some of these session variables.
                with suppress(pymysql.err.OperationalError, pymysql.err.InternalError, pymysql.err.ProgrammingError):
                    cursor.execute(statement)
        return connection

    def _ask(self, *statements: str) -> Sequence[Sequence[Any]]:
        """Run the statements and return the rows of the last one.

        Raises `pymysql.MySQLError` if the server refuses one, else as `rows`.
        """
        deadline = time.monotonic() + self._patience
        pause = PAUSE
        reason = ""
        if not self._is_answer_read:
            # An interrupt came in the middle of an answer, whose rest would be taken for the next answer.
            self.close()
        while True:
            try:
                if self._connection is None:
                    self._reconnect()
                    if reason:
                        self._say("connected again")
                assert self._connection is not None
                self._is_answer_read = False
                with self._connection.cursor() as cursor:
                    for statement in statements:
                        cursor.execute(statement)
                    rows = cursor.fetchall()
                self._is_answer_read = True
                return rows
            except (pymysql.MySQLError, OSError) as error:
                self._is_answer_read = True
                if self._connection is not None and not _is_lost(error):
                    raise
                # Each reason for a failed reconnection may pass: too many connections, a restart, a failover.
                self.close()
                if not reason:
                    self._say(f"the connection is lost; it is tried again for {self._patience:.0f} s")
                reason = str(error.args[-1] if error.args else error)
                if time.monotonic() > deadline:
                    problem = f"the connection to {self.address} is lost ({reason})"
                    raise LabError(problem, "see whether the server runs") from error
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _reconnect(self) -> None:
        """Reconnect to the same server. Raises `Restarted`, once, if it was restarted."""
        connection = self._connected()
        now = _identity(connection)
        if now.uuid != self.identity.uuid:
            connection.close()
            raise OSError(f"{self.address} is another server now, {now.uuid}")
        before, self.identity, self._connection = self.identity, now, connection
        if abs(now.started - before.started) > CLOCK_TOLERANCE:
            raise Restarted(f"{self.address} was restarted meanwhile", "everything set by SET GLOBAL is gone with that")

    def _refusal(self, statement: str, error: pymysql.MySQLError) -> Refusal:
        reason = error.args[1] if len(error.args) > 1 else str(error)
        if error.args and error.args[0] in _NOT_ALLOWED:
            return Refusal(
                f"{self.address} does not let this account do {statement} ({reason})",
                "on a managed service as RDS no account may: change its parameter group there; else grant what is missing",
            )
        return Refusal(f"{self.address} refused {statement} ({reason})")


def _identity(connection: Connection) -> ServerIdentity:
    """Return the identity of the server and of its current run."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'hostname', 'port', 'datadir', 'socket')"
        )
        names: Mapping[str, str] = {str(name).lower(): str(value) for name, value in cursor.fetchall()}
        place = ":".join(names.get(name, "") for name in ("hostname", "port", "socket", "datadir"))
        while True:
            began = time.monotonic()
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Uptime'")
            ((_, uptime),) = cursor.fetchall()
            cursor.execute("SELECT UNIX_TIMESTAMP()")
            ((now,),) = cursor.fetchall()
            if time.monotonic() - began < CLOCK_TOLERANCE / 2:
                return ServerIdentity(names.get("server_uuid") or place, float(now) - float(uptime))


def _is_lost(error: Exception) -> bool:
    if isinstance(error, OSError | pymysql.err.InterfaceError):
        return True
    return bool(error.args) and error.args[0] in _LOST


def _if_server(pid: int | None) -> int | None:
    import psutil

    if not pid:
        return None
    try:
        return pid if is_server_process(psutil.Process(pid).name()) else None
    except psutil.Error:
        return None


def _listening_on(sock: socket.socket) -> int | None:
    import psutil

    host, port = sock.getpeername()[:2]
    if host not in _LOOPBACK:
        return None
    try:
        listening = [each for each in psutil.net_connections("tcp") if each.status == psutil.CONN_LISTEN]
    except psutil.AccessDenied:
        return None
    return next((each.pid for each in listening if each.laddr and each.laddr.port == port), None)


def missing_privileges(grants: Iterable[str], *, sets_variables: bool = True) -> list[str]:
    """Return the global privileges that the account lacks to flush the log and, if asked, to set variables.

    `grants`: output of `SHOW GRANTS`.
    """
    global_grants = [match[1] for grant in grants if (match := re.match(r"GRANT (.+?) ON \*\.\* TO", grant))]
    held = {privilege.strip().upper() for grant in global_grants for privilege in grant.split(",")}
    if _ALL in held:
        return []
    if not sets_variables:
        return [] if _TO_FLUSH in held else [_TO_FLUSH]
    missing = [] if held.intersection(_TO_SET) else [" or ".join(_TO_SET)]
    return missing + [each for each in (_TO_FLUSH, _TO_SEE_CONNECTIONS) if each not in held]
