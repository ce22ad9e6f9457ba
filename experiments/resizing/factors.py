"""What can be chosen of the resizing experiment."""

from __future__ import annotations

from dataclasses import dataclass

from redolab.bench.checks import check_load, check_pool
from redolab.bench.factors import StorageFactors, check_log_sizes
from redolab.errors import InvalidInput
from redolab.models.sizes import fill_pool
from redolab.records.turns import ResizingCell
from redolab.runs.factors import factor, one_of, several, whole_number
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.storage.catalogue import storage_name
from redolab.storage.profiles import TmpfsStorage
from redolab.units import MIB, format_duration, format_size, parse_duration, parse_size
from redolab.workloads.catalogue import workload_catalogue

_SHORTEST = 5.0
_COMPARED = 2


@dataclass(frozen=True, kw_only=True)
class Factors(StorageFactors):
    """What can be chosen; sizes in bytes, times in seconds."""

    server: tuple[str, ...] = factor(
        "Servers that resize their redo log while they run, with commas.", server_names, "mysql-9,mariadb-11.8"
    )
    storage: tuple[str, ...] = factor(
        "Storage profiles, or folders as in /mnt/fast, with commas.", several(storage_name), "native"
    )
    log_size: tuple[int, ...] = factor(
        "The two redo log sizes to compare, with a comma.", several(parse_size), "256M,4G"
    )
    workload: str = factor("The load.", one_of("workload", lambda: workload_catalogue().names()), "tpcc")
    dataset: int | None = factor("Size of the tables (default: a tenth more than the larger log).", parse_size)
    warehouses: int | None = factor("Warehouses of TPC-C, instead of DATASET.", whole_number(1, 30_000))
    connections: int = factor("Clients, each with a connection.", whole_number(1, 1024), "8")
    pool: int | None = factor("Buffer pool (default: one that holds the tables and what is added to them).", parse_size)
    trx_commit: int = factor("innodb_flush_log_at_trx_commit.", whole_number(0, 2), "1")
    seconds: float = factor("How long each turn is measured.", parse_duration, "90s")
    settling: float = factor("How long clients go on before it, the log having its size.", parse_duration, "30s")
    warm_up: float = factor("How long they run after the start, to fill the pool.", parse_duration, "3m")
    repeat: int = factor("Blocks of four turns: one size, twice the other, the first again.", whole_number(1, 100), "5")

    def check(self) -> None:
        """Refuse what makes no sense, before anything is started. Raises `InvalidInput`."""
        if len(set(self.log_size)) != _COMPARED:
            raise InvalidInput(f"{len(set(self.log_size))} sizes cannot take turns", "give LOGSIZE two, as in 256M,4G")
        check_log_sizes(self.server, self.log_size)
        if odd := [size for size in self.log_size if size % MIB]:
            raise InvalidInput(
                f"a running server rounds a redo log of {format_size(odd[0])}", "give LOGSIZE whole megabytes"
            )
        for name in self.server:
            if server_catalogue().get(name).dialect().resizing(max(self.log_size)).statement is None:
                raise InvalidInput(
                    f"{name} changes the size of its redo log only at a start",
                    "choose MySQL 8.0.30, MariaDB 10.9 or later",
                )
        if self.pool is not None:
            check_pool(self.pool)
        check_load(self.workload, warehouses=self.warehouses, dataset=self.dataset, think_time=False)
        if self.seconds < _SHORTEST:
            raise InvalidInput(
                f"a turn of {format_duration(self.seconds)} says nothing", f"choose {_SHORTEST:g}s or more"
            )
        for name, profile in self.profiles().items():
            if isinstance(profile, TmpfsStorage):
                raise InvalidInput(f"a load of an hour does not fit into memory ({name})", "choose a disk")

    def tables(self) -> int:
        """Bytes of the tables."""
        per_warehouse = workload_catalogue().get(self.workload).bytes_per_warehouse
        if self.warehouses is not None and per_warehouse is not None:
            return self.warehouses * per_warehouse
        return self.dataset or max(self.log_size) * 11 // 10

    def cells(self) -> list[ResizingCell]:
        """Servers and storages, all with all."""
        tables = self.tables()
        return [
            ResizingCell(
                server=server,
                storage=storage,
                workload=self.workload,
                connections=self.connections,
                tables=tables,
                pool=self.pool or fill_pool(tables, max(self.log_size)),
                trx_commit=self.trx_commit,
                small=min(self.log_size),
                large=max(self.log_size),
            )
            for server in self.server
            for storage in self.storage
        ]
