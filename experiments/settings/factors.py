"""Factors of the settings experiment."""

from __future__ import annotations

from dataclasses import dataclass, replace

from redolab.bench.factors import CrashFactors, check_log_sizes, crash_factor
from redolab.crashes.wanted import WantedCrash
from redolab.errors import InvalidInput
from redolab.models.sizes import fill_pool
from redolab.records.kill_rule import KillRule
from redolab.runs.factors import factor, keep_factor, on_or_off, one_of, several, whole_number
from redolab.servers.catalogue import server_names
from redolab.servers.dialects import Purpose
from redolab.storage.catalogue import storage_name
from redolab.units import GIB, MIB, format_duration, parse_duration, parse_size
from redolab.workloads.catalogue import workload_catalogue

from .changes import LARGE_ROWS, SETTINGS, STORM, TPCC, Baselines

_SHORTEST = 10.0
_SMALL_TABLES = 64 * MIB
_LARGE_LOG = GIB
# With fewer clients it runs out of ports: each address has some 28,000, and a closed connection holds one for a minute.
_FEWEST_STORM = 16
_MOST_STORM = 1000


@dataclass(frozen=True, kw_only=True)
class Factors(CrashFactors):
    """Factors of the settings experiment; sizes in bytes, times in seconds."""

    server: tuple[str, ...] = factor("Servers, with commas.", server_names, "mysql-9,mariadb-11.8")
    vary: tuple[str, ...] = factor(
        "Settings to change, with commas; all for all.", several(one_of("setting", lambda: ["all", *SETTINGS])), "all"
    )
    log_size: int = factor("Redo log of the baseline.", parse_size, "128M")
    warehouses: int = factor("Warehouses of TPC-C.", whole_number(1, 30_000), "10")
    pool: int | None = factor("Buffer pool of the baseline (default: one that holds the tables).", parse_size)
    connections: int = factor("Clients of TPC-C and of the large rows.", whole_number(1, 1024), "8")
    storm: int = factor("Clients that connect anew for each statement.", whole_number(_FEWEST_STORM, _MOST_STORM), "64")
    seconds: float = factor("How long each load lasts; its last two thirds are measured.", parse_duration, "60s")
    storage: str = factor("Storage profile to be under load and to recover on.", storage_name, "native")
    repeat: int = factor("Blocks: in each, every level once, and the baselines.", whole_number(1, 100), "3")
    crash: str = crash_factor()
    check_disks: bool = factor("Have fio look at the storage before, once.", on_or_off, "on")
    keep: bool = keep_factor("off")

    def check(self) -> None:
        """Refuse factors that make no sense, before anything is started. Raises `InvalidInput`."""
        check_log_sizes(self.server, [self.log_size])
        if self.seconds < _SHORTEST:
            raise InvalidInput(
                f"a load of {format_duration(self.seconds)} says nothing", f"choose {_SHORTEST:g}s or more"
            )

    def varied(self) -> tuple[str, ...]:
        """Return the settings that are changed."""
        return tuple(SETTINGS) if "all" in self.vary else self.vary

    def baselines(self, number: int) -> Baselines:
        """Return the baselines of a block."""
        tables = self.warehouses * (workload_catalogue().get(TPCC).bytes_per_warehouse or 0)
        pool = self.pool or fill_pool(tables, self.log_size)
        tpcc = WantedCrash(
            log_size=self.log_size,
            dataset=tables,
            workload=TPCC,
            threads=self.connections,
            kill=KillRule(after=self.seconds),
            open_transaction_rows=0,
            purpose=Purpose.PRODUCTION,
            fill_pool=pool,
            number=number,
            storage=self.storage,
            crash=self.crash,
        )
        small = {"dataset": _SMALL_TABLES, "fill_pool": fill_pool(_SMALL_TABLES, self.log_size)}
        # Large rows fill a small log in seconds: clients would then wait for its end, and not for the log buffer.
        large_log = {"log_size": _LARGE_LOG, "fill_pool": fill_pool(_SMALL_TABLES, _LARGE_LOG)}
        return Baselines(
            tpcc=tpcc,
            large_rows=_replaced(tpcc, workload=LARGE_ROWS, dataset=_SMALL_TABLES, **large_log),
            storm=_replaced(tpcc, workload=STORM, threads=self.storm, **small),
        )


def _replaced(load: WantedCrash, **changes: object) -> WantedCrash:
    return replace(load, **changes)  # type: ignore[arg-type]
