"""The crashes of a calibration: few, and at the ends of what differs, so that a large log is not far beyond them.

A straight line is told best by its ends: log, tables and kind of redo are each small in half of the corner crashes and large in
the other half, no two of them together (a half fraction of 2^3; Box, Hunter and Hunter, Statistics for Experimenters, chapter 6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redolab.models.sizes import SMALLEST_DATASET, SMALLEST_POOL, default_dataset

LONG_RECORDS, SHORT_RECORDS = "bulk-update", "oltp_write_only"
_FEW_TABLES, _MANY_TABLES = 1 / 8, 2.0
"""In sizes of the log."""
_EARLY = 0.3
"""Share of the hard limit: an age at which hardly any load is crashed by the lab, and most of production is."""
_SMALL_POOL = 1 / 4
"""Of the log: several batches. A sixteenth takes twice the time and tells no more (benchmarks/calibration_design.py)."""


@dataclass(frozen=True, slots=True)
class EndCrash:
    """One crash; sizes in bytes."""

    log_size: int
    tables: int
    workload: str
    age_share: float | None = None
    """Of the hard limit; None: as far as a load keeps to."""

    def pools(self, most_memory: int) -> tuple[int, int]:
        """To recover it with: one of several batches, and the largest there is memory for."""
        return max(SMALLEST_POOL, int(self.log_size * _SMALL_POOL)), most_memory


def end_crashes(log_sizes: Sequence[int]) -> list[EndCrash]:
    """Six crashes with two sizes of log in bytes; of each size between them one as the lab's other experiments have it."""
    small, *between, large = sorted(log_sizes)
    corners = [
        EndCrash(small, _tables(small, _FEW_TABLES), LONG_RECORDS),
        EndCrash(small, _tables(small, _MANY_TABLES), SHORT_RECORDS),
        EndCrash(large, _tables(large, _FEW_TABLES), SHORT_RECORDS),
        EndCrash(large, _tables(large, _MANY_TABLES), LONG_RECORDS),
    ]
    early = EndCrash(large, default_dataset(large), LONG_RECORDS, _EARLY)
    usual = [EndCrash(size, default_dataset(size), LONG_RECORDS) for size in (*between, large)]
    return [*corners, early, *usual]


def _tables(log_size: int, logs: float) -> int:
    return max(SMALLEST_DATASET, int(log_size * logs))
