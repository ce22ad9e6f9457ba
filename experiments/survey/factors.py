"""Factors of the survey experiment."""

from __future__ import annotations

from dataclasses import dataclass

from redolab.bench.factors import CrashFactors, check_log_sizes, crash_factor
from redolab.runs.factors import factor, keep_factor, on_or_off, one_of, several, whole_number
from redolab.servers.catalogue import server_names
from redolab.storage.catalogue import storage_name
from redolab.units import parse_size
from redolab.workloads.catalogue import workload_catalogue


@dataclass(frozen=True, kw_only=True)
class Factors(CrashFactors):
    """Factors of the survey experiment; sizes in bytes."""

    server: tuple[str, ...] = factor("Servers, with commas; all for every one.", server_names, "mariadb-11.8,mysql-9")
    storage: tuple[str, ...] = factor(
        "Storage profiles to recover on ('redolab storage list'), or folders as in /mnt/fast, with commas.",
        several(storage_name),
        "native",
    )
    log_size: tuple[int, ...] = factor("Redo log sizes, with commas.", several(parse_size), "256M,1G")
    workload: tuple[str, ...] = factor(
        "What fills the log, with commas.",
        several(one_of("workload", lambda: workload_catalogue().names())),
        "bulk-update,oltp_write_only",
    )
    crashes: int = factor(
        "Crashes drawn for each server, log size and workload; the more, the finer they cover what can be.",
        whole_number(1, 1000),
        "6",
    )
    pools: int = factor(
        "Buffer pools drawn for each crash and storage, and recovered with once each.", whole_number(1, 20), "2"
    )
    most_memory: int = factor("The largest buffer pool that is drawn.", parse_size, "16G")
    crash: str = crash_factor()
    check_disks: bool = factor("Have fio look at every storage before, once.", on_or_off, "on")
    keep: bool = keep_factor("off")
    repeat: int = factor("How often each recovery is measured.", whole_number(1, 100), "1")

    def check(self) -> None:
        """Refuse factors that make no sense, before anything is started. Raises `InvalidInput`."""
        check_log_sizes(self.server, self.log_size)
