"""What a workload is unless it says otherwise: it knows the socket, and loads nothing but what its program loads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from pymysql.connections import Connection

from redolab.workloads.contract import Follow
from redolab.workloads.data import TableCheck


class PlainWorkload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """The base of the kinds of workloads; for all of it see `Workload`."""

    about: str

    @property
    def network(self) -> bool:
        """See `Workload`."""
        return False

    @property
    def thinks(self) -> bool:
        """See `Workload`."""
        return False

    @property
    def bytes_per_warehouse(self) -> int | None:
        """See `Workload`."""
        return None

    @property
    def caveats(self) -> Sequence[str]:
        """See `Workload`."""
        return ()

    def schema(self, data: Any) -> Sequence[str]:
        """See `Workload`: most programs make their tables themselves."""
        return ()

    def finish(self, data: Any) -> Sequence[str]:
        """See `Workload`."""
        return ()

    def check_loaded(self, connection: Connection, data: Any, follow: Follow) -> list[TableCheck]:
        """See `Workload`: most programs end with an error if a row could not be loaded."""
        return []
