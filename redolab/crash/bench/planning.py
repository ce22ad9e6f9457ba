"""Plans of recoveries, with the lab's usual buffer pools."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from redolab.crash.bench.checks import check_memory
from redolab.crash.bench.crash_plan import PlannedCrash, PlannedRecovery
from redolab.crash.kinds import KINDS
from redolab.crash.records.crash import CrashSpec
from redolab.crash.wanted import WantedCrash, crash_spec
from redolab.lab import Lab
from redolab.runs.plan import Blocks
from redolab.servers.sizes import SMALLEST_POOL, default_pool
from redolab.workloads.catalogue import workload_catalogue

R = TypeVar("R", bound=PlannedRecovery)
_SMALL_POOL_SHARE = 4
"""Divisor of the log for the smaller of the usual pools."""


def planned_crashes(
    lab: Lab, wanted: Iterable[tuple[str, WantedCrash]], pools: Iterable[int] = ()
) -> list[PlannedCrash]:
    """Return crashes of servers for a plan, once memory and workloads allow them; recoveries use the `pools`.

    Raises `LabError`.
    """
    every = list(wanted)
    check_memory([each for _, each in every], pools)
    for workload in dict.fromkeys(each.workload for _, each in every):
        workload_catalogue().get(workload).require(lab)
    return [PlannedCrash(server=server, spec=crash_spec(lab.server(server), each)) for server, each in every]


def crash_blocks(crashes: Sequence[tuple[PlannedCrash, Sequence[R]]]) -> Blocks[PlannedCrash, R]:
    """Return a block for each crash number, with one crash of every configuration; a load's crashes share a block."""
    blocks: dict[int, list[tuple[PlannedCrash, Sequence[R]]]] = {}
    for crash, steps in crashes:
        number = 1 if shares_load(crash.spec) else crash.spec.number
        blocks.setdefault(number, []).append((crash, steps))
    return list(blocks.values())


def load_of(crash: PlannedCrash) -> Hashable:
    """Return the key of the load that makes a crash and others, which follow one another; None if it makes this one alone."""
    return crash.spec.comparable() if shares_load(crash.spec) else None


def shares_load(spec: CrashSpec) -> bool:
    """Return True if one load makes all crashes of this spec, whatever their number.

    At one checkpoint age, one after the other, they would be the same crash many times.
    """
    return spec.kill.moment is not None and KINDS[spec.crash].goes_on


def usual_pools(spec: CrashSpec) -> tuple[int, ...]:
    """Return two buffer pools: for all pages of the tables, and a quarter of the log, which needs more batches."""
    small = max(SMALLEST_POOL, spec.instance.log_size // _SMALL_POOL_SHARE)
    return tuple(dict.fromkeys((default_pool(spec.dataset.size), small)))
