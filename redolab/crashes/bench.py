"""Crashes and recoveries as groups and steps of a plan: what every experiment that crashes servers is carried out with."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from redolab.counters import Sample
from redolab.crashes.crash import make_image
from redolab.crashes.dataset import DatasetSpec, find_dataset, remove_dataset
from redolab.crashes.images import (
    MARK,
    SAMPLES,
    STORY,
    CrashImage,
    CrashSpec,
    ImageStore,
    check_format,
    decoded_image,
    made_with,
)
from redolab.crashes.outcome import Outcome
from redolab.crashes.recovery import STUCK_AFTER, Recorder, RecoveryTask, RecoveryTrial, recover
from redolab.errors import LabError
from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.models import sizes
from redolab.runs.bench import Bench, Measured
from redolab.runs.machines import on_one_machine
from redolab.runs.plan import Plan, Planned, PlannedGroup, PlannedStep, draw_plan
from redolab.runs.room import Needs
from redolab.runs.schema import Finding, Session
from redolab.runs.store import Run
from redolab.samples.sampler import read_samples
from redolab.servers.install import InstalledServer
from redolab.servers.known import server_catalogue
from redolab.storage import StorageProfile
from redolab.storage.attaching import DISKS, Contents, Storages, check_possible
from redolab.storage.figures import DiskCheck, StorageRecord, figures_off
from redolab.storage.fio import FILES_SIZE
from redolab.storage.folder import FolderStorage
from redolab.storage.known import HOME, storage_profile
from redolab.storage.modelled import ModelledDisk
from redolab.storage.tmpfs import TmpfsStorage
from redolab.units import format_duration, format_size
from redolab.workloads.known import workload_catalogue

SMALLER = "choose a smaller LOGSIZE, DATASET or POOL, remove crash images ('redolab images'), or KEEP=off to keep none"
"""What to do where crashes and recoveries do not fit."""
_ROOM_FOR_TEXT = 40
_CRASHES = "crashes"
_STORAGES = "storages"
_STORAGES_OF_FORMAT_1 = "disks"


class PlannedCrash(PlannedGroup, frozen=True, kw_only=True):
    """A crash image that is wanted, and the server that recovers it."""

    server: str
    spec: CrashSpec
    image: str | None = None
    """The one image that is meant; otherwise any made to this spec."""

    def described(self) -> Mapping[str, str]:
        """See `PlannedGroup`."""
        number = {"crash": str(self.spec.number)} if self.spec.number > 1 else {}
        return {
            "server": self.server,
            "log": format_size(self.spec.instance.log_size),
            "dataset": format_size(self.spec.dataset.size),
            **({"load": f"steady, {self.spec.storage}"} if self.spec.kill.steady is not None else {}),
            **number,
        }

    def alike(self) -> Sequence[str]:
        """See `PlannedGroup`."""
        log = f"log {format_size(self.spec.instance.log_size)}"
        if self.spec.kill.steady is not None:
            loaded = f"load until steady on {self.spec.storage}"
            return [f"{loaded}, {self.spec.dataset.server}, {log}", f"{loaded}, {log}"]
        return [f"crash of {self.spec.dataset.server}, {log}", f"crash, {log}"]


class PlannedRecovery(PlannedStep, frozen=True, kw_only=True):
    """One recovery of a crash's image: on what, with a buffer pool of so many bytes."""

    storage: str
    pool: int
    settings: str = ""
    """What is set beyond the lab's own settings (`redolab.servers.asked`)."""

    def described(self) -> Mapping[str, str]:
        """See `PlannedStep`."""
        asked = {"settings": self.settings} if self.settings else {}
        return {"storage": self.storage, "pool": format_size(self.pool), **asked}

    def alike(self, group: Sequence[str]) -> Sequence[str]:
        """See `PlannedStep`: the same storage and log, and if possible the same server and pool."""
        of_server, of_log = group
        on = f"recovery on {self.storage} after"
        return [f"{on} {of_server}, pool {format_size(self.pool)}", f"{on} {of_server}", f"{on} {of_log}"]


class CrashConditions(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for a whole run of crashes and recoveries."""

    storages: Mapping[str, StorageProfile]
    """The storages by name, as they were when the plan was made."""
    sample_every: float = 1.0
    """Seconds between two samples while a log is filled."""
    new_crash: bool = False
    """Crash anew even if an image made to the same spec is kept."""
    check_disks: bool = True
    """Whether fio looks at every storage before."""
    stuck_after: float = STUCK_AFTER
    """Seconds without progress after which a recovery counts as stuck."""
    warm_for: float = 0.0
    """Seconds for which the workload's clients are followed at most after each recovery; 0: they are not started."""


CrashPlan: TypeAlias = Plan[PlannedCrash, PlannedRecovery, CrashConditions]


class CrashBench(Bench[PlannedCrash, PlannedRecovery, RecoveryTrial]):
    """Makes the crash images of a plan and recovers copies of them."""

    def __init__(self, lab: Lab, plan: CrashPlan) -> None:
        self._lab = lab
        self._plan = plan
        self._images = ImageStore(lab.home)
        self._storages = Storages(lab, plan.conditions.storages)
        self._run_folder = Path()
        self._to_make = set(range(len(plan.groups)))
        self._loaded: list[DatasetSpec] = []
        """Datasets that were loaded for this run, and are not to be kept."""

    def check(self, places: Sequence[int]) -> None:
        """See `Bench`: storages that this machine cannot offer, images that a server cannot read."""
        profiles = self._plan.conditions.storages
        wanted = {self._plan.steps[place].step.storage for place in places}
        check_possible({name: profile for name, profile in profiles.items() if name in wanted})
        for crash in self._crashes(places):
            if crash.image is not None:
                dialect = server_catalogue().get(crash.server).dialect()
                check_format(self._images.get(crash.image), crash.server, dialect)

    def needs(self, places: Sequence[int], missing: Sequence[int]) -> Needs:
        """See `Bench`."""
        plan, home = self._plan, self._lab.home
        steps = [plan.steps[place].step for place in places]
        crashes = self._crashes(places)
        images = [self._image_size(crash) for crash in crashes]
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
        if any(isinstance(profile, ModelledDisk) for profile in profiles.values()):
            at_once = images if plan.keep else [max(images)]
            disks = self._lab.folder / DISKS
            disk[disks] = sum(sizes.lab_disk(image) for image in at_once) + fio
            why[disks] = "the lab disks with copies of the crash images"
        return Needs(memory=memory, memory_for=memory_for, disk=disk, disk_for=why, remedy=SMALLER)

    def _crashes(self, places: Sequence[int]) -> list[PlannedCrash]:
        """The crashes of the steps at these places."""
        return [self._plan.groups[group] for group in dict.fromkeys(self._plan.steps[place].group for place in places)]

    def remarks(self) -> Sequence[str]:
        """See `Bench`: where copies take long."""
        home, profiles = self._lab.home, self._plan.conditions.storages
        copied = [each for each in self._plan.steps if not isinstance(profiles[each.step.storage], ModelledDisk)]
        if not copied or copies.shares_blocks(home):
            return ()
        size = sum(self._image_size(self._plan.groups[each.group]) for each in copied)
        which = (
            "1 recovery copies its crash image"
            if len(copied) == 1
            else f"{len(copied)} recoveries copy their crash images"
        )
        return (
            f"{which} block by block, {format_size(size)} in all, as the file system under {home} shares none: "
            "REDOLAB_LAB=/folder on XFS or btrfs has copies made at once",
        )

    def find(self, group: int, name: str | None) -> str | None:
        """See `Bench`."""
        crash = self._plan.groups[group]
        wanted = name or crash.image
        if wanted:
            return wanted if self._images.read(wanted) is not None else None
        found = None if self._plan.conditions.new_crash else self._images.find(crash.spec)
        return None if found is None else found.name

    @contextmanager
    def opened(self, run: Run) -> Iterator[None]:
        """See `Bench`: storages are attached when they are first wanted, and gone at the end."""
        with ExitStack() as stack:
            stack.callback(self._remove_datasets)
            stack.enter_context(self._storages)
            self._check_disks(run)
            yield

    def make(self, group: int, run: Run) -> str:
        """See `Bench`."""
        crash, home = self._plan.groups[group], self._lab.home
        if crash.image is not None:
            raise LabError(f"the crash image {crash.image} was removed", "'redolab images' lists those there are")
        had_dataset = find_dataset(home, crash.spec.dataset) is not None
        server, workload = self._server(crash), workload_catalogue().get(crash.spec.workload)
        every = self._plan.conditions.sample_every
        workload.require(self._lab)
        made = None
        try:
            if crash.spec.storage != HOME:
                self._storages.prepare(crash.spec.storage, None)
            made = make_image(
                self._lab,
                home,
                server,
                workload,
                crash.spec,
                every,
                run.keep_failed,
                self._number(group),
                self._storages.attached,
            )
            self._keep_story(run, made)
        except BaseException:
            if made is not None and not self._plan.keep:
                self._images.remove(made.name)
            raise
        finally:
            # The lab disk that a server was under load on.
            self._storages.release(crash.spec.dataset.key)
            if not self._plan.keep and not had_dataset:
                self._loaded.append(crash.spec.dataset)
            self._to_make.discard(group)
            self._remove_datasets(still_needed=[self._plan.groups[each].spec.dataset for each in self._to_make])
        return made.name

    def _remove_datasets(self, still_needed: Sequence[DatasetSpec] = ()) -> None:
        """Remove what was loaded for this run alone, but for what is still needed."""
        for dataset in [each for each in self._loaded if each not in still_needed]:
            remove_dataset(self._lab.home, dataset)
            self._loaded.remove(dataset)

    def _number(self, group: int) -> str:
        """What tells a group's image from those of the plan's other groups, which other machines may make in the same second."""
        return f"-{group + 1}" if len(self._plan.groups) > 1 else ""

    def use(self, group: int, name: str, run: Run) -> None:
        """See `Bench`."""
        self._to_make.discard(group)
        image = self._images.get(name)
        self._lab.progress.note(f"crash image {name}: made earlier")
        with self._lab.progress.stage(f"checking that {name} is as the kill left it", "hash"):
            self._images.check_unchanged(image)
        self._keep_story(run, image)

    def measure(
        self,
        place: int,
        planned: Planned[PlannedRecovery],
        name: str,
        run: Run,
        keep: Callable[[Measured[RecoveryTrial]], None],
    ) -> None:
        """See `Bench`."""
        image, step = self._images.get(name), planned.step
        server = self._server(self._plan.groups[planned.group])
        label = step.storage.strip("/").replace("/", "-")
        log = run.log(f"{place + 1:03}-{server.name}-{label}-{format_size(step.pool)}-{planned.repeat}")
        contents = Contents(name, self._images.data(image), files.folder_size(self._images.folder(name)))
        task = RecoveryTask(
            image=image,
            server=server,
            pool=step.pool,
            repeat=planned.repeat,
            stuck_after=self._plan.conditions.stuck_after,
            settings=step.settings,
            turn=1 + sum(record.trial.image == image.name for record in run.trials(RecoveryTrial)),
            warm_for=self._plan.conditions.warm_for,
        )
        recorder = Recorder(
            log=log,
            instance=run.keep_once,
            evidence=run.folder / "evidence" / log.stem,
            trial=lambda trial: keep(Measured(trial, _findings(trial, run, recorder))),
        )
        if task.warm_for:
            workload_catalogue().get(image.spec.workload).require(self._lab)
        self._storages.prepare(step.storage, contents)
        with self._storages.attached(step.storage, contents) as attached:
            recover(self._lab, task, self._images, attached, recorder)

    def _server(self, crash: PlannedCrash) -> InstalledServer:
        """The server of a crash, as it was when the plan was made. Raises `LabError` if it is another by now."""
        server = self._lab.server(crash.server)
        if crash.image is not None:
            return server
        workload = workload_catalogue().get(crash.spec.workload)
        planned, profile = crash.spec, self._plan.conditions.storages.get(crash.spec.storage)
        now = made_with(
            workload,
            server.dialect.settings(planned.instance),
            None if planned.storage == HOME else profile,
        )
        if server.version != planned.dataset.version:
            raise LabError(
                f"the run was planned with {crash.server} {planned.dataset.version}, and here it is {server.version}",
                "start a new run",
            )
        if now != planned.made_with:
            raise LabError(
                f"the workload or the settings of {crash.server} are others than when the run was planned",
                "start a new run",
            )
        return server

    def release(self, group: int, name: str) -> None:
        """See `Bench`."""
        self._storages.release(name)

    def remove(self, name: str) -> None:
        """See `Bench`."""
        if not self._images.used_by(name) - {self._run_folder}:
            self._images.remove(name)

    def _home_needs(self, copy: int, missing: Sequence[int]) -> int:
        """Bytes on the native storage: what is made, all of it where it is kept, and one copy at a time."""
        specs = [self._plan.groups[group].spec for group in missing]
        making = [
            sizes.crash_and_recovery(
                spec.dataset.size, spec.instance.log_size, images=1, binary_log=spec.instance.binary_log
            )
            - self._spec_size(spec)
            for spec in specs
        ]
        return copy + (sum(making) if self._plan.keep else max(making, default=0))

    def _image_size(self, crash: PlannedCrash) -> int:
        return self._spec_size(crash.spec)

    @staticmethod
    def _spec_size(spec: CrashSpec) -> int:
        return sizes.data_directory(spec.dataset.size, spec.instance.log_size, binary_log=spec.instance.binary_log)

    def _keep_story(self, run: Run, image: CrashImage) -> None:
        """Keep how a crash image came about with the run, which may outlive the image, and with the image that the run uses it."""
        self._run_folder = run.folder
        self._images.note_use(image.name, run.folder)
        kept = run.folder / _CRASHES / image.name
        kept.mkdir(parents=True, exist_ok=True)
        for name in STORY:
            source = self._images.folder(image.name) / name
            if source.exists():
                beside = kept / f".{name}"
                shutil.copy(source, beside)
                beside.replace(kept / name)
        # The hashes are for those who start on the files; of 20,000 tables they are megabytes.
        files.write_whole(kept / MARK, msgspec.json.encode(msgspec.structs.replace(image, hashes={})))

    def _check_disks(self, run: Run) -> None:
        """Record every storage that the run has not recorded yet, as fio finds it if it is to look; say which is not as asked."""
        known = storages_of(run).on_machine_of(len(run.record().sessions) - 1)
        self._storages.overhead_from([each.check for each in known if each.check is not None])
        profiles = self._plan.conditions.storages
        unknown = [name for name in profiles if name not in {each.storage for each in known}]
        if not self._plan.conditions.check_disks:
            for name in unknown:
                self._record(run, name, None)
            return
        for check in self._storages.checks(unknown):
            self._record(run, check.storage, check)
            names = ", ".join(figure.name for figure in figures_off(check))
            if names:
                self._lab.progress.note(f"{check.storage} is not as asked: {names}; rows measured on it are marked")

    def _record(self, run: Run, name: str, check: DiskCheck | None) -> None:
        about = self._plan.conditions.storages[name].about
        lies_on = self._storages.lies_on(name)
        session = len(run.record().sessions) - 1
        record = StorageRecord(storage=name, about=about, lies_on=lies_on, check=check, session=session)
        run.add_line(_STORAGES, record)


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
) -> CrashPlan:
    """The plan of more recoveries from a kept image; with a pool that holds its tables unless others are given."""
    profiles = {name: storage_profile(name) for name in storages or [HOME]}
    steps = [
        PlannedRecovery(storage=storage, pool=pool, settings=asked)
        for storage in profiles
        for pool in pools or (sizes.default_pool(image.spec.dataset.size),)
        for asked in settings or ("",)
    ]
    crash = PlannedCrash(server=server, spec=image.spec, image=image.name)
    conditions = CrashConditions(storages=profiles, check_disks=check_disks, stuck_after=stuck_after, warm_for=warm_for)
    return draw_plan([(crash, steps)], repeat=repeat, seed=seed, conditions=conditions)


def crashes_of(run: Run) -> list[CrashImage]:
    """What a run's crash images were, whether or not they are still kept. Raises `LabError`."""
    images = []
    for path in sorted((run.folder / _CRASHES).glob(f"*/{MARK}")):
        try:
            images.append(decoded_image(path.read_bytes()))
        except (msgspec.MsgspecError, KeyError) as error:
            raise LabError(
                f"the run {run.name} cannot be read ({path.name}: {error})", "it is left as it is"
            ) from error
    return images


def story_folder(run: Run, image: str) -> Path:
    """Where a run keeps the series that tell how an image came about."""
    return run.folder / _CRASHES / image


def samples_of(run: Run, image: str) -> Sequence[Sample]:
    """The counters from the start of the fill to the kill."""
    return read_samples(story_folder(run, image) / SAMPLES)


class RunStorages:
    """The storages of a run as they were recorded, on each of its machines."""

    def __init__(self, sessions: Sequence[Session], records: Sequence[StorageRecord]) -> None:
        self.records = records
        self._sessions = sessions

    def of(self, storage: str, session: int) -> StorageRecord | None:
        """A storage as it was last recorded on the machine of a session."""
        return next((record for record in reversed(self.on_machine_of(session)) if record.storage == storage), None)

    def on_machine_of(self, session: int) -> list[StorageRecord]:
        """All that was recorded on the machine of a session."""
        wanted = self._sessions[session]
        return [record for record in self.records if on_one_machine(self._sessions[record.session], wanted)]


def storages_of(run: Run) -> RunStorages:
    """A run's storages. Raises `LabError`."""
    if run.is_current:
        records = run.lines(_STORAGES, StorageRecord)
    else:
        checks = run.lines(_STORAGES_OF_FORMAT_1, DiskCheck)
        records = [StorageRecord(storage=check.storage, about=check.about, check=check) for check in checks]
    return RunStorages(run.record().sessions, records)


def checks_of(run: Run) -> list[DiskCheck]:
    """What fio found of a run's storages, of those that it looked at. Raises `LabError`."""
    return [record.check for record in storages_of(run).records if record.check is not None]


def _findings(trial: RecoveryTrial, run: Run, recorder: Recorder) -> list[Finding]:
    what = _what_is_bad(trial)
    if what is None:
        return []
    kept = [recorder.log, *sorted(recorder.evidence.glob("*"))]
    return [Finding(what=what, evidence=tuple(str(path.relative_to(run.folder)) for path in kept))]


def _shortened(text: str) -> str:
    """The beginning of a message, as far as a line has room for it."""
    return text if len(text) <= _ROOM_FOR_TEXT else f"{text[:_ROOM_FOR_TEXT]}…"


def _what_is_bad(trial: RecoveryTrial) -> str | None:
    """In words; None of a recovery that is as it must be."""
    asked = f" and {trial.settings}" if trial.settings else ""
    which = f"{trial.image} on {trial.storage} with pool {format_size(trial.buffer_pool)}{asked}"
    if trial.unfinished is not None:
        end = trial.unfinished
        if trial.outcome is Outcome.STUCK:
            quiet = format_duration(end.ended - end.progress_ended)
            said = (
                f", saying {end.repeated[0].times:,} times '{_shortened(end.repeated[0].text)}'" if end.repeated else ""
            )
            return f"{trial.server} was stuck recovering {which}: no progress for {quiet} at {end.where}{said}"
        return f"{trial.server} gave up recovering {which}: it ended with status {end.status} at {end.where}"
    if trial.failed_checks:
        said = "; ".join(f"{each.what}: {each.found} instead of {each.expected}" for each in trial.failed_checks)
        return f"{trial.server} recovered {which} wrongly ({said})"
    return None
