"""A crash: a server under load is crashed at the chosen time, and its data directory kept as a crash state."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from pymysql.connections import Connection

from redolab.clock import now
from redolab.counters import Sample
from redolab.crashes.dataset import make_dataset
from redolab.crashes.fill import Fill
from redolab.crashes.kinds import crash_kind
from redolab.crashes.kinds.contract import CrashKind
from redolab.crashes.transactions import dump_pool, open_transaction, prepare_transactions
from redolab.crashes.undo import undo_bytes
from redolab.errors import LabError
from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.machine.device import BlockDevice
from redolab.machine.facts import MachineSample
from redolab.machine.page_cache import drop_page_cache
from redolab.models.capacity import RedoCapacity
from redolab.models.sizes import data_directory
from redolab.progress import Stage
from redolab.records.crash import FILL_LOG, IMAGE_FORMAT, MACHINE, SAMPLES, STORY, WORKLOAD, CrashImage, CrashSpec
from redolab.samples.machine_use import machine_sample
from redolab.samples.sampler import CsvFile, SampleFile, Sampler
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, UsedInstance, prepare_folder
from redolab.states.datasets import Dataset
from redolab.states.images import ImageStore
from redolab.storage.attaching import Contents
from redolab.storage.place import Place
from redolab.storage.profiles import HOME
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
    """A crash state to make."""

    spec: CrashSpec
    moment: float | None = None
    """Seconds of the load after which the server is struck, if the spec's rule draws that; else None."""
    called_besides: str = ""
    """Suffix of the state's name, after server, log size and time."""


@dataclass(frozen=True, slots=True)
class _Load:
    """A server under load, and all that is read of it."""

    lab: Lab
    server: InstalledServer
    spec: CrashSpec
    """Spec without its number."""
    capacity: RedoCapacity
    dataset: Dataset
    folder: Path
    """Folder of the instance."""
    story: Path
    """Folder of samples and logs during the load: the instance's, unless a power cut would take it."""
    place: Place
    home: Path
    """The lab's own storage."""
    made: datetime

    def name(self, wanted: WantedState) -> str:
        """Return the name of a crash state of this load."""
        log = format_size(self.spec.instance.log_size)
        return f"{self.server.name}-{log}-{self.made:%Y%m%d-%H%M%S}{wanted.called_besides}"


@dataclass(frozen=True, slots=True)
class _Struck:
    """A server right after it was struck."""

    wanted: WantedState
    kind: CrashKind
    why: str
    seconds: float
    last_sample: Sample
    used: UsedInstance
    steady: bool | None
    late_share: float | None


def make_states(
    lab: Lab,
    storage: Path,
    server: InstalledServer,
    workload: Workload,
    wanted: Sequence[WantedState],
    every: float,
    kept: Callable[[CrashImage], None],
    keep_failed_instance: Callable[[Path], None] = lambda _: None,
    attach: Attach | None = None,
) -> None:
    """Load the data, start the load, crash the server, and keep each crash state; `kept` receives it at once.

    A sample is taken every `every` seconds. All wanted states come from one load: their specs differ only in their
    number. Several are possible only for a kind of crash after which the load goes on. `attach` is needed for a load
    on another storage than the lab's own.

    Raises `LabError`, after `keep_failed_instance` has received the folder of the failed instance; states kept before
    stay.
    """
    spec = wanted[0].spec.alike()
    assert all(each.spec.alike() == spec for each in wanted)
    assert len(wanted) == 1 or crash_kind(spec.crash).goes_on
    dataset = make_dataset(lab, storage, server, workload, spec.dataset)
    layout = server.dialect.layout(spec.instance.log_size)
    capacity = server.dialect.capacity(replace(layout, page_size=spec.instance.page_size or layout.page_size))
    with _place(storage, dataset, spec, attach) as place:
        made = datetime.now(UTC)
        called = f"{server.name}-{format_size(spec.instance.log_size)}-{made:%Y%m%d-%H%M%S}{wanted[0].called_besides}"
        # Where the load goes on its folder never becomes a state.
        folder = place.folder / "instances" / (f"{called}-load" if crash_kind(spec.crash).goes_on else called)
        # A disk whose power is cut must not hold samples and logs.
        story = storage / "instances" / f"{called}-story" if crash_kind(spec.crash).cuts_power else folder
        load = _Load(lab, server, spec, capacity, dataset, folder, story, place, storage, made)
        with (
            place.blamed(),
            ExitStack() as making,
            place.blamed(),
        ):
            if story != folder:
                making.enter_context(lab.journal.making(story, f"the story of the crash image {called}"))
                files.make_folder(story)
            making.enter_context(
                lab.journal.making(folder, f"the instance that was to become the crash image {called}")
            )
            _copy_dataset(lab, server, dataset, place, folder)
            with lab.progress.stage(_title(server, spec), "fill") as stage:
                try:
                    ended = _under_load(load, workload, wanted, every, stage, kept)
                except LabError:
                    keep_failed_instance(story)
                    raise
            if ended is not None:
                lab.progress.note(f"struck because {ended.why}")
                with lab.progress.stage("keeping what the crash left", "hash"):
                    kept(_keep_state(load, ended))


def _keep_state(load: _Load, struck: _Struck) -> CrashImage:
    """Keep a crash state on the lab's own storage."""
    name = load.name(struck.wanted)
    lab, home = load.lab, load.home / "instances" / name
    with ExitStack() as making:
        if home != load.folder:
            making.enter_context(lab.journal.making(home, f"what is to become the crash image {name}"))
            prepare_folder(load.server, home)
        try:
            replayed = struck.kind.collect(load.place, home)
            for file in STORY if load.story != home else ():
                if (load.story / file).exists():
                    shutil.copy(load.story / file, home / file)
        finally:
            struck.kind.go_on()
        undo_growth = undo_bytes(home / DATA) - undo_bytes(load.dataset.folder / DATA)
        hashes = files.hash_folder(home / DATA)
        image = CrashImage(
            format=IMAGE_FORMAT,
            name=name,
            spec=struck.wanted.spec,
            redo_format=load.server.dialect.redo_format,
            made=load.made,
            why_killed=struck.why,
            fill_seconds=struck.seconds,
            last_sample=struck.last_sample,
            settings=struck.used.settings,
            variables=struck.used.variables,
            capacity=load.capacity,
            hashes=hashes,
            undo_growth=undo_growth,
            steady=struck.steady,
            late_share=struck.late_share,
            moment=struck.wanted.moment,
            load=load.folder.name,
            journal_replayed_s=replayed,
        )
        ImageStore(load.home, lab.identity()).keep(image, home)
    return image


@contextmanager
def _place(storage: Path, dataset: Dataset, spec: CrashSpec, attach: Attach | None) -> Iterator[Place]:
    """Yield the place on the storage where the server is under load."""
    cut = crash_kind(spec.crash).cuts_power
    if spec.storage == HOME and not cut:
        yield Place(name=HOME, folder=storage, device=BlockDevice.under(storage))
        return
    assert attach is not None
    size = data_directory(spec.dataset.size, spec.instance.log_size, binary_log=spec.instance.binary_log)
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


def _under_load(
    load: _Load,
    workload: Workload,
    wanted: Sequence[WantedState],
    every: float,
    stage: Stage,
    keep: Callable[[CrashImage], None],
) -> _Struck | None:
    """Crash the server at each time; keep the state at once if it survives, else return the crash, the server gone."""
    spec, folder, story, place = load.spec, load.folder, load.story, load.place
    if _is_measured(spec):
        drop_page_cache()
    struck: _Struck | None = None
    with (
        ExitStack() as running_load,
        place.limited(),
        Instance.start(load.server, folder, spec.instance, story / FILL_LOG) as instance,
        closing(SampleFile(story / SAMPLES)) as samples,
        closing(CsvFile(story / WORKLOAD, WorkloadMoment)) as moments,
    ):
        stage.say("starting the server")
        instance.wait_ready()
        with instance.answering():
            control = instance.connections.connect(answer=_ANSWER)
            stands_still = any(crash_kind(each.spec.crash).goes_on for each in wanted)
            sampling = instance.connections.connect(answer=_ANSWER_WHILE_COPIED if stands_still else _ANSWER)
            used = instance.used(control)
            held_open = open_transaction(instance, spec.dataset.open_transaction_rows, stage)
            prepare_transactions(instance, spec.prepared_transactions, stage)
            running = running_load.enter_context(
                workload.run(load.lab.tools, instance, spec.dataset.data, spec.clients, story / "workload.log")
            )
            began = now().monotonic
            take, record = _sampling(instance, sampling, spec, samples, running_load, story, place)
            with Sampler(take, every, record) as sampler:
                for each in sorted(wanted, key=lambda state: state.moment or 0.0):
                    fill, kind = Fill(spec.kill, load.capacity, began, each.moment), crash_kind(spec.crash)
                    why, last = _wait_for_the_moment(instance, control, fill, running, moments, sampler, stage)
                    if spec.pool_dump:
                        dump_pool(control, stage)
                        last = instance.sample(control)
                    # At once: a server at its limit may answer one more question only when its checkpoint has moved on.
                    moment = kind.strike(instance, place)
                    late_share = place.late_share()
                    samples.append(last)
                    steady = None if spec.kill.steady is None else fill.is_steady(last.monotonic, last)
                    struck = _Struck(each, kind, why, moment.monotonic - began, last, used, steady, late_share)
                    if kind.goes_on:
                        stage.say("keeping what the crash left")
                        keep(_keep_state(load, struck))
                        # The load stood still meanwhile.
                        began += now().monotonic - moment.monotonic
        # Only now: until the crash, whoever holds it must not be collected, which would roll it back.
        held_open.close()
        age = format_size(last.checkpoint_age or 0)
        stage.outcome = f"struck at an age of {age} with {last.dirty_pages} dirty pages"
        if len(wanted) > 1:
            stage.outcome = f"struck {len(wanted)} times, last at an age of {age} with {last.dirty_pages} dirty pages"
    return None if struck is None or struck.kind.goes_on else struck


def _is_measured(spec: CrashSpec) -> bool:
    """Return True if the load itself is measured, and not only the crash state."""
    return spec.instance.purpose.is_production


def _sampling(
    instance: Instance,
    connection: Connection,
    spec: CrashSpec,
    samples: SampleFile,
    load: ExitStack,
    story: Path,
    place: Place,
) -> tuple[Callable[[], Sample], Callable[[Sample], None]]:
    """Return a function that takes a sample and one that records it.

    If the load is measured, samples have all counters, and the machine's counters are recorded too.
    """
    if not _is_measured(spec):
        return lambda: instance.sample(connection), samples.append

    def take() -> Sample:
        return instance.whole_sample(connection)

    if place.device is None:
        return take, samples.append
    device, machine = place.device, load.enter_context(closing(CsvFile(story / MACHINE, MachineSample)))

    def record(sample: Sample) -> None:
        samples.append(sample)
        machine.append(machine_sample(device))

    return take, record


def _wait_for_the_moment(
    instance: Instance,
    control: Connection,
    fill: Fill,
    running: RunningWorkload,
    moments: CsvFile[WorkloadMoment],
    sampler: Sampler,
    stage: Stage,
) -> tuple[str, Sample]:
    """Wait until it is time to crash the server. Return the reason and the sample that shows it."""
    commits_per_second: float | None = None
    while True:
        reported = running.moments()
        fill.hear(reported)
        for moment in reported:
            moments.append(moment)
            commits_per_second = moment.commits_per_second
        running.check_running()
        instance.check_running()
        if sampler.failure is not None:
            raise sampler.failure
        sample = instance.sample(control)
        if why := fill.reason_to_kill(sample.monotonic, sample):
            return why, sample
        done, total = fill.progress(sample.monotonic, sample)
        stage.advance(done, total, fill.words(sample.monotonic, sample, commits_per_second))
        time.sleep(fill.pause(sample.monotonic, sample))
