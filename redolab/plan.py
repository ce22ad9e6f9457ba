"""What a recovery run is to do, as data: which crashes, and which recoveries of them in which order; apart from who carries it out."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from itertools import product

import msgspec

from redolab.crash import CrashSpec
from redolab.storage import StorageProfile


class PlannedCrash(msgspec.Struct, frozen=True, kw_only=True):
    """A crash image that is wanted, and the server that recovers it."""

    server: str
    spec: CrashSpec
    image: str | None = None
    """The one image that is meant; otherwise any made to this spec."""
    pools: tuple[int, ...]
    """Buffer pools to recover with, in bytes."""


class PlannedRecovery(msgspec.Struct, frozen=True, kw_only=True):
    """One recovery: of which crash (its place in the plan), on what, with a buffer pool of so many bytes, the how-manieth."""

    crash: int
    storage: str
    pool: int
    repeat: int


class RecoveryPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run's plan."""

    seed: int
    """Of the random order."""
    crashes: tuple[PlannedCrash, ...]
    storages: Mapping[str, StorageProfile]
    """The storages by name, as they were when the plan was made."""
    recoveries: tuple[PlannedRecovery, ...]
    """In the order in which they are to be done."""
    sample_every: float
    """Seconds between two samples while a log is filled."""
    new_crash: bool
    keep: bool
    check_disks: bool
    """Whether fio looks at every storage before."""


def draw_plan(
    crashes: Sequence[PlannedCrash],
    storages: Mapping[str, StorageProfile],
    repeat: int,
    seed: int,
    *,
    sample_every: float = 1.0,
    new_crash: bool = False,
    keep: bool = True,
    check_disks: bool = True,
) -> RecoveryPlan:
    """The plan of all combinations, its recoveries in an order drawn at random: what changes on the machine meanwhile meets all alike.

    Where nothing is to be kept, the crashes come one after the other, and the order is drawn within each: one image at a time.
    """
    draw = random.Random(seed)
    wanted = [
        [
            PlannedRecovery(crash=place, storage=storage, pool=pool, repeat=number)
            for storage, pool, number in product(storages, crash.pools, range(1, repeat + 1))
        ]
        for place, crash in enumerate(crashes)
    ]
    groups = [[each for crash in wanted for each in crash]] if keep else wanted
    for group in groups:
        draw.shuffle(group)
    return RecoveryPlan(
        seed=seed,
        crashes=tuple(crashes),
        storages=storages,
        recoveries=tuple(each for group in groups for each in group),
        sample_every=sample_every,
        new_crash=new_crash,
        keep=keep,
        check_disks=check_disks,
    )


def remaining(plan: RecoveryPlan, done: Collection[PlannedRecovery]) -> list[PlannedRecovery]:
    """What is still to be done, in the plan's order."""
    return [recovery for recovery in plan.recoveries if recovery not in done]


def crash_stretches(recoveries: Sequence[PlannedRecovery]) -> Mapping[int, tuple[int, int]]:
    """Crash → the places of its first and its last recovery: from when to when its image is needed."""
    stretches: dict[int, tuple[int, int]] = {}
    for place, recovery in enumerate(recoveries):
        first, _ = stretches.get(recovery.crash, (place, place))
        stretches[recovery.crash] = (first, place)
    return stretches
