"""The crash: a filled redo log, a SIGKILL, and the data directory as that left it, kept as a crash image."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import xxhash
from pymysql.connections import Connection

from redolab.dataset import OPEN_TRANSACTION_TABLE, DatasetSpec, make_dataset
from redolab.errors import InvalidInput, LabError
from redolab.fill import Fill, KillRule
from redolab.hosts import Host
from redolab.lab import Lab
from redolab.models.capacity import RedoCapacity
from redolab.progress import Stage
from redolab.sampling import Sample, SampleFile, Sampler, read_samples
from redolab.servers.dialects import InstanceRequest, Setting
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.units import format_size
from redolab.workloads import RunningWorkload, Workload

IMAGE_FORMAT = 1
SAMPLES = "samples.csv"
FILL_LOG = "fill.log"
_MARK = "image.json"
_ANSWER = 120.0
_SELDOM = 0.25
_OFTEN = 0.01


class CrashSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a crash: two images of equal specs answer the same question, and the second need not be made."""

    dataset: DatasetSpec
    workload: str
    threads: int
    kill: KillRule
    instance: InstanceRequest
    made_with: str = ""
    """A hash of what else decides it: the workload's script, and the settings that the lab gives such an instance."""


class CrashImage(msgspec.Struct, frozen=True, kw_only=True):
    """A crash image that is there; its folder holds the data directory as `data`, never started itself."""

    format: int
    name: str
    spec: CrashSpec
    redo_format: str
    made: datetime
    why_killed: str
    fill_seconds: float
    last_sample: Sample
    """Taken right before the SIGKILL."""
    settings: tuple[Setting, ...]
    variables: Mapping[str, str]
    """Every setting the server said it used while it filled."""
    capacity: RedoCapacity
    """The limits of its redo log by formula; the samples have the server's own where it tells them."""
    hashes: Mapping[str, str]
    """Relative path → XXH3 of every file, as the kill left it."""


class ImageStore:
    """The crash images on a storage."""

    def __init__(self, host: Host, storage: Path) -> None:
        self._files = host.files
        self._folder = storage / "images"

    def folder(self, name: str) -> Path:
        """Where an image lies."""
        return self._folder / name

    def data(self, image: CrashImage) -> Path:
        """An image's data directory."""
        return self._folder / image.name / DATA

    def names(self) -> list[str]:
        """The names of all images, those included that another version of the lab made."""
        return list(self._files.names(self._folder))

    def all(self) -> list[CrashImage]:
        """The images that this version of the lab can read, oldest first."""
        found = [self._read(name) for name in self.names()]
        return sorted((image for image in found if image is not None), key=lambda image: image.made)

    def get(self, name: str) -> CrashImage:
        """The image of that name. Raises `InvalidInput`, which lists the names there are."""
        there = {image.name: image for image in self.all()}
        if name not in there:
            known = f"choose from {', '.join(there)}" if there else "'redolab run recovery' makes one"
            raise InvalidInput(f"there is no crash image '{name}'", known)
        return there[name]

    def find(self, spec: CrashSpec) -> CrashImage | None:
        """The newest image made to exactly this spec."""
        return next((image for image in reversed(self.all()) if image.spec == spec), None)

    def keep(self, image: CrashImage, instance: Path) -> None:
        """Make a crashed instance's folder an image: only what the crash left and how it came about stays in it."""
        for name in self._files.names(instance):
            if name not in (DATA, SAMPLES, FILL_LOG):
                self._files.remove(instance / name)
        self._files.write(instance / _MARK, msgspec.json.encode(image))
        self._files.rename(instance, self._folder / image.name)

    def check_unchanged(self, image: CrashImage) -> None:
        """Raises `LabError` if an image is no longer as the kill left it."""
        if self._files.hash_folder(self.data(image)) != image.hashes:
            raise LabError(
                f"the crash image {image.name} was changed since it was made", f"'redolab rm-image {image.name}'"
            )

    def remove(self, name: str) -> None:
        """Remove an image."""
        self._files.remove(self._folder / name)

    def samples(self, image: CrashImage) -> Sequence[Sample]:
        """All samples from the start of the fill to the kill."""
        return read_samples(self.folder(image.name) / SAMPLES)

    def _read(self, name: str) -> CrashImage | None:
        try:
            image = msgspec.json.decode(self._files.read(self._folder / name / _MARK), type=CrashImage)
        except (msgspec.DecodeError, FileNotFoundError):
            return None
        return image if image.format == IMAGE_FORMAT else None


@dataclass(frozen=True, slots=True)
class _Crash:
    why: str
    seconds: float
    last_sample: Sample
    variables: Mapping[str, str]


def made_with(workload: Workload, settings: Sequence[Setting]) -> str:
    """The hash for a `CrashSpec`."""
    return xxhash.xxh3_64_hexdigest(msgspec.json.encode([workload.content(), settings]))


def make_image(
    lab: Lab,
    storage: Path,
    server: InstalledServer,
    workload: Workload,
    spec: CrashSpec,
    every: float,
    keep_failed: Callable[[Path], None] = lambda _: None,
) -> CrashImage:
    """Load, fill, kill, and keep what is left; samples are taken `every` so many seconds.

    Raises `LabError`, after `keep_failed` has been given the folder of the instance that failed.
    """
    dataset = make_dataset(lab, storage, server, spec.dataset)
    made = datetime.now(UTC)
    name = f"{server.name}-{format_size(spec.instance.log_size)}-{made:%Y%m%d-%H%M%S}"
    folder = storage / "instances" / name
    capacity = server.dialect.capacity(server.dialect.layout(spec.instance.log_size))
    with lab.ledger.making(folder, f"the instance that was to become the crash image {name}"):
        prepare_folder(lab.host, server, folder, [])
        with lab.progress.stage(f"copying the dataset ({format_size(dataset.size)})", "copy"):
            lab.host.files.remove(folder / DATA)
            lab.host.files.copy_folder(dataset.folder / DATA, folder / DATA)
            for log_file in server.dialect.old_log_files:
                lab.host.files.remove(folder / DATA / log_file)
        with lab.progress.stage(f"filling the redo log of {server.name} with {spec.workload}", "fill") as stage:
            try:
                crash = _fill_and_kill(lab, server, workload, spec, capacity, folder, every, stage)
            except LabError:
                keep_failed(folder)
                raise
        lab.progress.note(f"killed because {crash.why}")
        with lab.progress.stage("hashing the crash image", "hash"):
            hashes = lab.host.files.hash_folder(folder / DATA)
        image = CrashImage(
            format=IMAGE_FORMAT,
            name=name,
            spec=spec,
            redo_format=server.dialect.redo_format,
            made=made,
            why_killed=crash.why,
            fill_seconds=crash.seconds,
            last_sample=crash.last_sample,
            settings=tuple(server.dialect.settings(spec.instance)),
            variables=crash.variables,
            capacity=capacity,
            hashes=hashes,
        )
        ImageStore(lab.host, storage).keep(image, folder)
    return image


def _fill_and_kill(
    lab: Lab,
    server: InstalledServer,
    workload: Workload,
    spec: CrashSpec,
    capacity: RedoCapacity,
    folder: Path,
    every: float,
    stage: Stage,
) -> _Crash:
    with (
        ExitStack() as load,
        Instance.start(lab.host, server, folder, spec.instance, folder / FILL_LOG) as instance,
        closing(SampleFile(folder / SAMPLES)) as samples,
    ):
        stage.say("starting the server")
        instance.wait_ready()
        with instance.answering():
            control, sampling = (instance.connections.connect(answer=_ANSWER) for _ in range(2))
            variables = read_variables(control)
            held_open = _open_transaction(instance, spec.dataset.open_transaction_rows, stage)
            running = load.enter_context(
                workload.run(lab.host, lab.tools, folder, spec.dataset.tables, spec.threads, folder / "workload.log")
            )
            began = lab.host.now().monotonic
            fill = Fill(spec.kill, capacity, began)
            with Sampler(lambda: instance.sample(sampling), every, samples.append) as sampler:
                why = _wait_for_the_moment(instance, control, fill, running, sampler, stage)
            last = instance.sample(control)
            killed = instance.kill()
            samples.append(last)
        # Only now: until the kill, whoever holds it must not be collected, which would roll it back.
        held_open.close()
        age = format_size(last.checkpoint_age or 0)
        stage.outcome = f"killed at an age of {age} with {last.dirty_pages} dirty pages"
        return _Crash(why, killed.monotonic - began, last, variables)


def _open_transaction(instance: Instance, rows: int, stage: Stage) -> Connection:
    """A connection with a transaction in which so many rows are changed and nothing is committed."""
    connection = instance.connections.connect()
    if rows:
        stage.say(f"changing {rows} rows in a transaction that stays open")
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"UPDATE {OPEN_TRANSACTION_TABLE} SET changed = 1, filler = REPEAT('x', 100)")
    return connection


def _wait_for_the_moment(
    instance: Instance,
    control: Connection,
    fill: Fill,
    running: RunningWorkload,
    sampler: Sampler,
    stage: Stage,
) -> str:
    while True:
        running.check_running()
        instance.check_running()
        if sampler.failure is not None:
            raise sampler.failure
        sample = instance.sample(control)
        if why := fill.reason_to_kill(sample.monotonic, sample):
            return why
        done, total = fill.progress(sample.monotonic, sample)
        stage.advance(done, total, fill.words(sample.monotonic, sample, running.commits_per_second()))
        left = fill.seconds_left(sample.monotonic, sample)
        # The nearer it is, the more often it is asked, so that the kill comes at the target and not past it.
        time.sleep(_SELDOM if left is None else min(_SELDOM, max(_OFTEN, left / 4)))


def read_variables(connection: Connection) -> dict[str, str]:
    """Every setting as the server says it uses it."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES")
        return {name: str(value) for name, value in cursor.fetchall()}
