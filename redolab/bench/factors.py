"""Factors that experiments with crashes share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from redolab.crashes.kinds import KINDS
from redolab.errors import InvalidInput
from redolab.runs.factors import CommonFactors, factor, keep_factor, one_of
from redolab.servers.catalogue import server_catalogue
from redolab.storage.catalogue import storage_profile
from redolab.storage.profiles import StorageProfile
from redolab.units import MIB, format_size


def crash_factor() -> Any:
    """Declare `CRASH=` for an experiment whose loads end in one crash each."""
    return factor(
        "The kind of crash that ends a load: kill; disk-power, which takes what was not flushed (its disk is then modelled).",
        one_of("kind of crash", lambda: [name for name, kind in KINDS.items() if not kind.goes_on]),
        "kill",
    )


@dataclass(frozen=True, kw_only=True)
class StorageFactors(CommonFactors):
    """Factors of an experiment that measures on storages; a subclass says whether on one or several."""

    storage: str | tuple[str, ...]

    def profiles(self) -> dict[str, StorageProfile]:
        """Return the storage profiles by name."""
        names = (self.storage,) if isinstance(self.storage, str) else self.storage
        return {name: storage_profile(name) for name in names}


@dataclass(frozen=True, kw_only=True)
class CrashFactors(StorageFactors):
    """Factors of every experiment that crashes servers; a subclass names the servers."""

    server: tuple[str, ...]
    keep: bool = keep_factor()


def check_log_sizes(servers: Iterable[str], sizes: Iterable[int]) -> None:
    """Refuse redo logs, in bytes, that one of the servers cannot have. Raises `InvalidInput`."""
    wanted = list(sizes)
    for name in servers:
        dialect = server_catalogue().get(name).dialect()
        for size in wanted:
            if not dialect.smallest_log <= size <= dialect.largest_log:
                raise InvalidInput(
                    f"{name} cannot have a redo log of {format_size(size)}",
                    f"it takes {format_size(dialect.smallest_log)} to {dialect.largest_log // MIB}M",
                )
