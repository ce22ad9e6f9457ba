"""What can be chosen of a calibration."""

from __future__ import annotations

from dataclasses import dataclass

from redolab.errors import InvalidInput
from redolab.runs.factors import CommonFactors, factor, keep_factor, several, whole_number
from redolab.servers.known import server_catalogue, server_names
from redolab.storage import StorageProfile
from redolab.storage.known import storage_name, storage_profile
from redolab.units import format_size, parse_size


@dataclass(frozen=True, kw_only=True)
class Factors(CommonFactors):
    """What can be chosen; sizes in bytes."""

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
    # Small ones cost little, and two of them show how much one differs from the next.
    repeat: int = factor("How often each cell is measured.", whole_number(1, 1000), "1")
    keep: bool = keep_factor()

    def check(self) -> None:
        """Refuse what makes no sense, before anything is started. Raises `InvalidInput`."""
        for name in self.server:
            dialect = server_catalogue().get(name).dialect()
            for size in self.log_size:
                if not dialect.smallest_log <= size <= dialect.largest_log:
                    raise InvalidInput(
                        f"{name} cannot have a redo log of {format_size(size)}",
                        f"it takes {format_size(dialect.smallest_log)} to {format_size(dialect.largest_log)}",
                    )
        if len(self.log_size) < 2:
            raise InvalidInput("one log size does not tell how recovery grows", "give two or more: LOGSIZE=256M,1G")

    def profiles(self) -> dict[str, StorageProfile]:
        """The storages by name."""
        return {name: storage_profile(name) for name in self.storage}
