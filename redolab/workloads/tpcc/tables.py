"""The tables of TPC-C as the lab has them loaded, and how many rows are in each."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

BYTES_PER_WAREHOUSE = 100 * 2**20
"""Bytes on disk of a warehouse with all indexes, as go-tpc loads it (measured in docs/workloads.md)."""

NEW_ORDER = {"go-tpc": "new_order", "tpcc-mysql": "new_orders"}
"""Name of the table NEW-ORDER for each program; the programs agree on all other names."""


class TpccTables(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="tpcc"):
    """Nine tables, for `warehouses` warehouses."""

    warehouses: int
    loaded_by: str
    """Program that loads the tables, with its version if it has one: each has a schema of its own."""

    @property
    def new_order(self) -> str:
        """Return the name of the table NEW-ORDER."""
        return NEW_ORDER[self.loaded_by.partition(" ")[0]]

    def names(self) -> list[str]:
        """Return the names of all tables, the largest first."""
        return [
            *("order_line", "stock", "customer", "orders", "history"),
            *(self.new_order, "item", "district", "warehouse"),
        ]

    def rows(self) -> Mapping[str, int]:
        """Return the rows of each table after loading (clause 4.3.3.1), where they do not depend on chance."""
        return {
            **self.constant_rows(),
            "history": 30_000 * self.warehouses,
            "orders": 30_000 * self.warehouses,
            self.new_order: 9_000 * self.warehouses,
        }

    def constant_rows(self) -> Mapping[str, int]:
        """Return the rows of each table that no transaction inserts into."""
        return {
            "item": 100_000,
            "warehouse": self.warehouses,
            "district": 10 * self.warehouses,
            "customer": 30_000 * self.warehouses,
            "stock": 100_000 * self.warehouses,
        }
