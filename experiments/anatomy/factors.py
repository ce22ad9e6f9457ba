"""Factors of the anatomy experiment."""

from __future__ import annotations

from dataclasses import dataclass

from redolab.bench.factors import CrashFactors, crash_factor
from redolab.errors import InvalidInput
from redolab.runs.factors import factor, one_of, several, whole_number
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.storage.catalogue import storage_name
from redolab.units import MIB, format_size, parse_size

from .cases import FACTORS

SMALLEST_LOG = 128 * MIB
"""Smallest log: below it the start's time hides the effects."""


@dataclass(frozen=True, kw_only=True)
class Factors(CrashFactors):
    """Factors of the anatomy experiment; sizes in bytes."""

    server: tuple[str, ...] = factor("Servers, with commas; all for every one.", server_names, "mariadb-10.11,mysql-9")
    log_size: int = factor("Redo log of the baseline; the others follow from it.", parse_size, "512M")
    storage: str = factor("Storage profile, or a folder as in /mnt/fast.", storage_name, "native")
    vary: tuple[str, ...] = factor(
        "What to change, with commas; all for everything.",
        several(one_of("factor", lambda: ["all", *FACTORS])),
        "all",
    )
    crashes: int = factor(
        "Repeated crashes of the baseline and of every level: how much one differs from the next.",
        whole_number(2, 100),
        "3",
    )
    crash: str = crash_factor()

    def check(self) -> None:
        """Refuse factors that make no sense, before anything is started. Raises `InvalidInput`."""
        asked = format_size(self.log_size)
        if self.log_size < SMALLEST_LOG:
            raise InvalidInput(
                f"a redo log of {asked} is too small here", f"give it {format_size(SMALLEST_LOG)} or more"
            )
        for name in self.server:
            most = server_catalogue().get(name).dialect().largest_log // MIB // 2
            if self.log_size > most * MIB:
                raise InvalidInput(f"{name} cannot have twice a redo log of {asked}", f"give it {most}M or less")

    def varied(self) -> tuple[str, ...]:
        """Return the names of the factors that are changed."""
        return tuple(FACTORS) if "all" in self.vary else self.vary
