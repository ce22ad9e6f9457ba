"""Factors of loads that are crashed at random times."""

from __future__ import annotations

from dataclasses import dataclass

from redolab.bench.checks import check_pool
from redolab.bench.factors import CrashFactors, check_log_sizes
from redolab.crashes.kinds import KINDS
from redolab.errors import InvalidInput
from redolab.records.kill_rule import Uniform
from redolab.runs.factors import factor, keep_factor, on_or_off, one_of, several, whole_number
from redolab.servers.catalogue import server_names
from redolab.storage.catalogue import storage_name
from redolab.units import parse_size
from redolab.workloads.catalogue import workload_catalogue

_TPCC = "tpcc"


@dataclass(frozen=True, kw_only=True)
class Factors(CrashFactors):
    """Factors of the production experiment; sizes in bytes, times in seconds."""

    server: tuple[str, ...] = factor("Servers, with commas.", server_names, "mariadb-11.8,mysql-9")
    storage: tuple[str, ...] = factor(
        "Storage profiles to be under load and to recover on, or folders as in /mnt/fast, with commas.",
        several(storage_name),
        "native",
    )
    log_size: tuple[int, ...] = factor("Redo log sizes, with commas.", several(parse_size), "256M,1G")
    workload: tuple[str, ...] = factor(
        "The loads, with commas; each has tables of the size of TPC-C's.",
        several(one_of("workload", lambda: workload_catalogue().names())),
        "tpcc,oltp_write_only",
    )
    warehouses: int = factor("Warehouses of TPC-C.", whole_number(1, 30_000), "10")
    connections: int = factor("Clients, each with a connection.", whole_number(1, 1024), "8")
    pool: int | None = factor(
        "Buffer pool, under load and in recovery (default: one that holds the tables and what is added to them).",
        parse_size,
    )
    crashes: int = factor("Crashes of each load.", whole_number(1, 1000), "20")
    crash: str = factor(
        "The kind of crash: freeze, of which one load gives all; kill and disk-power end their load, so that each crash has its own.",
        one_of("kind of crash", lambda: list(KINDS)),
        "freeze",
    )
    moment: Uniform = factor("Crash at moments drawn between two, after the load began.", Uniform.parse, "5m-35m")
    trx_commit: int = factor("innodb_flush_log_at_trx_commit.", whole_number(0, 2), "1")
    binary_log: bool = factor("Whether the binary log is on.", on_or_off, "off")
    check_disks: bool = factor("Have fio look at every storage before, once.", on_or_off, "on")
    keep: bool = keep_factor("off")

    def check(self) -> None:
        """Refuse factors that make no sense, before anything is started. Raises `InvalidInput`."""
        check_log_sizes(self.server, self.log_size)
        if self.pool is not None:
            check_pool(self.pool)
        if self.moment.earliest == self.moment.latest and self.crashes > 1:
            raise InvalidInput(f"{self.crashes} crashes cannot all come at one moment", "MOMENT=5m-35m")

    def tables(self) -> int:
        """Return the bytes of each load's tables."""
        per_warehouse = workload_catalogue().get(_TPCC).bytes_per_warehouse
        assert per_warehouse is not None
        return self.warehouses * per_warehouse
