"""Common part of TPC-C, whichever program loads and runs it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pymysql.connections import Connection
from typing_extensions import override

from redolab.workloads.contract import Follow, Workload
from redolab.workloads.data import TableCheck
from redolab.workloads.tpcc.checking import check_loaded, check_recovered
from redolab.workloads.tpcc.tables import BYTES_PER_WAREHOUSE, TpccTables, warehouses_in


class TpccWorkload(Workload, frozen=True, kw_only=True):
    """The base of both programs; for all of it see `Workload`."""

    @property
    @override
    def network(self) -> bool:
        """Return True: both programs know TCP only."""
        return True

    @property
    @override
    def bytes_per_warehouse(self) -> int | None:
        return BYTES_PER_WAREHOUSE

    @property
    def loaded_by(self) -> str:
        """Return the program, with its version if it has one."""
        raise NotImplementedError

    @property
    def broken(self) -> Collection[str]:
        """Return the clauses of the consistency conditions that the program's own transactions violate."""
        return ()

    @override
    def data(self, size: int) -> TpccTables:
        return TpccTables(warehouses=warehouses_in(size), loaded_by=self.loaded_by)

    @override
    def finish(self, data: TpccTables) -> Sequence[str]:
        return data.analyzed()

    @override
    def check_loaded(self, connection: Connection, data: TpccTables, follow: Follow) -> list[TableCheck]:
        """Check all row counts and all consistency conditions."""
        return check_loaded(connection, data, follow)

    @override
    def verify(self, connection: Connection, data: TpccTables, turn: int, follow: Follow) -> list[TableCheck]:
        """Check the conditions that the program keeps; after the first turn only quick ones. Check a table's pages."""
        return check_recovered(connection, data, turn, follow, broken=self.broken)
