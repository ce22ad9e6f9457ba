"""Plans of recoveries, with the lab's usual buffer pools."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

from redolab.crashes.kinds import crash_kind
from redolab.models.sizes import SMALLEST_POOL, default_pool
from redolab.records.crash import CrashImage, CrashSpec
from redolab.records.plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.records.recovery import STUCK_AFTER
from redolab.runs.plan import draw_plan
from redolab.storage.catalogue import storage_profile
from redolab.storage.profiles import HOME

R = TypeVar("R", bound=PlannedRecovery)


def plan_of_image(
    image: CrashImage,
    server: str,
    pools: Sequence[int],
    storages: Sequence[str],
    settings: Sequence[str] = (),
    *,
    repeat: int,
    seed: int,
    check_disks: bool,
    stuck_after: float = STUCK_AFTER,
    warm_for: float = 0.0,
    small: bool = False,
) -> CrashPlan:
    """The plan of more recoveries from a kept image; unless pools are given with one that holds its tables, or if `small` a small one."""
    usual = usual_pools(image.spec)
    profiles = {name: storage_profile(name) for name in storages or [HOME]}
    steps = [
        PlannedRecovery(storage=storage, pool=pool, settings=asked)
        for storage in profiles
        for pool in pools or (usual[-1 if small else 0],)
        for asked in settings or ("",)
    ]
    crash = PlannedCrash(server=server, spec=image.spec, image=image.name)
    conditions = CrashConditions(storages=profiles, check_disks=check_disks, stuck_after=stuck_after, warm_for=warm_for)
    return draw_plan([[(crash, steps)]], repeat=repeat, seed=seed, conditions=conditions)


def crash_blocks(crashes: Sequence[tuple[PlannedCrash, Sequence[R]]]) -> list[list[tuple[PlannedCrash, Sequence[R]]]]:
    """Return a block for each crash number, with one crash of every configuration; all crashes of one load are in one."""
    blocks: dict[int, list[tuple[PlannedCrash, Sequence[R]]]] = {}
    for crash, steps in crashes:
        number = 1 if shares_load(crash.spec) else crash.spec.number
        blocks.setdefault(number, []).append((crash, steps))
    return list(blocks.values())


def load_of(crash: PlannedCrash) -> Hashable:
    """Return the same key for crashes that one load makes: they follow one another in a plan."""
    return crash.spec.alike() if shares_load(crash.spec) else crash


def shares_load(spec: CrashSpec) -> bool:
    """Return whether one load makes all crashes of this spec, whatever their number.

    Struck at one age, one after the other, they would be one crash many times.
    """
    return spec.kill.moment is not None and crash_kind(spec.crash).goes_on


LOADS_POOL = "innodb_buffer_pool_load_at_startup=1"
"""What is set of a recovering server that is to load the buffer pool that was dumped before the crash."""
_SMALL_POOL_SHARE = 4


def usual_pools(spec: CrashSpec) -> tuple[int, ...]:
    """One that holds all pages of the tables, and a quarter of the log, which needs more batches."""
    small = max(SMALLEST_POOL, spec.instance.log_size // _SMALL_POOL_SHARE)
    return tuple(dict.fromkeys((default_pool(spec.dataset.size), small)))
