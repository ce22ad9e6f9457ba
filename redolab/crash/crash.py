"""A crash: a server under load is crashed at the chosen time, and its data directory kept as a crash image."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from pymysql.connections import Connection

from redolab.clock import now
from redolab.counters.sampler import CsvFile, SampleFile, Sampler, machine_sample
from redolab.crash.binary_log import end_binary_log, last_file_size
from redolab.crash.dataset import make_dataset
from redolab.crash.dataset_store import Dataset
from redolab.crash.fill import Fill
from redolab.crash.image_store import ImageStore
from redolab.crash.kinds import crash_kind
from redolab.crash.kinds.contract import CrashKind
from redolab.crash.records.crash import FILL_LOG, IMAGE_FORMAT, MACHINE, SAMPLES, STORY, WORKLOAD, CrashImage, CrashSpec
from redolab.crash.transactions import dump_pool, open_transaction, prepare_transactions
from redolab.crash.undo import undo_bytes
from redolab.disks.attaching import Contents
from redolab.disks.place import Place, own_place
from redolab.disks.profiles import HOME
from redolab.errors import LabError
from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.machine.facts import MachineSample
from redolab.machine.page_cache import drop_page_cache
from redolab.progress import Stage
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, UsedInstance, prepare_folder
from redolab.servers.redo_capacity import RedoCapacity
from redolab.servers.redo_counters import Sample
from redolab.servers.sizes import data_directory
from redolab.units import format_size
from redolab.workloads.contract import RunningWorkload, Workload
from redolab.workloads.data import WorkloadMoment

_ANSWER = 120.0
_ANSWER_WHILE_COPIED = 3600.0
"""A server that is stopped while its files are copied answers afterwards."""


class Attach(Protocol):
    """Attaches storages (`Storages.attached`)."""

    def __call__(self, name: str, contents: Contents, *, to_be_cut: bool = False) -> AbstractContextManager[Place]:
        """Attach the storage of that name, with a copy of the contents if it is modelled or its power is to be cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedState:
    """A crash image to make."""

    spec: CrashSpec
    moment: float | None = None
    """Seconds of the load after which the server is crashed, if the spec's rule draws that; else None."""
    called_besides: str = ""
    """Suffix of the image's name, after server, log size and time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashLoad:
    """One load of one server, and the crashes that are made of it."""

    server: InstalledServer
    workload: Workload
    wanted: Sequence[WantedState]
    """Crashes whose specs differ in their number alone; more than one only of a kind after which the load goes on."""
    sample_every: float = 1.0
    """Seconds between two samples."""
    failed: Path | None = None
    """Folder that gets the logs and samples of an instance that failed; None: they are removed with it."""
    before_crash: Callable[[Instance], None] | None = None
    """Function that is called with the server under load when its crash is due."""

    @property
    def spec(self) -> CrashSpec:
        """Spec of all its crashes, without their number."""
        return self.wanted[0].spec.alike()

    @property
    def kind(self) -> CrashKind:
        """Kind of its crashes."""
        return crash_kind(self.spec.crash)


@dataclass(frozen=True, slots=True)
class _Site:
    """Places of a load: of its instance, of what is recorded of it, and of the images."""

    lab: Lab
    home: Path
    """Folder of the lab's own storage."""
    server: InstalledServer
    dataset: Dataset
    place: Place
    folder: Path
    """Folder of the instance."""
    story: Path
    """Folder for samples and logs: that of the instance, unless it goes with the power."""
    made: datetime
    capacity: RedoCapacity

    def image_name(self, wanted: WantedState) -> str:
        """Return the name of the image of a crash."""
        return _called(self.server, wanted, self.made)


@dataclass(frozen=True, slots=True)
class _Struck:
    """A server right after it was struck; seconds since the load began."""

    wanted: WantedState
    kind: CrashKind
    why: str
    seconds: float
    last_sample: Sample
    used: UsedInstance
    steady: bool | None
    late_share: float | None


def crash_images(
    lab: Lab, home: Path, load: CrashLoad, attach: Attach | None = None
) -> Generator[CrashImage, None, None]:
    """Put a server under load and crash it; yield each crash image as soon as it is kept.

    `home`: folder of the lab's own storage. `attach`: needed for a load on another storage. Where the load goes on after a
    crash, it stands still until the next image is asked for. Raises `LabError`; images that were yielded before stay.
    """
    spec, kind = load.spec, load.kind
    assert all(each.spec.alike() == spec for each in load.wanted)
    assert len(load.wanted) == 1 or kind.goes_on
    dataset = make_dataset(lab, home, load.server, load.workload, spec.dataset)
    with (
        _place(home, dataset, spec, attach) as place,
        place.blamed(),
        _site(lab, home, load, dataset, place) as site,
        place.blamed(),
    ):
        _copy_dataset(lab, load.server, dataset, place, site.folder)
        with lab.progress.stage(_title(load.server, spec), "fill") as stage, _logs_kept(site.story, load.failed):
            with _under_load(site, load, stage) as loaded:
                for wanted in sorted(load.wanted, key=lambda each: each.moment or 0.0):
                    struck = loaded.strike(wanted, load.before_crash)
                    if kind.goes_on:
                        stage.say("keeping what the crash left")
                        yield _keep(site, struck)
                        loaded.go_on()
            stage.outcome = _outcome(struck, len(load.wanted))
        if not kind.goes_on:
            lab.progress.note(f"struck because {struck.why}")
            with lab.progress.stage("keeping what the crash left", "hash"):
                yield _keep(site, struck)


@contextmanager
def _site(lab: Lab, home: Path, load: CrashLoad, dataset: Dataset, place: Place) -> Iterator[_Site]:
    """Have the folders of a load while in it; what has not become an image by then is removed."""
    server, kind, made = load.server, load.kind, datetime.now(UTC)
    layout = server.dialect.layout(load.spec.instance.log_size)
    capacity = server.dialect.capacity(replace(layout, page_size=load.spec.instance.page_size or layout.page_size))
    called = _called(server, load.wanted[0], made)
    # Where the load goes on, its folder never becomes an image.
    folder = place.folder / "instances" / (f"{called}-load" if kind.goes_on else called)
    # A disk whose power is cut must not hold samples and logs.
    story = home / "instances" / f"{called}-story" if kind.cuts_power else folder
    with ExitStack() as making:
        if story != folder:
            making.enter_context(lab.journal.making(story, f"the story of the crash image {called}"))
            files.make_folder(story)
        making.enter_context(lab.journal.making(folder, f"the instance that was to become the crash image {called}"))
        yield _Site(lab, home, server, dataset, place, folder, story, made, capacity)


def _called(server: InstalledServer, wanted: WantedState, made: datetime) -> str:
    log = format_size(wanted.spec.instance.log_size)
    return f"{server.name}-{log}-{made:%Y%m%d-%H%M%S}{wanted.called_besides}"


@contextmanager
def _logs_kept(story: Path, failed: Path | None) -> Iterator[None]:
    """Keep the logs and samples of an instance that fails meanwhile."""
    try:
        yield
    except LabError:
        if failed is not None:
            kept = failed / story.name
            kept.mkdir(parents=True, exist_ok=True)
            for path in [*story.glob("*.log"), *story.glob("*.csv")]:
                shutil.copy(path, kept)
        raise


def _outcome(struck: _Struck, times: int) -> str:
    age, dirty = format_size(struck.last_sample.checkpoint_age or 0), struck.last_sample.dirty_pages
    often = "struck at" if times == 1 else f"struck {times} times, last at"
    return f"{often} an age of {age} with {dirty} dirty pages"


def _keep(site: _Site, struck: _Struck) -> CrashImage:
    """Keep what a crash left as an image, on the lab's own storage."""
    name = site.image_name(struck.wanted)
    home = site.home / "instances" / name
    with ExitStack() as making:
        if home != site.folder:
            making.enter_context(site.lab.journal.making(home, f"what is to become the crash image {name}"))
            prepare_folder(site.server, home)
        try:
            replayed = struck.kind.collect(site.place, home)
            for file in STORY if site.story != home else ():
                if (site.story / file).exists():
                    shutil.copy(site.story / file, home / file)
        finally:
            struck.kind.go_on()
        image = CrashImage(
            format=IMAGE_FORMAT,
            name=name,
            spec=struck.wanted.spec,
            redo_format=site.server.dialect.redo_format,
            made=site.made,
            why_killed=struck.why,
            fill_seconds=struck.seconds,
            last_sample=struck.last_sample,
            settings=struck.used.settings,
            variables=struck.used.variables,
            capacity=site.capacity,
            binary_log_bytes=last_file_size(home / DATA),
            undo_growth=undo_bytes(home / DATA) - undo_bytes(site.dataset.folder / DATA),
            hashes=files.hash_folder(home / DATA),
            steady=struck.steady,
            late_share=struck.late_share,
            moment=struck.wanted.moment,
            load=site.folder.name,
            journal_replayed_s=replayed,
        )
        ImageStore(site.home, site.lab.identity()).keep(image, home)
    return image


@contextmanager
def _place(storage: Path, dataset: Dataset, spec: CrashSpec, attach: Attach | None) -> Iterator[Place]:
    """Yield the place on the storage where the server is under load."""
    cut = crash_kind(spec.crash).cuts_power
    if spec.storage == HOME and not cut:
        yield own_place(storage)
        return
    assert attach is not None
    size = data_directory(spec.dataset.size, spec.instance.log_size, binary_log=spec.binary_log_room)
    with attach(spec.storage, Contents(dataset.spec.key, dataset.folder / DATA, size), to_be_cut=cut) as place:
        yield place


def _copy_dataset(lab: Lab, server: InstalledServer, dataset: Dataset, place: Place, folder: Path) -> None:
    """Make a copy of a dataset what an instance in `folder` starts on, with a log of any size."""
    prepare_folder(server, folder)
    with lab.progress.stage(f"copying the dataset ({format_size(dataset.size)})", "copy"):
        files.remove(folder / DATA)
        copies.copy_folder(place.staged or dataset.folder / DATA, folder / DATA)
        for log_file in server.dialect.old_log_files:
            files.remove(folder / DATA / log_file)


def _title(server: InstalledServer, spec: CrashSpec) -> str:
    log, where = format_size(spec.instance.log_size), "" if spec.storage == HOME else f" on {spec.storage}"
    if spec.kill.steady is not None:
        return f"{server.name} under {spec.workload}{where}, redo log {log}, until the load is steady"
    if spec.kill.wants_no_age:
        return f"{server.name} under {spec.workload}{where}, redo log {log}"
    return f"filling the redo log of {server.name} with {spec.workload}{where}"


@dataclass(slots=True)
class _LoadedServer:
    """A server under load, which can be struck."""

    site: _Site
    spec: CrashSpec
    instance: Instance
    control: Connection
    used: UsedInstance
    running: RunningWorkload
    samples: SampleFile
    moments: CsvFile[WorkloadMoment]
    sampler: Sampler
    stage: Stage
    began: float
    """Monotonic second at which the load began, later by as long as it stood still."""
    struck_at: float = 0.0

    def strike(self, wanted: WantedState, before_crash: Callable[[Instance], None] | None) -> _Struck:
        """Wait until the crash is due, call `before_crash`, and strike. Raises `LabError`."""
        kind = crash_kind(self.spec.crash)
        fill = Fill(self.spec.kill, self.site.capacity, self.began, wanted.moment)
        why, last = self._wait_until_due(fill)
        if self.spec.binary_log_end is not None:
            why = end_binary_log(self.instance, self.spec.binary_log_end, self.stage)
        if before_crash is not None:
            before_crash(self.instance)
            last = self.instance.sample(self.control)
        if self.spec.pool_dump:
            dump_pool(self.control, self.stage)
            last = self.instance.sample(self.control)
        # At once: a server at its limit may answer one more question only when its checkpoint has moved on.
        self.struck_at = kind.strike(self.instance, self.site.place).monotonic
        late_share = self.site.place.late_share()
        self.samples.append(last)
        steady = None if self.spec.kill.steady is None else fill.is_steady(last.monotonic, last)
        return _Struck(wanted, kind, why, self.struck_at - self.began, last, self.used, steady, late_share)

    def go_on(self) -> None:
        """Leave out of the load's time how long it has stood still since it was struck."""
        self.began += now().monotonic - self.struck_at

    def _wait_until_due(self, fill: Fill) -> tuple[str, Sample]:
        """Return the reason why the crash is due, and the sample that shows it."""
        commits_per_second: float | None = None
        while True:
            reported = self.running.moments()
            fill.hear(reported)
            for moment in reported:
                self.moments.append(moment)
                commits_per_second = moment.commits_per_second
            self.running.check_running()
            self.instance.check_running()
            if self.sampler.failure is not None:
                raise self.sampler.failure
            sample = self.instance.sample(self.control)
            if why := fill.reason_to_kill(sample.monotonic, sample):
                return why, sample
            done, total = fill.progress(sample.monotonic, sample)
            self.stage.advance(done, total, fill.words(sample.monotonic, sample, commits_per_second))
            time.sleep(fill.pause(sample.monotonic, sample))


@contextmanager
def _under_load(site: _Site, load: CrashLoad, stage: Stage) -> Iterator[_LoadedServer]:
    """Have a server under load while in it, sampled and with the transactions that are to be open at the crash."""
    spec, story = load.spec, site.story
    if _is_measured(spec):
        drop_page_cache()
    with (
        ExitStack() as running_load,
        site.place.limited(),
        Instance.start(site.server, site.folder, spec.instance, story / FILL_LOG) as instance,
        closing(SampleFile(story / SAMPLES)) as samples,
        closing(CsvFile(story / WORKLOAD, WorkloadMoment)) as moments,
    ):
        stage.say("starting the server")
        instance.wait_ready()
        with instance.answering():
            control = instance.connections.connect(answer=_ANSWER)
            sampling = instance.connections.connect(answer=_ANSWER_WHILE_COPIED if load.kind.goes_on else _ANSWER)
            used = instance.used(control)
            # What a cut transaction is to change is not changed by another before.
            rows_open = 0 if spec.binary_log_end is not None else spec.dataset.open_transaction_rows
            held_open = open_transaction(instance, rows_open, stage)
            prepare_transactions(instance, spec.prepared_transactions, stage)
            running = running_load.enter_context(
                load.workload.run(site.lab.tools, instance, spec.dataset.data, spec.clients, story / "workload.log")
            )
            began = now().monotonic
            take, record = _sampling(instance, sampling, spec, samples, running_load, site)
            with Sampler(take, load.sample_every, record) as sampler:
                yield _LoadedServer(
                    site, spec, instance, control, used, running, samples, moments, sampler, stage, began
                )
    # Only now: until the crash, whoever holds it must not be collected, which would roll it back.
    held_open.close()


def _is_measured(spec: CrashSpec) -> bool:
    """Return True if the load itself is measured, and not only the crash image."""
    return spec.instance.purpose.is_production


def _sampling(
    instance: Instance,
    connection: Connection,
    spec: CrashSpec,
    samples: SampleFile,
    load: ExitStack,
    site: _Site,
) -> tuple[Callable[[], Sample], Callable[[Sample], None]]:
    """Return a function that takes a sample and one that records it.

    If the load is measured, samples have all counters, and the machine's counters are recorded too.
    """
    if not _is_measured(spec):
        return lambda: instance.sample(connection), samples.append

    def take() -> Sample:
        return instance.whole_sample(connection)

    device = site.place.device
    if device is None:
        return take, samples.append
    machine = load.enter_context(closing(CsvFile(site.story / MACHINE, MachineSample)))

    def record(sample: Sample) -> None:
        samples.append(sample)
        machine.append(machine_sample(device))

    return take, record
