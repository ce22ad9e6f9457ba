"""Database servers on this machine that are not the lab's: dropping the page cache and filling logs would hit them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psutil

_SERVERS = (
    "mysqld",
    "mariadbd",
    "postgres",
    "mongod",
    "oracle",
    "ora_pmon",
    "sqlservr",
    "redis-server",
    "clickhouse-serv",
)
"""Process names of database servers, cut to 15 characters as in the kernel. Oracle appends the instance's name."""
_LONGEST_NAME = 15


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A database server that runs."""

    name: str
    pid: int

    def __str__(self) -> str:
        return f"{self.name} (process {self.pid})"


def neighbours() -> Sequence[Neighbour]:
    """Return the running database servers. Call it before the lab has started one of its own."""
    found = [
        (process.info["name"], process.pid, process.info["ppid"]) for process in psutil.process_iter(["name", "ppid"])
    ]
    servers = [each for each in found if _is_server(each[0] or "")]
    pids = {pid for _, pid, _ in servers}
    # A server of many processes is one neighbour.
    return [Neighbour(name, pid) for name, pid, parent in servers if parent not in pids]


def _is_server(name: str) -> bool:
    # psutil has longer names from the command line.
    return name[:_LONGEST_NAME] in _SERVERS or name.startswith("ora_pmon_")
