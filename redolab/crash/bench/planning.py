"""Plans of recoveries, with the lab's usual buffer pools."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

from redolab.crash.bench.crash_plan import PlannedCrash, PlannedRecovery
from redolab.crash.kinds import KINDS
from redolab.crash.records.crash import CrashSpec
from redolab.servers.sizes import SMALLEST_POOL, default_pool

R = TypeVar("R", bound=PlannedRecovery)
_SMALL_POOL_SHARE = 4
"""Divisor of the log for the smaller of the usual pools."""


def crash_blocks(crashes: Sequence[tuple[PlannedCrash, Sequence[R]]]) -> list[list[tuple[PlannedCrash, Sequence[R]]]]:
    """Return a block for each crash number, with one crash of every configuration; a load's crashes share a block."""
    blocks: dict[int, list[tuple[PlannedCrash, Sequence[R]]]] = {}
    for crash, steps in crashes:
        number = 1 if shares_load(crash.spec) else crash.spec.number
        blocks.setdefault(number, []).append((crash, steps))
    return list(blocks.values())


def load_of(crash: PlannedCrash) -> Hashable:
    """Return the key of a crash's load: crashes with the same key follow one another in a plan."""
    return crash.spec.alike() if shares_load(crash.spec) else crash


def shares_load(spec: CrashSpec) -> bool:
    """Return True if one load makes all crashes of this spec, whatever their number.

    At one checkpoint age, one after the other, they would be the same crash many times.
    """
    return spec.kill.moment is not None and KINDS[spec.crash].goes_on


def usual_pools(spec: CrashSpec) -> tuple[int, ...]:
    """Return two buffer pools: for all pages of the tables, and a quarter of the log, which needs more batches."""
    small = max(SMALLEST_POOL, spec.instance.log_size // _SMALL_POOL_SHARE)
    return tuple(dict.fromkeys((default_pool(spec.dataset.size), small)))
