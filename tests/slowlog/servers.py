"""Servers with slow log settings that are no defaults, reached by their socket as a user's own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from redolab.servers.dialects import SOCKET, InstanceRequest, Purpose, Setting
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import Instance
from redolab.units import MIB
from tests.command import redolab

_POOL = 64 * MIB
CHOSEN = {"slow_query_log": "1", "long_query_time": "3.5", "min_examined_row_limit": "100", "log_output": "TABLE"}
"""As nobody's default is."""
_CHOSEN_ON_MARIADB = {"log_slow_disabled_statements": "admin,sp", "log_slow_filter": "full_scan"}
"""Where there are such variables: of two others the first has the bits."""
_NOT_SETTINGS = ("gtid", "timestamp", "rand_seed")


@dataclass(frozen=True, slots=True)
class UsersServer:
    """A running server and its socket."""

    instance: Instance
    socket: Path

    @property
    def arguments(self) -> list[str]:
        """Return the options of commands that name the server."""
        return ["--socket", str(self.socket), "--user", "root"]

    def variables(self) -> dict[str, str]:
        """Return the server's global variables, without those that change by themselves."""
        with self.instance.connections.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL VARIABLES")
            return {name: str(value) for name, value in cursor.fetchall() if not name.startswith(_NOT_SETTINGS)}

    def do(self, *statements: str) -> None:
        """Run the statements as root."""
        with self.instance.connections.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)


def slowlog(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `redolab slowlog`."""
    return redolab("slowlog", *arguments, seconds=60)


@contextmanager
def users_server(
    server: InstalledServer, folder: Path, settings: Mapping[str, str] = CHOSEN, *, made: bool = False
) -> Iterator[UsersServer]:
    """Run a server with these settings, in a new folder or, with `made`, in an existing one."""
    if settings and server.dialect.family == "mariadb":
        added = _CHOSEN_ON_MARIADB if server.dialect.version.major > 10 or server.dialect.version.minor > 2 else {}
        settings = {**settings, **added}
    overrides = tuple(Setting(name, value, "as its user has it") for name, value in settings.items())
    request = InstanceRequest(
        purpose=Purpose.PRODUCTION,
        log_size=max(16 * MIB, server.dialect.smallest_log),
        buffer_pool=_POOL,
        overrides=overrides,
    )
    if not made:
        initialise(server, folder, request)
    with Instance.start(server, folder, request, folder / "error.log") as instance:
        instance.wait_ready(120)
        yield UsersServer(instance, folder / SOCKET)
