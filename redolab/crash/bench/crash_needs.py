"""Disk and memory that crashes and recoveries of a plan take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from redolab.crash.bench.checks import SMALLER
from redolab.crash.bench.crash_plan import CrashPlan
from redolab.crash.bench.shared_loads import SharedLoads
from redolab.crash.kinds import KINDS
from redolab.crash.records.crash import CrashSpec
from redolab.disks.fio import FILES_SIZE
from redolab.disks.profiles import FolderStorage, ModelledDisk, TmpfsStorage
from redolab.machine import copies
from redolab.runs.needs import Needs
from redolab.servers import sizes
from redolab.units import format_size


def crash_needs(
    plan: CrashPlan, loads: SharedLoads, positions: Sequence[int], missing: Sequence[int], home: Path, disks: Path
) -> Needs:
    """Return what the steps at these positions take at most, while these groups are still to be made.

    `home`: folder of the lab's own storage. `disks`: folder of the lab disks.
    """
    steps = [plan.steps[position].step for position in positions]
    crashes = [plan.groups[group] for group in plan.groups_of(positions)]
    images = [_image_size(crash.spec) for crash in crashes]
    largest = format_size(max(crash.spec.instance.log_size for crash in crashes))
    disk = {home: _home_needs(plan, loads, max(images), missing)}
    why = {home: f"a redo log of {largest} with dataset, crash image and copies"}
    pool = max(step.pool for step in steps)
    memory = max([pool, *(plan.groups[group].spec.instance.buffer_pool for group in missing)])
    memory_for = ""
    fio = FILES_SIZE * plan.conditions.check_disks
    profiles = {step.storage: plan.conditions.storages[step.storage] for step in steps}
    for name, profile in profiles.items():
        if isinstance(profile, FolderStorage) and Path(profile.path).is_absolute():
            disk[Path(profile.path)] = sizes.recovered_copy(max(images)) + fio
            why[Path(profile.path)] = f"a copy of a crash image on {name}"
        elif isinstance(profile, TmpfsStorage):
            with_copy = sizes.recovered_copy(max(images)) + pool
            if with_copy > memory:
                memory = with_copy
                memory_for = f"{name} with a copy of the crash image beside a buffer pool ({format_size(memory)})"
    cut = any(KINDS[plan.groups[group].spec.crash].cuts_power for group in missing)
    if cut or any(isinstance(profile, ModelledDisk) for profile in profiles.values()):
        at_once = images if plan.mixes_groups else [max(images)]
        disk[disks] = sum(sizes.lab_disk(image) for image in at_once) + fio
        why[disks] = "the lab disks with copies of the crash images"
    return Needs(
        memory=memory, memory_for=memory_for, disk=disk, disk_for=why, remedy=SMALLER, remarks=_remarks(plan, home)
    )


def _remarks(plan: CrashPlan, home: Path) -> tuple[str, ...]:
    """Return a remark where copies take long."""
    profiles = plan.conditions.storages
    copied = [each for each in plan.steps if not isinstance(profiles[each.step.storage], ModelledDisk)]
    if not copied or copies.shares_blocks(home):
        return ()
    size = sum(_image_size(plan.groups[each.group].spec) for each in copied)
    which = (
        "1 recovery copies its crash image" if len(copied) == 1 else f"{len(copied)} recoveries copy their crash images"
    )
    return (
        f"{which} block by block, {format_size(size)} in all, as the file system under {home} shares none: "
        "REDOLAB_LAB=/folder on XFS or btrfs has copies made at once",
    )


def _home_needs(plan: CrashPlan, loads: SharedLoads, copy: int, missing: Sequence[int]) -> int:
    """Return bytes on the lab's own storage: datasets and images, all of them if they are kept, and one copy at a time."""
    missing = [group for group in plan.groups_of(range(len(plan.steps))) if group in missing]
    specs = [plan.groups[group].spec for group in missing]
    making = [
        sizes.crash_and_recovery(spec.dataset.size, spec.instance.log_size, images=1, binary_log=spec.binary_log_room)
        - _image_size(spec)
        for spec in specs
    ]
    if plan.keep:
        return copy + sum(making)
    # The images of one load are all made before the first of them is recovered.
    of_loads: dict[CrashSpec, int] = {}
    for group, spec, size in zip(missing, specs, making, strict=True):
        if len(loads.together_with(group)) > 1:
            of_loads[spec.comparable()] = of_loads.get(spec.comparable(), size) + _image_size(spec)
    return copy + max([*making, *of_loads.values()], default=0) + _most_datasets_beside(specs)


def _image_size(spec: CrashSpec) -> int:
    return sizes.data_directory(spec.dataset.size, spec.instance.log_size, binary_log=spec.binary_log_room)


def _most_datasets_beside(specs: Sequence[CrashSpec]) -> int:
    """Return the most bytes that datasets of other crashes take while one is made: each stays until its last crash."""
    sizes_beside = []
    for place, spec in enumerate(specs):
        before, later = ({each.dataset for each in part} for part in (specs[:place], specs[place:]))
        sizes_beside.append(sum(sizes.loaded(dataset.size) for dataset in (before & later) - {spec.dataset}))
    return max(sizes_beside, default=0)
