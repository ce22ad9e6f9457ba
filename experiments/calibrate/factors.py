"""Factors of a calibration."""

from __future__ import annotations

from dataclasses import dataclass

from redolab.bench.factors import CrashFactors, check_log_sizes
from redolab.errors import InvalidInput
from redolab.runs.factors import factor, several, whole_number
from redolab.servers.catalogue import server_names
from redolab.storage.catalogue import storage_name
from redolab.units import parse_size


@dataclass(frozen=True, kw_only=True)
class Factors(CrashFactors):
    """Factors of a calibration; sizes in bytes."""

    server: tuple[str, ...] = factor("Servers, with commas; all for every one.", server_names, "mariadb-10.11")
    storage: tuple[str, ...] = factor(
        "Storage profiles ('redolab storage list'), or folders as in /mnt/data, with commas.",
        several(storage_name),
        "native",
    )
    log_size: tuple[int, ...] = factor(
        "Redo log sizes, with commas: the larger the largest, the less is extrapolated.",
        several(parse_size),
        "256M,512M,1G",
    )
    # Small crashes cost little, and two of them show how much crashes differ.
    repeat: int = factor("How often each cell is measured.", whole_number(1, 1000), "1")

    def check(self) -> None:
        """Refuse factors that make no sense, before anything is started. Raises `InvalidInput`."""
        check_log_sizes(self.server, self.log_size)
        if len(self.log_size) < 2:
            raise InvalidInput("one log size does not tell how recovery grows", "give two or more: LOGSIZE=256M,1G")
