"""A crash: a server under load is crashed at the chosen time, and its data directory kept as a crash image."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pymysql.connections import Connection

from redolab.clock import now
from redolab.counters.sampler import CsvFile, SampleFile, Sampler, machine_sample
from redolab.crash.binary_log import end_binary_log, last_file_size
from redolab.crash.dataset import copy_dataset, make_dataset
from redolab.crash.dataset_store import Dataset
from redolab.crash.fill import Fill
from redolab.crash.image_store import ImageStore
from redolab.crash.kinds import KINDS
from redolab.crash.kinds.contract import CrashKind
from redolab.crash.records.crash import FILL_LOG, IMAGE_FORMAT, MACHINE, SAMPLES, STORY, WORKLOAD, CrashImage, CrashSpec
from redolab.crash.transactions import dump_pool, open_transaction, prepare_transactions
from redolab.disks.attaching import Contents, Storages
from redolab.disks.place import Place, own_place
from redolab.disks.profiles import HOME
from redolab.errors import LabError
from redolab.lab import Lab
from redolab.machine import files
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
from redolab.workloads.data import WorkloadReport

_ANSWER = 120.0
_ANSWER_WHILE_STOPPED = 3600.0
"""A server that is stopped while its files are copied and hashed answers afterwards."""
_UNDO_FILES = ("ibdata*", "undo[0-9][0-9][0-9]", "undo_[0-9][0-9][0-9]")
"""Names of the files of a data directory that hold undo: `ibdata1`, and undo tablespaces as all versions name them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedState:
    """A crash image to make."""

    spec: CrashSpec
    moment: float | None = None
    """Seconds of the load after which the server is crashed, if the spec's rule draws that; else None."""
    name_suffix: str = ""
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
        return self.wanted[0].spec.comparable()

    @property
    def kind(self) -> CrashKind:
        """Kind of its crashes."""
        return KINDS[self.spec.crash]


@dataclass(frozen=True, slots=True)
class _Site:
    """Places of a load: its storage, and the folders of its instance and of its records."""

    lab: Lab
    server: InstalledServer
    dataset: Dataset
    place: Place
    folder: Path
    """Folder of the instance."""
    story: Path
    """Folder of samples and logs: the instance's own, unless a power cut would take it."""
    made: datetime
    capacity: RedoCapacity


@dataclass(frozen=True, slots=True)
class _Struck:
    """A server right after it was struck; seconds since the load began."""

    wanted: WantedState
    instance: Instance
    why: str
    seconds: float
    last_sample: Sample
    used: UsedInstance
    steady: bool | None
    late_share: float | None


def crash_images(lab: Lab, load: CrashLoad, storages: Storages | None = None) -> Generator[CrashImage, None, None]:
    """Put a server under load and crash it; yield each crash image as soon as it is kept.

    `storages`: needed for a load on a disk other than the lab's own. Where the load goes on after a crash, its time stands
    still until the next image is asked for. Raises `LabError`; images that were yielded before stay.
    """
    spec, kind = load.spec, load.kind
    assert all(each.spec.comparable() == spec for each in load.wanted)
    assert len(load.wanted) == 1 or kind.goes_on
    dataset = make_dataset(lab, load.server, load.workload, spec.dataset)
    with (
        _place(lab, dataset, spec, storages) as place,
        place.blamed(),
        _site(lab, load, dataset, place) as site,
        place.blamed(),
    ):
        with lab.progress.stage(f"copying the dataset ({format_size(dataset.size)})", "copy"):
            copy_dataset(load.server, place.staged or dataset.folder / DATA, site.folder)
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
def _site(lab: Lab, load: CrashLoad, dataset: Dataset, place: Place) -> Iterator[_Site]:
    """Provide the folders of a load during the block. Those that have not become an image are removed afterwards."""
    server, kind, made = load.server, load.kind, datetime.now(UTC)
    layout = server.dialect.layout(load.spec.instance.log_size)
    capacity = server.dialect.capacity(replace(layout, page_size=load.spec.instance.page_size or layout.page_size))
    name = _image_name(server, load.wanted[0], made)
    # Where the load goes on, its folder never becomes an image.
    folder = place.folder / "instances" / (f"{name}-load" if kind.goes_on else name)
    # A disk whose power is cut must not hold samples and logs.
    story = lab.home / "instances" / f"{name}-story" if kind.cuts_power else folder
    with ExitStack() as making:
        if story != folder:
            making.enter_context(lab.journal.making(story, f"the story of the crash image {name}"))
            files.make_folder(story)
        making.enter_context(lab.journal.making(folder, f"the instance that was to become the crash image {name}"))
        yield _Site(lab, server, dataset, place, folder, story, made, capacity)


def _image_name(server: InstalledServer, wanted: WantedState, made: datetime) -> str:
    log = format_size(wanted.spec.instance.log_size)
    return f"{server.name}-{log}-{made:%Y%m%d-%H%M%S}{wanted.name_suffix}"


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
    struck_at = "struck at" if times == 1 else f"struck {times} times, last at"
    return f"{struck_at} an age of {age} with {dirty} dirty pages"


def _keep(site: _Site, struck: _Struck) -> CrashImage:
    """Keep what a crash left as an image, on the lab's own storage."""
    name = _image_name(site.server, struck.wanted, site.made)
    home, kind = site.lab.home / "instances" / name, KINDS[struck.wanted.spec.crash]
    with ExitStack() as making:
        if home != site.folder:
            making.enter_context(site.lab.journal.making(home, f"what is to become the crash image {name}"))
            prepare_folder(site.server, home)
        kind.collect(struck.instance, site.place, home)
        for file in STORY if site.story != home else ():
            if (site.story / file).exists():
                shutil.copy(site.story / file, home / file)
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
            undo_growth=_undo_bytes(home / DATA) - _undo_bytes(site.dataset.folder / DATA),
            hashes=files.hash_folder(home / DATA),
            steady=struck.steady,
            late_share=struck.late_share,
            moment=struck.wanted.moment,
            load=site.folder.name,
        )
        ImageStore(site.lab.home, site.lab.identity()).keep(image, home)
    return image


def _undo_bytes(data: Path) -> int:
    """Return the bytes of the files that hold undo in a data directory."""
    return sum(path.stat().st_size for pattern in _UNDO_FILES for path in data.glob(pattern))


@contextmanager
def _place(lab: Lab, dataset: Dataset, spec: CrashSpec, storages: Storages | None) -> Iterator[Place]:
    """Yield the storage on which the server is under load."""
    cut = KINDS[spec.crash].cuts_power
    if spec.storage == HOME and not cut:
        yield own_place(lab.home)
        return
    assert storages is not None
    size = data_directory(spec.dataset.size, spec.instance.log_size, binary_log=spec.binary_log_room)
    contents = Contents(dataset.spec.key, dataset.folder / DATA, size)
    with storages.attached(spec.storage, contents, to_be_cut=cut) as place:
        yield place


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
    reports: CsvFile[WorkloadReport]
    sampler: Sampler
    stage: Stage
    began: float
    """Monotonic second at which the load began, later by as long as it stood still."""
    struck_at: float = 0.0

    def strike(self, wanted: WantedState, before_crash: Callable[[Instance], None] | None) -> _Struck:
        """Wait until the crash is due, call `before_crash`, and strike. Raises `LabError`."""
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
        self.struck_at = KINDS[self.spec.crash].strike(self.instance, self.site.place).monotonic
        late_share = self.site.place.late_share()
        self.samples.append(last)
        steady = None if self.spec.kill.steady is None else fill.is_steady(last)
        return _Struck(wanted, self.instance, why, self.struck_at - self.began, last, self.used, steady, late_share)

    def go_on(self) -> None:
        """Let the server go on, and leave out of the load's time how long it has stood still since it was struck."""
        self.instance.thaw()
        self.began += now().monotonic - self.struck_at

    def _wait_until_due(self, fill: Fill) -> tuple[str, Sample]:
        """Return the reason why the crash is due, and the sample that shows it."""
        while True:
            reported = self.running.reports()
            fill.hear(reported)
            for report in reported:
                self.reports.append(report)
            self.running.check_running()
            self.instance.check_running()
            if self.sampler.failure is not None:
                raise self.sampler.failure
            sample = self.instance.sample(self.control)
            if why := fill.reason_to_kill(sample):
                return why, sample
            done, total = fill.progress(sample)
            self.stage.advance(done, total, fill.words(sample))
            time.sleep(fill.pause(sample))


@contextmanager
def _under_load(site: _Site, load: CrashLoad, stage: Stage) -> Iterator[_LoadedServer]:
    """Run a server under load during the block: sampled, and with the transactions that are open at the crash."""
    spec, story = load.spec, site.story
    # Of a load that is measured itself, samples have all counters.
    is_measured = spec.instance.purpose.is_production
    if is_measured:
        drop_page_cache()
    with (
        ExitStack() as running_load,
        site.place.limited(),
        Instance.start(site.server, site.folder, spec.instance, story / FILL_LOG) as instance,
        closing(SampleFile(story / SAMPLES)) as samples,
        closing(CsvFile(story / WORKLOAD, WorkloadReport)) as reports,
    ):
        stage.say("starting the server")
        instance.wait_ready()
        with instance.answering():
            control = instance.connections.connect(answer=_ANSWER)
            sampling = instance.connections.connect(answer=_ANSWER_WHILE_STOPPED if load.kind.goes_on else _ANSWER)
            used = instance.used(control)
            # What a cut transaction is to change is not changed by another before.
            rows_open = 0 if spec.binary_log_end is not None else spec.dataset.open_transaction_rows
            held_open = open_transaction(instance, rows_open, stage)
            prepare_transactions(instance, spec.prepared_transactions, stage)
            running = running_load.enter_context(
                load.workload.run(site.lab.tools, instance, spec.dataset.data, spec.clients, story / "workload.log")
            )
            began = now().monotonic
            take = instance.whole_sample if is_measured else instance.sample
            record = running_load.enter_context(_recording(site, samples)) if is_measured else samples.append
            with Sampler(lambda: take(sampling), load.sample_every, record) as sampler:
                yield _LoadedServer(
                    site, spec, instance, control, used, running, samples, reports, sampler, stage, began
                )
    # Until the crash the connection must not be garbage-collected: the server would roll its transaction back.
    held_open.close()


@contextmanager
def _recording(site: _Site, samples: SampleFile) -> Iterator[Callable[[Sample], None]]:
    """Provide a function that records a sample, and with it the machine's counters where there is a device."""
    device = site.place.device
    if device is None:
        yield samples.append
        return
    with closing(CsvFile(site.story / MACHINE, MachineSample)) as machine:

        def record(sample: Sample) -> None:
            samples.append(sample)
            machine.append(machine_sample(device))

        yield record
