"""The crash: a filled redo log, a SIGKILL, and the data directory as that left it, kept as a crash image."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from pymysql.connections import Connection

from redolab.clock import now
from redolab.counters import Sample
from redolab.crashes.dataset import OPEN_TRANSACTION_TABLE, Dataset, make_dataset
from redolab.crashes.fill import Fill
from redolab.crashes.images import (
    FILL_LOG,
    IMAGE_FORMAT,
    MACHINE,
    SAMPLES,
    STORY,
    WORKLOAD,
    CrashImage,
    CrashSpec,
    ImageStore,
    undo_bytes,
)
from redolab.errors import LabError
from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.machine.device import BlockDevice
from redolab.machine.page_cache import drop_page_cache
from redolab.models.capacity import RedoCapacity
from redolab.models.sizes import data_directory
from redolab.progress import Stage
from redolab.samples.machine_use import MachineSample, machine_sample
from redolab.samples.sampler import CsvFile, SampleFile, Sampler
from redolab.servers.dialects import Purpose
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, UsedInstance, prepare_folder
from redolab.storage.attaching import Contents
from redolab.storage.known import HOME
from redolab.storage.place import Place
from redolab.units import format_size
from redolab.workloads.contract import DATABASE, RunningWorkload, Workload, WorkloadMoment

_ANSWER = 120.0
_PREPARED_TABLE = f"{DATABASE}.prepared"
_SOMETIMES = 100
_PREPARING = 32
"""Connections at once: fewer than any server allows."""
_DUMPED = "dump completed"
_OFTEN = 0.01


@dataclass(frozen=True, slots=True)
class _Crash:
    why: str
    seconds: float
    last_sample: Sample
    used: UsedInstance
    steady: bool | None
    late_share: float | None


Attach: TypeAlias = Callable[[str, Contents], AbstractContextManager[Place]]
"""While in it: the storage of that name is there, with a copy of the contents on it if it is modelled."""


def make_image(
    lab: Lab,
    storage: Path,
    server: InstalledServer,
    workload: Workload,
    spec: CrashSpec,
    every: float,
    keep_failed: Callable[[Path], None] = lambda _: None,
    called_besides: str = "",
    attach: Attach | None = None,
) -> CrashImage:
    """Load, put under load, kill, and keep what is left; samples are taken `every` so many seconds.

    The image is named after server, log and time, with `called_besides` behind. `attach` is needed for a load on another
    storage than the lab's own.

    Raises `LabError`, after `keep_failed` has been given the folder of the instance that failed.
    """
    dataset = make_dataset(lab, storage, server, workload, spec.dataset)
    made = datetime.now(UTC)
    name = f"{server.name}-{format_size(spec.instance.log_size)}-{made:%Y%m%d-%H%M%S}{called_besides}"
    layout = server.dialect.layout(spec.instance.log_size)
    capacity = server.dialect.capacity(replace(layout, page_size=spec.instance.page_size or layout.page_size))
    with _place(storage, dataset, spec, attach) as place:
        folder = place.folder / "instances" / name
        with (
            place.blamed(),
            lab.journal.making(folder, f"the instance that was to become the crash image {name}"),
            place.blamed(),
        ):
            _copy_dataset(lab, server, dataset, place, folder)
            with lab.progress.stage(_title(server, spec), "fill") as stage:
                try:
                    crash = _fill_and_kill(lab, server, workload, spec, capacity, folder, place, every, stage)
                except LabError:
                    keep_failed(folder)
                    raise
            lab.progress.note(f"killed because {crash.why}")
            undo_growth = undo_bytes(folder / DATA) - undo_bytes(dataset.folder / DATA)
            with _at_home(lab, server, folder, storage / "instances" / name) as left:
                with lab.progress.stage("hashing the crash image", "hash"):
                    hashes = files.hash_folder(left / DATA)
                image = CrashImage(
                    format=IMAGE_FORMAT,
                    name=name,
                    spec=spec,
                    redo_format=server.dialect.redo_format,
                    made=made,
                    why_killed=crash.why,
                    fill_seconds=crash.seconds,
                    last_sample=crash.last_sample,
                    settings=crash.used.settings,
                    variables=crash.used.variables,
                    capacity=capacity,
                    hashes=hashes,
                    undo_growth=undo_growth,
                    steady=crash.steady,
                    late_share=crash.late_share,
                )
                ImageStore(storage).keep(image, left)
    return image


@contextmanager
def _place(storage: Path, dataset: Dataset, spec: CrashSpec, attach: Attach | None) -> Iterator[Place]:
    """While in it: there is a place on the storage on which the server is to be under load."""
    if spec.storage == HOME:
        yield Place(name=HOME, folder=storage, device=BlockDevice.under(storage))
        return
    assert attach is not None
    size = data_directory(spec.dataset.size, spec.instance.log_size, binary_log=spec.instance.binary_log)
    with attach(spec.storage, Contents(dataset.spec.key, dataset.folder / DATA, size)) as place:
        yield place


def _copy_dataset(lab: Lab, server: InstalledServer, dataset: Dataset, place: Place, folder: Path) -> None:
    """Make a copy of a dataset what an instance in `folder` starts on, with a log of any size."""
    prepare_folder(server, folder)
    with lab.progress.stage(f"copying the dataset ({format_size(dataset.size)})", "copy"):
        files.remove(folder / DATA)
        copies.copy_folder(place.staged or dataset.folder / DATA, folder / DATA)
        for log_file in server.dialect.old_log_files:
            files.remove(folder / DATA / log_file)


@contextmanager
def _at_home(lab: Lab, server: InstalledServer, folder: Path, home: Path) -> Iterator[Path]:
    """While in it: what a crash left in `folder` is on the lab's own storage, and where."""
    if folder == home:
        yield folder
        return
    with lab.journal.making(home, f"what is to become the crash image {home.name}"):
        prepare_folder(server, home)
        with lab.progress.stage("copying what the crash left to the lab's own storage", "copy"):
            files.remove(home / DATA)
            copies.copy_folder(folder / DATA, home / DATA)
            for name in STORY:
                if (folder / name).exists():
                    shutil.copy(folder / name, home / name)
        yield home


def _title(server: InstalledServer, spec: CrashSpec) -> str:
    log, where = format_size(spec.instance.log_size), "" if spec.storage == HOME else f" on {spec.storage}"
    if spec.kill.steady is not None:
        return f"{server.name} under {spec.workload}{where}, redo log {log}, until the load is steady"
    return f"filling the redo log of {server.name} with {spec.workload}{where}"


def _fill_and_kill(
    lab: Lab,
    server: InstalledServer,
    workload: Workload,
    spec: CrashSpec,
    capacity: RedoCapacity,
    folder: Path,
    place: Place,
    every: float,
    stage: Stage,
) -> _Crash:
    if _is_measured(spec):
        drop_page_cache()
    with (
        ExitStack() as load,
        place.limited(),
        Instance.start(server, folder, spec.instance, folder / FILL_LOG) as instance,
        closing(SampleFile(folder / SAMPLES)) as samples,
        closing(CsvFile(folder / WORKLOAD, WorkloadMoment)) as moments,
    ):
        stage.say("starting the server")
        instance.wait_ready()
        with instance.answering():
            control, sampling = (instance.connections.connect(answer=_ANSWER) for _ in range(2))
            used = instance.used(control)
            held_open = _open_transaction(instance, spec.dataset.open_transaction_rows, stage)
            _prepare_transactions(instance, spec.prepared_transactions, stage)
            running = load.enter_context(
                workload.run(lab.tools, instance, spec.dataset.data, spec.clients, folder / "workload.log")
            )
            began = now().monotonic
            fill = Fill(spec.kill, capacity, began)
            take, record = _sampling(instance, sampling, spec, samples, load, folder, place)
            with Sampler(take, every, record) as sampler:
                why = _wait_for_the_moment(instance, control, fill, running, moments, sampler, stage)
            late_share = place.late_share()
            if spec.pool_dump:
                _dump_pool(control, stage)
            last = instance.sample(control)
            killed = instance.kill()
            samples.append(last)
        # Only now: until the kill, whoever holds it must not be collected, which would roll it back.
        held_open.close()
        age = format_size(last.checkpoint_age or 0)
        stage.outcome = f"killed at an age of {age} with {last.dirty_pages} dirty pages"
        steady = None if spec.kill.steady is None else fill.is_steady(last.monotonic, last)
        return _Crash(why, killed.monotonic - began, last, used, steady, late_share)


def _is_measured(spec: CrashSpec) -> bool:
    """Whether the load itself is looked at, and not only what its crash leaves."""
    return spec.instance.purpose is Purpose.PRODUCTION


def _sampling(
    instance: Instance,
    connection: Connection,
    spec: CrashSpec,
    samples: SampleFile,
    load: ExitStack,
    folder: Path,
    place: Place,
) -> tuple[Callable[[], Sample], Callable[[Sample], None]]:
    """What takes a sample, and what records it; of a load that is measured, with all counters, and what the machine does."""
    if not _is_measured(spec):
        return lambda: instance.sample(connection), samples.append

    def take() -> Sample:
        return instance.whole_sample(connection)

    if place.device is None:
        return take, samples.append
    device, machine = place.device, load.enter_context(closing(CsvFile(folder / MACHINE, MachineSample)))

    def record(sample: Sample) -> None:
        samples.append(sample)
        machine.append(machine_sample(device))

    return take, record


def _open_transaction(instance: Instance, rows: int, stage: Stage) -> Connection:
    """A connection with a transaction in which so many rows are changed and nothing is committed."""
    connection = instance.connections.connect()
    if rows:
        stage.say(f"changing {rows} rows in a transaction that stays open")
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"UPDATE {OPEN_TRANSACTION_TABLE} SET changed = 1, filler = REPEAT('x', 100)")
    return connection


def _prepare_transactions(instance: Instance, count: int, stage: Stage) -> None:
    """XA transactions that are prepared and left: each from a connection of its own, which closes without ending it."""
    if not count:
        return
    with instance.connections.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {_PREPARED_TABLE} (id INT NOT NULL PRIMARY KEY) ENGINE=InnoDB")

    def prepare(number: int) -> None:
        with instance.connections.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"XA START '{number}'")
            cursor.execute(f"INSERT INTO {_PREPARED_TABLE} VALUES ({number})")
            cursor.execute(f"XA END '{number}'")
            cursor.execute(f"XA PREPARE '{number}'")

    # Many at once share the flushes of the log, on which each would wait alone.
    pool = ThreadPoolExecutor(max_workers=_PREPARING)
    try:
        for number, _ in enumerate(pool.map(prepare, range(1, count + 1)), start=1):
            if number % _SOMETIMES == 0:
                stage.say(f"preparing {number:,} of {count:,} XA transactions")
    finally:
        pool.shutdown(cancel_futures=True)


def _dump_pool(control: Connection, stage: Stage) -> None:
    """Have the list of the buffer pool's pages written; raises `LabError` if that takes longer than any dump does."""
    stage.say("dumping the buffer pool")
    deadline = now().monotonic + _ANSWER
    with control.cursor() as cursor:
        cursor.execute("SET GLOBAL innodb_buffer_pool_dump_now = ON")
        while now().monotonic < deadline:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_dump_status'")
            row = cursor.fetchone()
            if row is not None and _DUMPED in str(row[1]):
                return
            time.sleep(_OFTEN)
    raise LabError(f"the buffer pool was not dumped within {_ANSWER:.0f} s", "POOLDUMP=off does without")


def _wait_for_the_moment(
    instance: Instance,
    control: Connection,
    fill: Fill,
    running: RunningWorkload,
    moments: CsvFile[WorkloadMoment],
    sampler: Sampler,
    stage: Stage,
) -> str:
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
            return why
        done, total = fill.progress(sample.monotonic, sample)
        stage.advance(done, total, fill.words(sample.monotonic, sample, commits_per_second))
        time.sleep(fill.pause(sample.monotonic, sample))
