"""A made server that fails over, restarts or loses a connection at a chosen statement."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pymysql
from pymysql.constants import CR

from redolab.servers.address import Address

DEFAULTS = {
    "server_uuid": "one",
    "slow_query_log": "OFF",
    "slow_query_log_file": "/data/slow.log",
    "long_query_time": "10.000000",
    "log_output": "FILE",
}


@dataclass
class MadeServer:
    """Global variables and uptime of a server that was started once."""

    variables: dict[str, str] = field(default_factory=lambda: dict(DEFAULTS))
    uptime: float = 1000.0


@dataclass
class World:
    """An address and the server `behind` it; `happens`: event before the n-th SET GLOBAL."""

    behind: MadeServer = field(default_factory=MadeServer)
    happens: dict[int, Callable[[World], None]] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    """The SET GLOBALs, each with the server that it was carried out on."""

    ignored: set[str] = field(default_factory=set)
    """Variables that are not set although the statement is accepted, as by a proxy."""

    @property
    def address(self) -> Address:
        """Return the address."""
        return _MadeAddress(world=self)


@dataclass(frozen=True)
class _MadeAddress(Address):
    world: World = field(default_factory=World)

    def connect(self, answer: float = 10.0) -> Any:
        return _Connection(self.world)


class _Connection:
    open = True
    _sock = None

    def __init__(self, world: World) -> None:
        self.world, self.server = world, world.behind

    def cursor(self) -> _Cursor:
        return _Cursor(self)

    def close(self) -> None:
        self.open = False

    def ping(self, reconnect: bool) -> None:
        pass

    def thread_id(self) -> int:
        return id(self)


class _Cursor:
    def __init__(self, connection: _Connection) -> None:
        self.connection = connection
        self.rows: list[tuple[Any, ...]] = []

    def __enter__(self) -> _Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, statement: str) -> None:
        server, world = self.connection.server, self.connection.world
        if statement.startswith("SET GLOBAL"):
            event = world.happens.pop(len(world.done), None)
            if event is not None:
                event(world)
            if world.behind is not server:
                raise pymysql.err.OperationalError(CR.CR_SERVER_LOST, "lost")
            name, _, value = statement.removeprefix("SET GLOBAL ").partition(" = ")
            if name not in world.ignored:
                server.variables[name] = value.strip("'")
            world.done.append(f"{server.variables['server_uuid']}: {name} = {value}")
        elif statement.startswith("SHOW GLOBAL VARIABLES"):
            self.rows = list(server.variables.items())
        elif "Uptime" in statement:
            self.rows = [("Uptime", server.uptime)]
        elif "UNIX_TIMESTAMP" in statement:
            self.rows = [(time.time(),)]
        elif "GET_LOCK" in statement:
            self.rows = [(1,)]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.rows


def fails_over(world: World) -> None:
    """Put another server behind the address."""
    world.behind = MadeServer({**DEFAULTS, "server_uuid": "two"})


def restarts(world: World) -> None:
    """Restart the server with the values of its option file."""
    world.behind = MadeServer(dict(DEFAULTS), uptime=1.0)
