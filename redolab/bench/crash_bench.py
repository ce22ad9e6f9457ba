"""Execution of crashes and recoveries, for every experiment that crashes servers."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
from typing_extensions import override

from redolab.bench.checks import SMALLER
from redolab.bench.disk_checks import record_disks
from redolab.bench.findings import bad_outcome, bad_verdict, recovered
from redolab.bench.judging import judge_positions, next_turn, unjudged
from redolab.bench.planning import shares_load
from redolab.bench.trying import try_settings
from redolab.crashes.crash import WantedState, make_states
from redolab.crashes.kinds import crash_kind
from redolab.crashes.wanted import made_with
from redolab.errors import InvalidInput, LabError
from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.models import sizes
from redolab.records.crash import MARK, STORY, CrashImage, CrashSpec
from redolab.records.dataset import DatasetSpec
from redolab.records.plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.records.recovery import RecoveryTrial, WarmRecord, WarmTime
from redolab.records.verdict import Judgement
from redolab.recoveries.recovery import recover
from redolab.recoveries.task import Recorder, RecoveryTask
from redolab.results.crashes import CRASHES, crashes_of
from redolab.results.recoveries import WARM
from redolab.runs.bench import Bench, GroupContext, KeepsProducts, StepContext
from redolab.runs.needs import Needs
from redolab.runs.schema import Finding, GroupRecord, VerdictRecord
from redolab.runs.store import Run
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import other_than_expected
from redolab.servers.install import InstalledServer
from redolab.states.datasets import find_dataset, remove_dataset
from redolab.states.images import ImageStore, check_format
from redolab.storage.attaching import DISKS, Contents, Storages, check_can_be_cut, check_possible
from redolab.storage.fio import FILES_SIZE
from redolab.storage.profiles import HOME, FolderStorage, ModelledDisk, TmpfsStorage
from redolab.units import format_size
from redolab.workloads.catalogue import workload_catalogue


class CrashBench(Bench[PlannedCrash, PlannedRecovery, CrashConditions, str, RecoveryTrial], KeepsProducts):
    """Bench that makes the crash images of a plan and recovers copies of them."""

    def __init__(self, lab: Lab, plan: CrashPlan) -> None:
        super().__init__(lab, plan)
        self._images = ImageStore(lab.home, lab.identity())
        self._storages = Storages(lab, plan.conditions.storages)
        self._to_make = set(range(len(plan.groups)))
        self._loaded: list[DatasetSpec] = []
        """Datasets that were loaded for this run, and are not to be kept."""
        self._new: dict[int, str] = {}
        """Group → name of the image that this session made for it; one load may make images for several groups."""
        self._unused: set[str] = set()
        """Names of images that this session made and no group has used yet."""

    @override
    def check(self, positions: Sequence[int]) -> None:
        """Refuse storages that this machine cannot offer, and images and settings that a server does not take."""
        # A group measured before is not made again.
        self._to_make = {self.plan.steps[position].group for position in positions}
        profiles = self.plan.conditions.storages
        wanted = {self.plan.steps[position].step.storage for position in positions}
        check_possible({name: profile for name, profile in profiles.items() if name in wanted})
        for crash in self._crashes(positions):
            if crash.image is None and crash_kind(crash.spec.crash).cuts_power:
                check_can_be_cut(crash.spec.storage, profiles.get(crash.spec.storage))
            if crash.image is not None:
                dialect = server_catalogue().get(crash.server).dialect()
                check_format(self._images.get(crash.image), crash.server, dialect)
        try_settings(self.lab, self.plan, positions)

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        plan, home = self.plan, self.lab.home
        steps = [plan.steps[position].step for position in positions]
        crashes = self._crashes(positions)
        images = [self._image_size(crash.spec) for crash in crashes]
        largest = format_size(max(crash.spec.instance.log_size for crash in crashes))
        disk = {home: self._home_needs(max(images), missing)}
        why = {home: f"a redo log of {largest} with dataset, crash image and copies"}
        pool = max(step.pool for step in steps)
        memory = max([pool, *(plan.groups[group].spec.instance.buffer_pool for group in missing)])
        memory_for = f"a buffer pool of {format_size(memory)}"
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
        cut = any(crash_kind(plan.groups[group].spec.crash).cuts_power for group in missing)
        if cut or any(isinstance(profile, ModelledDisk) for profile in profiles.values()):
            at_once = images if plan.mixes_groups else [max(images)]
            disks = self.lab.folder / DISKS
            disk[disks] = sum(sizes.lab_disk(image) for image in at_once) + fio
            why[disks] = "the lab disks with copies of the crash images"
        return Needs(
            memory=memory, memory_for=memory_for, disk=disk, disk_for=why, remedy=SMALLER, remarks=self._remarks()
        )

    def _crashes(self, positions: Sequence[int]) -> list[PlannedCrash]:
        """Return the crashes of the steps at these indexes."""
        return [
            self.plan.groups[group]
            for group in dict.fromkeys(self.plan.steps[position].group for position in positions)
        ]

    def _remarks(self) -> tuple[str, ...]:
        """Return a remark if copies take long."""
        home, profiles = self.lab.home, self.conditions.storages
        copied = [each for each in self.plan.steps if not isinstance(profiles[each.step.storage], ModelledDisk)]
        if not copied or copies.shares_blocks(home):
            return ()
        size = sum(self._image_size(self.plan.groups[each.group].spec) for each in copied)
        which = (
            "1 recovery copies its crash image"
            if len(copied) == 1
            else f"{len(copied)} recoveries copy their crash images"
        )
        return (
            f"{which} block by block, {format_size(size)} in all, as the file system under {home} shares none: "
            "REDOLAB_LAB=/folder on XFS or btrfs has copies made at once",
        )

    @override
    def find(self, group: int, name: str | None) -> str | None:
        crash = self.plan.groups[group]
        wanted = name or crash.image
        if wanted:
            return wanted if self._images.read(wanted) is not None else None
        found = None if self.plan.conditions.new_crash else self._images.find(crash.spec)
        return None if found is None else found.name

    @contextmanager
    @override
    def opened(self, run: Run) -> Iterator[None]:
        """Attach storages when they are first used, and detach them at the end."""
        with ExitStack() as stack:
            stack.callback(self._remove_datasets)
            stack.callback(self._remove_unused, run)
            stack.enter_context(self._storages)
            conditions = self.plan.conditions
            record_disks(run, self._storages, conditions.storages, self.lab.progress, look=conditions.check_disks)
            self._judge_unjudged(run)
            yield

    def _judge_unjudged(self, run: Run) -> None:
        """Check the recoveries that earlier sessions measured and did not check, without timing them again."""
        positions = unjudged(run)
        if not positions:
            return
        self.lab.progress.note(
            f"measured and not judged: {len(positions)} of the recoveries, whose states are recovered again"
        )
        for name in judge_positions(self.lab, run, self.plan, positions):
            self.lab.progress.note(f"{name} is gone: what was recovered from it stays without a verdict")

    @override
    def make(self, group: int, run: Run) -> str:
        crash, home = self.plan.groups[group], self.lab.home
        if crash.image is not None:
            raise LabError(f"the crash image {crash.image} was removed", "'redolab images' lists those there are")
        had_dataset = find_dataset(home, crash.spec.dataset) is not None
        server, workload = self._server(crash), workload_catalogue().get(crash.spec.workload)
        every = self.plan.conditions.sample_every
        workload.require(self.lab)
        groups = [each for each in self._of_one_load(group) if each == group or not self._was_made(each, run)]
        try:
            if crash.spec.storage != HOME:
                self._storages.prepare(crash.spec.storage, None)
            wanted = [self._wanted(each) for each in groups]

            def kept(image: CrashImage) -> None:
                (of_group,) = [each for each in groups if self.plan.groups[each].spec == image.spec]
                self._new[of_group] = image.name
                self._unused.add(image.name)
                self._keep_story(run, image)
                if len(groups) > 1:
                    self._note_made(of_group, image.name, run)

            make_states(
                self.lab,
                home,
                server,
                workload,
                wanted,
                every,
                kept,
                run.keep_failed_instance,
                self._storages.attached,
            )
        finally:
            # Remove the lab disk of the server under load.
            self._storages.release(crash.spec.dataset.key)
            if not self.plan.keep and not had_dataset:
                self._loaded.append(crash.spec.dataset)
            # After a failed load, the next one makes all crashes that this one did not.
            self._to_make -= {group, *self._new}
            self._remove_datasets(still_needed=[self.plan.groups[each].spec.dataset for each in self._to_make])
        return self._new[group]

    def _of_one_load(self, group: int) -> list[int]:
        """Return the groups whose crashes one load can make with this one's: unmade ones that differ in number only."""
        crash = self.plan.groups[group]
        if not shares_load(crash.spec):
            return [group]
        return [
            each
            for each in sorted(self._to_make | {group})
            if each not in self._new
            and self.plan.groups[each].image is None
            and self.plan.groups[each].server == crash.server
            and self.plan.groups[each].spec.alike() == crash.spec.alike()
        ]

    def _was_made(self, group: int, run: Run) -> bool:
        """Return True if an earlier session of the run has made the group's image, and it exists."""
        record = run.groups().get(group)
        return record is not None and self._images.read(record.name) is not None

    @staticmethod
    def _note_made(group: int, name: str, run: Run) -> None:
        """Record an image in the run before it is measured: a killed lab would forget it."""
        before = run.groups().get(group)
        attempt = 1 if before is None else before.attempt + 1
        session = len(run.record().sessions) - 1
        run.add_group(GroupRecord(group=group, attempt=attempt, session=session, name=name, made=True, seconds=0.0))

    def _wanted(self, group: int) -> WantedState:
        """Return the crash to make for a group; the plan's seed draws its time, so equal plans crash at equal times."""
        spec = self.plan.groups[group].spec
        moments = spec.kill.moment
        drawn = None if moments is None else moments.drawn(random.Random(f"{self.plan.seed} {group}"))
        return WantedState(spec=spec, moment=drawn, called_besides=self._number(group))

    def _remove_unused(self, run: Run) -> None:
        """Remove the images that no group used, if nothing is to be kept."""
        for name in self._unused if not self.plan.keep else ():
            self.remove(name, run)

    def _remove_datasets(self, still_needed: Sequence[DatasetSpec] = ()) -> None:
        """Remove the datasets that were loaded for this run alone and are no longer needed."""
        for dataset in [each for each in self._loaded if each not in still_needed]:
            remove_dataset(self.lab.home, dataset.key, self.lab.journal)
            self._loaded.remove(dataset)

    def _number(self, group: int) -> str:
        """Return a suffix for the image's name: other machines may make the plan's other groups in the same second."""
        return f"-{group + 1}" if len(self.plan.groups) > 1 else ""

    @contextmanager
    @override
    def group(self, group: PlannedCrash, at: GroupContext) -> Iterator[str]:
        """Make copies of a crash image available for recovery. Yield the image's name."""
        self._to_make.discard(at.group)
        if at.product not in self._unused:
            self._take(at.product, at.run)
        self._unused.discard(at.product)
        yield at.product
        self._storages.release(at.product)

    def _take(self, name: str, run: Run) -> None:
        """Check that an image made earlier is as the crash left it, and copy its series to the run.

        Raises `LabError`.
        """
        image = self._images.get(name)
        self.lab.progress.note(f"crash image {name}: made earlier")
        with self.lab.progress.stage(f"checking that {name} is as the kill left it", "hash"):
            self._images.check_unchanged(image)
        self._keep_story(run, image)

    @override
    def measure(self, group: PlannedCrash, step: PlannedRecovery, made: str, at: StepContext[RecoveryTrial]) -> None:
        image, run = self._images.get(made), at.run
        server = self._server(group)
        label = step.storage.strip("/").replace("/", "-")
        log = run.log(f"{at.position + 1:03}-{server.name}-{label}-{format_size(step.pool)}-{at.repeat}")
        contents = Contents(made, self._images.data(image), files.folder_size(self._images.folder(made)))
        task = RecoveryTask(
            image=image,
            server=server,
            pool=step.pool,
            repeat=at.repeat,
            stuck_after=self.conditions.stuck_after,
            settings=step.settings,
            turn=next_turn(run, image.name),
            warm_for=self.conditions.warm_for,
            looked_at=self.conditions.looked_at,
        )
        recorder = self._recorder(at, log)
        if task.warm_for:
            workload_catalogue().get(image.spec.workload).require(self.lab)
        self._storages.prepare(step.storage, contents)
        with self._storages.attached(step.storage, contents) as attached:
            recover(self.lab, task, self._images, attached, recorder)

    def _recorder(self, at: StepContext[RecoveryTrial], log: Path) -> Recorder:
        """Return the recorder of a recovery's logs, evidence and findings."""
        run, position, group = at.run, at.position, at.group
        evidence = run.folder / "evidence" / log.stem
        shown = (str(log.relative_to(run.folder)), str(evidence.relative_to(run.folder)))
        attempt, session = run.groups()[group].attempt, len(run.record().sessions) - 1
        measured: list[RecoveryTrial] = []

        def findings(what: str | None) -> tuple[Finding, ...]:
            return () if what is None else (Finding(what=what, evidence=shown),)

        def trial(trial: RecoveryTrial) -> None:
            measured.append(trial)
            at.keep(trial, findings(bad_outcome(trial)))

        def judgement(judgement: Judgement) -> None:
            found = findings(bad_verdict(recovered(measured[0]), judgement))
            run.add_verdict(
                VerdictRecord(
                    position=position, group=group, attempt=attempt, session=session, findings=found, verdict=judgement
                )
            )
            for finding in found:
                self.lab.progress.note(f"FINDING: {finding.what}")

        def warm(warm: WarmTime) -> None:
            run.add_line(WARM, WarmRecord(position=position, group=group, attempt=attempt, warm=warm))

        return Recorder(log=log, evidence=evidence, instance=run.keep_once, trial=trial, warm=warm, judgement=judgement)

    def _server(self, crash: PlannedCrash) -> InstalledServer:
        """Return the server of a crash as it was when the plan was made. Raises `InvalidInput` if it has changed."""
        server = self.lab.server(crash.server, None if crash.image else crash.spec.dataset.version)
        if crash.image is not None:
            return server
        workload = workload_catalogue().get(crash.spec.workload)
        planned, profile = crash.spec, self.plan.conditions.storages.get(crash.spec.storage)
        now = made_with(
            workload,
            server.dialect.settings(planned.instance),
            None if planned.storage == HOME else profile,
        )
        if other_than_expected(server.version, planned.dataset.version):
            raise InvalidInput(
                f"the run was planned with {crash.server} {planned.dataset.version}, and here it is {server.version}",
                f"'redolab server add {crash.server} --tarball FILE' with a tarball of that version, or start a new run",
            )
        if now != planned.made_with:
            raise InvalidInput(
                f"the workload or the settings of {crash.server} are others than when the run was planned",
                "start a new run",
            )
        return server

    @override
    def remove(self, name: str, run: Run) -> None:
        if not self._images.used_by(name) - {run.folder}:
            self._images.remove(name, self.lab.journal)

    def _home_needs(self, copy: int, missing: Sequence[int]) -> int:
        """Return the bytes needed on local disk: all images that are kept, and one copy at a time."""
        order = dict.fromkeys(planned.group for planned in self.plan.steps)
        missing = [group for group in order if group in missing]
        specs = [self.plan.groups[group].spec for group in missing]
        making = [
            sizes.crash_and_recovery(
                spec.dataset.size, spec.instance.log_size, images=1, binary_log=spec.instance.binary_log
            )
            - self._image_size(spec)
            for spec in specs
        ]
        if self.plan.keep:
            return copy + sum(making)
        # All crashes of one load are made before the first of them is recovered.
        of_loads: dict[CrashSpec, int] = {}
        for group, spec, size in zip(missing, specs, making, strict=True):
            if len(self._of_one_load(group)) > 1:
                of_loads[spec.alike()] = of_loads.get(spec.alike(), size) + self._image_size(spec)
        return copy + max([*making, *of_loads.values()], default=0) + _most_datasets_beside(specs)

    @staticmethod
    def _image_size(spec: CrashSpec) -> int:
        return sizes.data_directory(spec.dataset.size, spec.instance.log_size, binary_log=spec.instance.binary_log)

    def _keep_story(self, run: Run, image: CrashImage) -> None:
        """Copy the series of a crash image to the run, which may outlive the image, and record the use at the image."""
        self._images.note_use(image.name, run.folder)
        kept = run.folder / CRASHES / image.name
        kept.mkdir(parents=True, exist_ok=True)
        for name in STORY:
            source = self._images.folder(image.name) / name
            if source.exists():
                beside = kept / f".{name}"
                shutil.copy(source, beside)
                beside.replace(kept / name)
        self._drop_beginnings(image, run)
        # Leave out the hashes, needed only to start on the files; for 20,000 tables they are megabytes.
        files.write_whole(kept / MARK, msgspec.json.encode(msgspec.structs.replace(image, hashes={})))

    @staticmethod
    def _drop_beginnings(image: CrashImage, run: Run) -> None:
        """Remove the series of all crashes of a load but the last, whose series contains theirs: many would be
        megabytes.
        """
        of_load = [
            each for each in crashes_of(run) if each.load and each.load == image.load and each.name != image.name
        ]
        for each in of_load:
            earlier = each if each.last_sample.monotonic < image.last_sample.monotonic else image
            for name in STORY:
                files.remove(run.folder / CRASHES / earlier.name / name)


def _most_datasets_beside(specs: Sequence[CrashSpec]) -> int:
    """Return the most bytes that datasets of other crashes take while one is made: each stays until its last crash."""
    sizes_beside = []
    for place, spec in enumerate(specs):
        before, later = ({each.dataset for each in part} for part in (specs[:place], specs[place:]))
        sizes_beside.append(sum(sizes.loaded(dataset.size) for dataset in (before & later) - {spec.dataset}))
    return max(sizes_beside, default=0)
