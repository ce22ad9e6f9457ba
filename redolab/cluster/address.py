"""What a person calls a cluster: the address of Dask's scheduler, as in `tls://db-control:8786`.

Dask runs whatever it is sent, and the lab runs as root: everything is TLS, also on loopback, which every account reaches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from redolab.errors import InvalidInput

PROTOCOL, PORT = "tls", 8786
"""As Dask calls it; Dask's own."""
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

    def __str__(self) -> str:
        return f"{PROTOCOL}://{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return self.host in _LOOPBACK


def parse_cluster(text: str) -> ClusterAddress:
    """The scheduler that is meant. Raises `InvalidInput` for what is none, and for a port without TLS."""
    match = _ADDRESS.fullmatch(text.strip())
    if match is None or not 0 < int(match["port"] or PORT) < 65536:
        raise InvalidInput(
            f"'{text}' is no cluster", f"as in tls://HOST:{PORT}, or tls://127.0.0.1:{PORT} on this machine"
        )
    address = ClusterAddress(match["host"], int(match["port"] or PORT))
    if match["protocol"] != PROTOCOL:
        who = "every account of this machine" if address.is_loopback else "whoever reaches it"
        how = "with a certificate that the lab makes itself" if address.is_loopback else "docs/machines.md"
        raise InvalidInput(f"{text.strip()} is open to {who}, and Dask runs what it is sent", f"use {address} ({how})")
    return address


def check_worker_name(name: str) -> str:
    """The name of a machine of a cluster. Raises `InvalidInput` for one that cannot be a folder's."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"'{name}' is no name for a machine", "letters, digits, dots, - and _: --name db-spare")
    return name
