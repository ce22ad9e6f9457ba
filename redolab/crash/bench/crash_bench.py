"""Crashes and recoveries carried out: what every experiment that crashes servers is measured with."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager

from typing_extensions import override

from redolab.crash.bench.crash_needs import crash_needs
from redolab.crash.bench.crash_plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.crash.bench.disk_checks import record_disks
from redolab.crash.bench.judging import judge_positions, next_turn, unjudged
from redolab.crash.bench.recording import keep_story, recorder
from redolab.crash.bench.shared_loads import SharedLoads
from redolab.crash.bench.trying import try_settings
from redolab.crash.crash import CrashLoad, WantedState, crash_images
from redolab.crash.dataset_store import find_dataset, remove_dataset
from redolab.crash.image_store import ImageStore, check_format
from redolab.crash.kinds import KINDS
from redolab.crash.records.crash import CrashImage
from redolab.crash.records.dataset import DatasetSpec
from redolab.crash.records.recovery import RecoveryTrial
from redolab.crash.recovery.recovery import recover
from redolab.crash.recovery.task import RecoveryTask
from redolab.crash.wanted import made_with
from redolab.disks.attaching import DISKS, Contents, Storages, check_can_be_cut, check_possible
from redolab.disks.profiles import HOME
from redolab.errors import InvalidInput, LabError
from redolab.lab import Lab
from redolab.machine import files
from redolab.runs.bench import Bench, GroupContext, KeepsProducts, StepContext
from redolab.runs.needs import Needs
from redolab.runs.schema import GroupRecord
from redolab.runs.store import Run
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import other_than_expected
from redolab.servers.install import InstalledServer
from redolab.units import format_size
from redolab.workloads.catalogue import workload_catalogue


class CrashBench(Bench[PlannedCrash, PlannedRecovery, CrashConditions, str, RecoveryTrial], KeepsProducts):
    """Makes the crash images of a plan and recovers copies of them."""

    def __init__(self, lab: Lab, plan: CrashPlan) -> None:
        super().__init__(lab, plan)
        self._images = ImageStore(lab.home, lab.identity())
        self._storages = Storages(lab, plan.conditions.storages)
        self._loads = SharedLoads(plan)
        self._loaded: list[DatasetSpec] = []
        """Datasets that were loaded for this run, and are not to be kept."""

    @override
    def check(self, positions: Sequence[int]) -> None:
        """Refuse storages that this machine cannot offer, and images and settings that a server does not take."""
        groups = self.plan.groups_of(positions)
        # What was measured before is not made again.
        self._loads.want_only(groups)
        profiles = self.plan.conditions.storages
        wanted = {self.plan.steps[position].step.storage for position in positions}
        check_possible({name: profile for name, profile in profiles.items() if name in wanted})
        for crash in [self.plan.groups[group] for group in groups]:
            if crash.image is None and KINDS[crash.spec.crash].cuts_power:
                check_can_be_cut(crash.spec.storage, profiles.get(crash.spec.storage))
            if crash.image is not None:
                dialect = server_catalogue().get(crash.server).dialect()
                check_format(self._images.get(crash.image), crash.server, dialect)
        try_settings(self.lab, self.plan, positions)

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        return crash_needs(self.plan, self._loads, positions, missing, self.lab.home, self.lab.folder / DISKS)

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
        """Provide the storages during the block: each is made when it is first needed, and removed at the end."""
        with ExitStack() as stack:
            stack.callback(self._remove_datasets)
            stack.callback(self._remove_unused, run)
            stack.enter_context(self._storages)
            conditions = self.plan.conditions
            record_disks(run, self._storages, conditions.storages, self.lab.progress, look=conditions.check_disks)
            self._judge_unjudged(run)
            yield

    def _judge_unjudged(self, run: Run) -> None:
        """Judge the recoveries that earlier sessions measured and did not judge, without timing them again."""
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
        crash = self.plan.groups[group]
        if crash.image is not None:
            raise LabError(f"the crash image {crash.image} was removed", "'redolab images' lists those there are")
        had_dataset = find_dataset(self.lab.home, crash.spec.dataset) is not None
        server, workload = self._server(crash), workload_catalogue().get(crash.spec.workload)
        workload.require(self.lab)
        groups = [each for each in self._loads.together_with(group) if each == group or not self._was_made(each, run)]
        try:
            load = CrashLoad(
                server=server,
                workload=workload,
                wanted=[self._wanted(each) for each in groups],
                sample_every=self.plan.conditions.sample_every,
                failed=run.folder / "failed",
            )
            with closing(crash_images(self.lab, load, self._storages)) as images:
                for image in images:
                    self._made(image, groups, run)
        finally:
            # The lab disk that a server was under load on.
            self._storages.release(crash.spec.dataset.key)
            if not self.plan.keep and not had_dataset:
                self._loaded.append(crash.spec.dataset)
            self._loads.end_load(group)
            self._remove_datasets(still_needed=self._loads.needed_datasets())
        return self._loads.image_of(group)

    def _made(self, image: CrashImage, groups: Sequence[int], run: Run) -> None:
        """Record an image of a load that makes the images of these groups: from now on an interrupt loses nothing of it."""
        (of_group,) = [each for each in groups if self.plan.groups[each].spec == image.spec]
        self._loads.note_made(of_group, image.name)
        keep_story(self._images, image, run)
        if len(groups) > 1:
            self._note_made(of_group, image.name, run)

    def _was_made(self, group: int, run: Run) -> bool:
        """Return True if an earlier session of the run made the group's image, and it is there."""
        record = run.groups().get(group)
        return record is not None and self._images.read(record.name) is not None

    @staticmethod
    def _note_made(group: int, name: str, run: Run) -> None:
        """Write an image that is not measured yet to the run at once: a lab that is killed would forget it."""
        before = run.groups().get(group)
        attempt = 1 if before is None else before.attempt + 1
        session = len(run.record().sessions) - 1
        run.add_group(GroupRecord(group=group, attempt=attempt, session=session, name=name, made=True, seconds=0.0))

    def _wanted(self, group: int) -> WantedState:
        """Return the crash that a group wants; its time is drawn by the plan's seed, so that the same plan has the same times."""
        spec = self.plan.groups[group].spec
        moments = spec.kill.moment
        drawn = None if moments is None else moments.drawn(random.Random(f"{self.plan.seed} {group}"))
        return WantedState(spec=spec, moment=drawn, name_suffix=self._name_suffix(group))

    def _remove_unused(self, run: Run) -> None:
        """Remove the images that no group came to use, where nothing is to be kept."""
        for name in self._loads.unused if not self.plan.keep else ():
            self.remove(name, run)

    def _remove_datasets(self, still_needed: Sequence[DatasetSpec] = ()) -> None:
        """Remove the datasets that were loaded for this run alone, except those that are still needed."""
        for dataset in [each for each in self._loaded if each not in still_needed]:
            remove_dataset(self.lab.home, dataset.key, self.lab.journal)
            self._loaded.remove(dataset)

    def _name_suffix(self, group: int) -> str:
        """Return the end of an image's name that is the group's own: other machines may make others in the same second."""
        return f"-{group + 1}" if len(self.plan.groups) > 1 else ""

    @contextmanager
    @override
    def group(self, group: PlannedCrash, at: GroupContext) -> Iterator[str]:
        """Check a group's crash image, which `find` or `make` has provided, and yield its name; remove copies afterwards."""
        if not self._loads.use(at.group, at.product):
            self._take(at.product, at.run)
        yield at.product
        self._storages.release(at.product)

    def _take(self, name: str, run: Run) -> None:
        """Check that an image made earlier is as the crash left it, and keep its story with the run. Raises `LabError`."""
        image = self._images.get(name)
        self.lab.progress.note(f"crash image {name}: made earlier")
        with self.lab.progress.stage(f"checking that {name} is as the kill left it", "hash"):
            self._images.check_unchanged(image)
        keep_story(self._images, image, run)

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
        if task.warm_for:
            workload_catalogue().get(image.spec.workload).require(self.lab)
        with self._storages.attached(step.storage, contents) as attached:
            recover(self.lab, task, self._images, attached, recorder(self.lab.progress, at, log))

    def _server(self, crash: PlannedCrash) -> InstalledServer:
        """Return the server of a crash, as it was when the plan was made. Raises `InvalidInput` if it is another by now."""
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
