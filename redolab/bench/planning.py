"""Plans of recoveries, with the lab's usual buffer pools."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.models.sizes import SMALLEST_POOL, default_pool
from redolab.records.crash import CrashImage, CrashSpec
from redolab.records.plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.records.recovery import STUCK_AFTER
from redolab.runs.plan import draw_plan
from redolab.storage.catalogue import storage_profile
from redolab.storage.profiles import HOME


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
    return draw_plan([(crash, steps)], repeat=repeat, seed=seed, conditions=conditions)


LOADS_POOL = "innodb_buffer_pool_load_at_startup=1"
"""What is set of a recovering server that is to load the buffer pool that was dumped before the crash."""
_SMALL_POOL_SHARE = 4


def usual_pools(spec: CrashSpec) -> tuple[int, ...]:
    """One that holds all pages of the tables, and a quarter of the log, which needs more batches."""
    small = max(SMALLEST_POOL, spec.instance.log_size // _SMALL_POOL_SHARE)
    return tuple(dict.fromkeys((default_pool(spec.dataset.size), small)))
