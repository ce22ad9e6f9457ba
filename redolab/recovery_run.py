"""Carrying out a recovery plan into a run: the part that the experiment, `--resume` and `redolab recover` share."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from redolab.crash import CrashImage, ImageStore, make_image
from redolab.dataset import find_dataset, remove_dataset
from redolab.doctor import disk_needed
from redolab.errors import InvalidInput, LabError
from redolab.estimate import Estimate, Experience
from redolab.hosts import Host
from redolab.lab import HOME, Lab, open_lab, server_catalogue, storage_profile, workload_catalogue
from redolab.machine import read_machine
from redolab.plan import PlannedCrash, PlannedRecovery, RecoveryPlan, crash_stretches, draw_plan, remaining
from redolab.progress import Progress
from redolab.recovery import RecoveryTrial, check_format, recover
from redolab.report.recovery_report import report
from redolab.reporting import reported
from redolab.results import Run, RunStore, lab_commit
from redolab.storage.attaching import Storages, check_possible, check_storage_room
from redolab.storage.figures import figures_off
from redolab.units import GIB, format_duration, format_size

_LEFT_FOR_THE_SYSTEM = 1 * GIB


def carry_out(lab: Lab, run: Run, plan: RecoveryPlan) -> None:
    """Make what images are missing, and do what is still to be done of the plan, into the run's folder. Raises `LabError`."""
    images = ImageStore(lab.host, lab.home)
    done = _done(run, plan)
    todo = remaining(plan, done)
    needed = crash_stretches(todo)
    clock = _Clock(plan, todo, _experience())
    with Storages(lab, plan.storages) as storages, _kept_if_measured(lab, run, images, plan):
        if plan.check_disks:
            _check_disks(lab, run, storages, plan)
        crashes: dict[int, CrashImage] = {}
        if plan.keep:
            for crash in needed:
                crashes[crash] = _image(lab, run, images, plan, crash)
        for place, planned in enumerate(todo):
            if planned.crash not in crashes:
                crashes[planned.crash] = _image(lab, run, images, plan, planned.crash)
            trial = _recovery(lab, run, images, storages, plan, planned, crashes[planned.crash], clock.words(place))
            run.add_trial(trial)
            clock.learn(trial)
            if place == needed[planned.crash][1]:
                storages.release(crashes[planned.crash].name)
                if _is_to_go(run, plan, crashes[planned.crash]):
                    images.remove(crashes[planned.crash].name)


def planned_in_words(plan: RecoveryPlan, missing: Sequence[int]) -> str:
    """How much a plan is, and how long it will take by what earlier runs took; `missing`: the crashes to be made first."""
    experience, fills = _experience(), len(missing)
    known = sum(experience.fill(plan, crash) is not None for crash in missing)
    what = f"{len(plan.recoveries)} recoveries on {', '.join(plan.storages)}, {fills} crash{'es' * (fills != 1)} to make first"
    untold = f", and {fills - known} fills of which no earlier run tells" if known < fills else ""
    return f"{what}: {_how_long(experience.estimate(plan, plan.recoveries, missing))}{untold} (seed {plan.seed})"


def missing_crashes(images: ImageStore, plan: RecoveryPlan) -> list[int]:
    """The places of the crashes for which there is no image yet."""
    return [
        place
        for place, crash in enumerate(plan.crashes)
        if crash.image is None and (plan.new_crash or images.find(crash.spec) is None)
    ]


def check_kept(lab: Lab, images: ImageStore, image: CrashImage) -> None:
    """Raises `LabError` if a crash image of an earlier run is no longer as the kill left it."""
    with lab.progress.stage(f"checking that {image.name} is as the kill left it", "hash"):
        images.check_unchanged(image)


def recover_image(
    name: str,
    server_name: str | None,
    pools: Sequence[int],
    storages: Sequence[str],
    repeat: int,
    seed: int,
    progress: Progress,
    *,
    check_disks: bool = True,
) -> None:
    """A run of more recoveries from a kept crash image, by its own server and with its own buffer pool unless others are given.

    Raises `LabError`.
    """
    store = RunStore()
    with open_lab(progress, store.clear_unfinished) as lab:
        images = ImageStore(lab.host, lab.home)
        image = images.get(name)
        recovering = server_name or image.spec.dataset.server
        check_format(image, recovering, server_catalogue().get(recovering).dialect())
        sizes = tuple(pools) or (image.spec.instance.buffer_pool,)
        crash = PlannedCrash(server=recovering, spec=image.spec, image=name, pools=sizes)
        profiles = {each: storage_profile(each) for each in storages or [HOME]}
        plan = draw_plan([crash], profiles, repeat, seed, check_disks=check_disks)
        check_plan(lab, plan)
        lab.server(recovering)
        options = {
            "image": name,
            "server": recovering,
            "storage": ",".join(plan.storages),
            "pool": ",".join(str(size) for size in sizes),
            "repeat": str(repeat),
            "seed": str(seed),
        }
        start_run(lab, store, options, plan)


def start_run(lab: Lab, store: RunStore, options: Mapping[str, str], plan: RecoveryPlan) -> None:
    """A new run that carries out a plan, and its table. Raises `LabError`."""
    machine, tools = read_machine(lab.host, lab.home), lab.tools.versions()
    run = store.create("recovery", options, machine, lab_commit(lab.host), tools)
    run.write_plan(plan)
    with store.running(run, lab.progress.seconds), reported(lab, run, report):
        carry_out(lab, run, plan)


def resume_run(name: str, progress: Progress) -> None:
    """Let a recovery run that was stopped go on where it was. Raises `LabError`."""
    store = RunStore()
    with open_lab(progress, store.clear_unfinished) as lab:
        run = store.get(name)
        plan = run.plan()
        check_plan(lab, plan)
        store.reopen(run)
        with store.running(run, lab.progress.seconds), reported(lab, run, report):
            todo = remaining(plan, _done(run, plan))
            progress.note(
                f"the run {run.name} goes on: {len(plan.recoveries) - len(todo)} of {len(plan.recoveries)} recoveries are done"
            )
            carry_out(lab, run, plan)


def check_plan(lab: Lab, plan: RecoveryPlan) -> None:
    """Refuse a plan whose storages, pools or copies of images this host cannot have. Raises `InvalidInput` or `DiskFull`."""
    pools = [recovery.pool for recovery in plan.recoveries]
    check_possible(lab.host, plan.storages)
    check_memory(lab.host, lab.home, pools)
    check_storage_room(lab, plan.storages, staged_sizes(plan), max(pools), check_disks=plan.check_disks)


def staged_sizes(plan: RecoveryPlan) -> list[int]:
    """Bytes, about, of each image that has a copy on a storage at the same time as the others."""
    sizes = [disk_needed(crash.spec.instance.log_size, crash.spec.dataset.size, 0) for crash in plan.crashes]
    return sizes if plan.keep else [max(sizes)]


def check_memory(host: Host, folder: Path, pools: Sequence[int]) -> None:
    """Refuse buffer pools for which the host has no memory. Raises `InvalidInput`."""
    memory = read_machine(host, folder).memory
    largest = max(pools)
    if largest + _LEFT_FOR_THE_SYSTEM > memory:
        raise InvalidInput(
            f"a buffer pool of {format_size(largest)} does not fit into this machine's {format_size(memory)} of memory",
            "choose a smaller POOL, DATASET or LOGSIZE",
        )


class _Clock:
    """How far a run is, and how long it will still take."""

    def __init__(self, plan: RecoveryPlan, todo: Sequence[PlannedRecovery], experience: Experience) -> None:
        self._plan = plan
        self._todo = todo
        self._experience = experience

    def words(self, place: int) -> str:
        """As in `17 of 36, about 12 min left`."""
        estimate = self._experience.estimate(self._plan, self._todo[place:], ())
        left = "" if estimate is None else f", {_how_long(estimate)} left"
        return f"{place + 1} of {len(self._todo)}{left}"

    def learn(self, trial: RecoveryTrial) -> None:
        """Take what was just measured into account."""
        self._experience.learn(trial)


def _how_long(estimate: Estimate | None) -> str:
    if estimate is None:
        return "no earlier run tells how long that takes"
    about = f"about {format_duration(estimate.seconds)}"
    if not estimate.unknown:
        return about
    return f"{about} ({estimate.unknown} of {estimate.recoveries} on storages of which no earlier run tells)"


def _experience() -> Experience:
    trials: list[RecoveryTrial] = []
    crashes: list[CrashImage] = []
    for run in RunStore().all():
        try:
            if run.record().experiment == "recovery":
                trials += run.trials(RecoveryTrial)
                crashes += run.crashes()
        except LabError:
            # Left by another version of the lab.
            continue
    return Experience(trials, crashes)


def _done(run: Run, plan: RecoveryPlan) -> set[PlannedRecovery]:
    """The planned recoveries that the run has measured."""
    by_name = {image.name: _crash_of(plan, image) for image in run.crashes()}
    return {
        PlannedRecovery(crash=crash, storage=trial.storage, pool=trial.buffer_pool, repeat=trial.repeat)
        for trial in run.trials(RecoveryTrial)
        if (crash := by_name.get(trial.image)) is not None
    }


def _crash_of(plan: RecoveryPlan, image: CrashImage) -> int | None:
    """Which of the plan's crashes an image is."""
    for place, crash in enumerate(plan.crashes):
        if crash.image == image.name or (crash.image is None and crash.spec == image.spec):
            return place
    return None


@contextmanager
def _kept_if_measured(lab: Lab, run: Run, images: ImageStore, plan: RecoveryPlan) -> Iterator[None]:
    """While in it: a run that is broken off keeps its images, to be resumed, if it has measured something."""
    try:
        yield
    except BaseException:
        for image in images.all():
            if not _is_to_go(run, plan, image):
                continue
            if run.trial_count():
                lab.progress.note(f"{image.name} stays for '--resume {run.name}'; 'redolab rm {run.name}' removes both")
            else:
                images.remove(image.name)
        raise


def _is_to_go(run: Run, plan: RecoveryPlan, image: CrashImage) -> bool:
    """Whether an image is the run's own, which is to keep none."""
    return not plan.keep and image.made >= run.record().began


def _image(lab: Lab, run: Run, images: ImageStore, plan: RecoveryPlan, crash: int) -> CrashImage:
    """The image of a planned crash: that of this run, one kept of an earlier, or a new one."""
    planned = plan.crashes[crash]
    used = _used(run, images, plan, crash)
    name = planned.image or (used.name if used is not None else None)
    found = images.get(name) if name else None if plan.new_crash else images.find(planned.spec)
    if found is not None:
        lab.progress.note(f"crash image {found.name}: made to this very plan earlier")
        check_kept(lab, images, found)
        run.add_crash(images, found)
        return found
    had_dataset = find_dataset(lab, lab.home, planned.spec.dataset) is not None
    server, workload = lab.server(planned.server), workload_catalogue().get(planned.spec.workload)
    try:
        made = make_image(lab, lab.home, server, workload, planned.spec, plan.sample_every, run.keep_failed)
    finally:
        if not plan.keep and not had_dataset:
            remove_dataset(lab, lab.home, planned.spec.dataset)
    run.add_crash(images, made)
    return made


def _used(run: Run, images: ImageStore, plan: RecoveryPlan, crash: int) -> CrashImage | None:
    """The image of a planned crash on which this run has measured; another could not take its place."""
    there = set(images.names())
    measured = {trial.image for trial in run.trials(RecoveryTrial)}
    for image in run.crashes():
        if _crash_of(plan, image) != crash:
            continue
        if image.name in there:
            return image
        if image.name in measured:
            raise LabError(
                f"the crash image {image.name}, on which this run has measured, was removed", "start a new run"
            )
    return None


def _recovery(
    lab: Lab,
    run: Run,
    images: ImageStore,
    storages: Storages,
    plan: RecoveryPlan,
    planned: PlannedRecovery,
    image: CrashImage,
    how_far: str,
) -> RecoveryTrial:
    server = lab.server(plan.crashes[planned.crash].server)
    label = planned.storage.strip("/").replace("/", "-")
    log = run.new_log(f"{run.trial_count() + 1:03}-{server.name}-{label}-{format_size(planned.pool)}-{planned.repeat}")
    lab.progress.note(how_far)
    storages.prepare(planned.storage, image, images)
    began = time.monotonic()
    with storages.attached(planned.storage, image, images) as place:
        trial = recover(lab, image, server, images, place, planned.pool, planned.repeat, log)
    return msgspec.structs.replace(trial, took=time.monotonic() - began)


def _check_disks(lab: Lab, run: Run, storages: Storages, plan: RecoveryPlan) -> None:
    """Have fio look at every storage that the run has not checked yet; say which is not as it was asked for."""
    storages.overhead_from(run.disks())
    known = {check.storage for check in run.disks()}
    for check in storages.checks([name for name in plan.storages if name not in known]):
        run.add_disk(check)
        names = ", ".join(figure.name for figure in figures_off(check))
        if names:
            lab.progress.note(f"{check.storage} is not as asked: {names}; rows measured on it are marked")
