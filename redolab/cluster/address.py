"""What a person calls a cluster: the address of Dask's scheduler, as in `tls://db-control:8786`.

Dask runs whatever reaches its port, and the lab runs as root: everything but the machine's own loopback is TLS.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from redolab.errors import InvalidInput

PORT = 8786
"""Dask's own."""
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_ADDRESS = re.compile(
    r"(?P<protocol>tcp|tls)://(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>\d{1,5}))?/?"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """Where a scheduler listens."""

    host: str
    port: int
    encrypted: bool

    def __str__(self) -> str:
        return f"{self.protocol}://{self.host}:{self.port}"

    @property
    def protocol(self) -> str:
        """As Dask calls it."""
        return "tls" if self.encrypted else "tcp"


def parse_cluster(text: str) -> ClusterAddress:
    """The scheduler that is meant. Raises `InvalidInput` for what is none, and for a port that is open to a network."""
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or not 0 < int(match["port"] or PORT) < 65536:
        raise InvalidInput(
            f"'{text}' is no cluster", f"as in tls://HOST:{PORT}, or tcp://127.0.0.1:{PORT} on this machine"
        )
    address = ClusterAddress(match["host"], int(match["port"] or PORT), match["protocol"] == "tls")
    if not address.encrypted and not is_loopback(address.host):
        raise InvalidInput(
            f"{address} is open to whoever reaches it, and Dask runs what it is sent",
            f"use tls://{address.host}:{address.port} (docs/machines.md)",
        )
    return address


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host of that name."""
    return host in _LOOPBACK or host == "::1"


def check_worker_name(name: str) -> str:
    """The name of a machine of a cluster. Raises `InvalidInput` for one that cannot be a folder's."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"'{name}' is no name for a machine", "letters, digits, dots, - and _: --name db-spare")
    return name
