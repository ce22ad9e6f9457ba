"""What A. Kuzminsky (2009) measured, point by point (data/published/query-logs.toml)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from redolab.project import PROJECT
from redolab.units import MIB

from .effects import LogEffect
from .logs import TO_NULL

_LOGS = {"over_1s": "over-1s", "all": "all"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRatio:
    """One published point: the throughput under a log as a share of that without."""

    connections: int
    log: str
    ratio: float
    fits_pool: bool
    """Whether its tables were in the buffer pool."""

    def is_like(self, effect: LogEffect) -> bool:
        """Whether one of ours is of the same log, as many clients, and tables in the pool or not alike."""
        key = effect.key
        fits = key.cell.pool >= key.conditions.warehouses * 100 * MIB
        return (self.log, self.connections, self.fits_pool) == (effect.log, key.cell.connections, fits)


def published_ratios() -> list[PublishedRatio]:
    """All points, of each case and number of connections."""
    known = tomllib.loads((PROJECT.published / "query-logs.toml").read_text())["impact"]["measured"]
    found = []
    for case in known:
        is_to_null = "/dev/null" in case["case"]
        for row in case["rows"]:
            for name, log in _LOGS.items():
                if name in row:
                    found.append(
                        PublishedRatio(
                            connections=row["connections"],
                            log=TO_NULL if is_to_null else log,
                            ratio=row[name] / row["none"],
                            fits_pool="I/O-bound" not in case["case"],
                        )
                    )
    return found
