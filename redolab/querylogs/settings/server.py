"""A user's server whose global variables are read and set; a connection that drops is taken up again."""

from __future__ import annotations

import re
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR, ER

from redolab.errors import LabError
from redolab.querylogs.settings.note import ServerIdentity
from redolab.servers.address import Address, refused

PATIENCE = 60.0
"""Seconds for which a lost connection is tried again."""
_PAUSE = 0.5
_LOST = (CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST, CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR, 1053, 1927)
"""Besides the client's own: a server that is shutting down, and a connection that was killed."""
_NOT_ALLOWED = (ER.SPECIFIC_ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR, ER.ACCESS_DENIED_ERROR)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Traffic:
    """What clients have sent to a server since it started, by its own counters."""

    statements: int
    received: int
    """Bytes."""


class UserServer:
    """A server of the user's own. All that is changed in it goes through `set_global` and `flush`."""

    def __init__(self, address: Address, *, patience: float = PATIENCE) -> None:
        """Connect. Raises `LabError` with the reason if it cannot be had."""
        self.address = address
        self._patience = patience
        self._asked = 0
        self._say: Callable[[str], None] = lambda _: None
        try:
            self._connection: Connection | None = self._connected()
        except pymysql.MySQLError as error:
            raise refused(address, error) from error

    def telling(self, say: Callable[[str], None]) -> None:
        """Have it say when the connection is lost and when it is back."""
        self._say = say

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None and self._connection.open:
            self._connection.close()
        self._connection = None

    def variables(self) -> dict[str, str]:
        """All global variables, their names in lower case."""
        return {str(name).lower(): str(value) for name, value in self.rows("SHOW GLOBAL VARIABLES")}

    def identity(self, variables: Mapping[str, str]) -> ServerIdentity:
        """Which server this is, and which life of it."""
        named = variables.get("server_uuid")
        place = ":".join(variables.get(name, "") for name in ("hostname", "port", "datadir"))
        ((now, uptime),) = [
            (float(now), float(status[1]))
            for status in self.rows("SHOW GLOBAL STATUS LIKE 'Uptime'")
            for (now,) in self.rows("SELECT UNIX_TIMESTAMP()")
        ]
        return ServerIdentity(named or place, now - uptime)

    def traffic(self) -> Traffic:
        """What clients have sent so far; not these questions themselves."""
        named = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Bytes_received')"
        counted = {str(name).lower(): int(value) for name, value in self.rows(named)}
        self._asked += 1
        return Traffic(counted.get("questions", 0) - self._asked, counted.get("bytes_received", 0))

    def connections(self) -> list[int]:
        """The ids of the other connections that this account may see."""
        own = self.rows("SELECT CONNECTION_ID()")[0][0]
        system = {"system user", "event_scheduler", "Daemon"}
        return [int(row[0]) for row in self.rows("SHOW PROCESSLIST") if row[0] != own and row[1] not in system]

    def set_global(self, statement: str) -> None:
        """Carry out a `SET GLOBAL`. Raises `LabError` if the server refuses it."""
        self.carry_out(statement)

    def flush(self) -> None:
        """Have the slow query log closed and opened again, without a word in the binary log."""
        try:
            self._ask("FLUSH LOCAL SLOW LOGS")
        except pymysql.err.ProgrammingError as error:
            if error.args[0] != ER.PARSE_ERROR:
                raise self._refusal("FLUSH LOCAL SLOW LOGS", error) from error
            # MySQL before 5.5.3 knows only all logs at once.
            self.carry_out("FLUSH LOCAL LOGS")
        except pymysql.MySQLError as error:
            raise self._refusal("FLUSH LOCAL SLOW LOGS", error) from error

    def rows(self, query: str) -> Sequence[Sequence[Any]]:
        """What a query gives. Raises `LabError` if the server refuses it."""
        try:
            return self._ask(query)
        except pymysql.MySQLError as error:
            raise self._refusal(query, error) from error

    def carry_out(self, statement: str) -> None:
        """Carry out a statement. Raises `LabError` if the server refuses it."""
        self.rows(statement)

    def process_on_host(self) -> int | None:
        """The server's process id, where it runs on this machine and this account may see it."""
        sock = getattr(self._connection, "_sock", None)
        if sock is None:
            return None
        if sock.family == socket.AF_UNIX:
            pid, _, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            return int(pid) or None
        return _listening_on(sock)

    def _connected(self) -> Connection:
        """A connection whose own statements are in no log of slow ones."""
        connection = self.address.connect()
        with connection.cursor() as cursor, suppress(pymysql.MySQLError):
            cursor.execute("SET SESSION long_query_time = 31536000")
        return connection

    def _ask(self, query: str) -> Sequence[Sequence[Any]]:
        deadline = time.monotonic() + self._patience
        lost = False
        while True:
            try:
                if self._connection is None:
                    self._connection = self._connected()
                    if lost:
                        self._say("connected again")
                with self._connection.cursor() as cursor:
                    cursor.execute(query)
                    return cursor.fetchall()
            except (pymysql.err.OperationalError, pymysql.err.InterfaceError, OSError) as error:
                if not _is_lost(error):
                    raise
                self.close()
                if not lost:
                    self._say(f"the connection is lost; it is tried again for {self._patience:.0f} s")
                    lost = True
                if time.monotonic() > deadline:
                    raise LabError(
                        f"the connection to {self.address} is lost", "see whether the server runs"
                    ) from error
                time.sleep(_PAUSE)

    def _refusal(self, statement: str, error: pymysql.MySQLError) -> LabError:
        said = error.args[1] if len(error.args) > 1 else str(error)
        if error.args and error.args[0] in _NOT_ALLOWED:
            return LabError(
                f"{self.address} does not let this account do {statement} ({said})",
                "on a managed service as RDS no account may: change its parameter group there; else grant what is missing",
            )
        return LabError(f"{self.address} refused {statement} ({said})")


def _is_lost(error: Exception) -> bool:
    if isinstance(error, OSError | pymysql.err.InterfaceError):
        return True
    return bool(error.args) and error.args[0] in _LOST


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


def privileges(grants: Sequence[str]) -> frozenset[str]:
    """The global privileges in what `SHOW GRANTS` prints."""
    found: set[str] = set()
    for grant in grants:
        match = re.match(r"GRANT (.+?) ON \*\.\* TO", grant)
        if match:
            found |= {each.strip().upper() for each in match[1].split(",")}
    return frozenset(found)
