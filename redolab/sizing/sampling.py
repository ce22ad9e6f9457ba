"""`redolab size --socket`: identity and redo rate of a running server."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from redolab.samples.live.server import LiveServer
from redolab.samples.live.watching import sample_live
from redolab.servers.address import Address
from redolab.servers.dialects import Version, family_of
from redolab.sizing.demand import Demand, demand_of_samples

_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class RunningServer:
    """Identity and settings of a running server."""

    name: str
    """Family and version, as in mariadb-10.11.19."""
    buffer_pool: int
    """Bytes."""
    read_threads: int | None
    """Value of innodb_read_io_threads; None if the server has no such variable."""
    log_size: int | None
    """Bytes."""


def server_at(address: Address) -> RunningServer:
    """Return the server at an address. Raises `LabError` if it cannot be asked."""
    server = LiveServer(address)
    server.close()
    name = f"{family_of(server.version)}-{Version.parse(server.version)}"
    return RunningServer(name, server.buffer_pool, server.read_threads, server.log_size)


def demand_of_server(console: Console, address: Address, seconds: float) -> Demand:
    """Return the redo of a server, sampled for `seconds` or until Ctrl-C.

    Raises `LabError`, or `InvalidInput` if there were too few samples.
    """
    return demand_of_samples(sample_live(console, address, _EVERY, seconds, None), str(address))
