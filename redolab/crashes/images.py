"""Crash images: the data directory as a crash left it, kept and never started itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec
import xxhash

from redolab.counters import Sample
from redolab.crashes.dataset import DatasetSpec
from redolab.crashes.fill import STOPPED_GROWING, KillRule
from redolab.crashes.old_images import image_from_1
from redolab.errors import InvalidInput, LabError
from redolab.machine import files
from redolab.models.capacity import PAGE_SIZE, RedoCapacity
from redolab.samples.sampler import read_samples
from redolab.servers.dialects import Dialect, InstanceRequest, Setting
from redolab.servers.instance import DATA
from redolab.storage import StorageProfile
from redolab.storage.known import HOME
from redolab.workloads.contract import Clients, Workload

IMAGE_FORMAT = 2
MARK = "image.json"
_USED_BY = "used-by"
SAMPLES = "samples.csv"
WORKLOAD = "workload.csv"
FILL_LOG = "fill.log"
_UNDO_FILES = ("ibdata*", "undo[0-9][0-9][0-9]", "undo_[0-9][0-9][0-9]")
MACHINE = "machine.csv"
STORY = (SAMPLES, WORKLOAD, FILL_LOG, MACHINE)
"""The files that tell how an image came about."""


class CrashSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a crash: two images of equal specs answer the same question, and the second need not be made."""

    dataset: DatasetSpec
    workload: str
    threads: int
    kill: KillRule
    instance: InstanceRequest
    made_with: str = ""
    """A hash of what else decides it: the workload's script, and the settings that the lab gives such an instance."""
    prepared_transactions: int = 0
    """XA transactions that are prepared at the crash, each with a row, and that nobody will ever end."""
    number: int = 1
    """Which of several crashes made alike: what two of them differ in is the spread between crashes."""
    think_time: bool = False
    """Whether the clients waited between transactions as people at terminals would."""
    pool_dump: bool = False
    """Whether the buffer pool was dumped right before the crash, for a recovering server to load."""
    storage: str = HOME
    """The storage profile on which the server was under load."""

    @property
    def clients(self) -> Clients:
        """Who wrote."""
        return Clients(connections=self.threads, think_time=self.think_time)

    def alike(self) -> CrashSpec:
        """What all crashes made alike share."""
        return msgspec.structs.replace(self, number=1)


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
    undo_growth: int | None = None
    """Bytes by which the files that hold undo (system and undo tablespaces) grew from the dataset to the kill."""
    steady: bool | None = None
    """Whether the load had become steady; None of one that was not to."""
    late_share: float | None = None
    """Of a load on a disk model: by how much later than it was to it answered, as a share of all its latencies."""

    @property
    def stopped_short(self) -> bool:
        """Whether the checkpoint age stopped growing before it was what it was to be."""
        return STOPPED_GROWING in self.why_killed


class ImageStore:
    """The crash images on a storage."""

    def __init__(self, storage: Path) -> None:
        self._folder = storage / "images"

    def folder(self, name: str) -> Path:
        """Where an image lies."""
        return self._folder / name

    def data(self, image: CrashImage) -> Path:
        """An image's data directory."""
        return self._folder / image.name / DATA

    def names(self) -> list[str]:
        """The names of all images, those included that another version of the lab made."""
        return list(files.names(self._folder))

    def all(self) -> list[CrashImage]:
        """The images that this version of the lab can read, oldest first."""
        found = [self.read(name) for name in self.names()]
        return sorted((image for image in found if image is not None), key=lambda image: image.made)

    def read(self, name: str) -> CrashImage | None:
        """The image of that name; None if there is none that this version of the lab can read."""
        try:
            return decoded_image((self._folder / name / MARK).read_bytes())
        except (msgspec.MsgspecError, KeyError, OSError):
            return None

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
        for name in files.names(instance):
            if name not in (DATA, *STORY):
                files.remove(instance / name)
        files.write_whole(instance / MARK, msgspec.json.encode(image))
        files.move(instance, self._folder / image.name)

    def check_unchanged(self, image: CrashImage) -> None:
        """Raises `LabError` if an image is no longer as the kill left it."""
        if files.hash_folder(self.data(image)) != image.hashes:
            raise LabError(
                f"the crash image {image.name} was changed since it was made", f"'redolab rm-image {image.name}'"
            )

    def note_use(self, name: str, run: Path) -> None:
        """Note beside an image that a run measures on it: runs can lie in many folders, the image cannot."""
        if run not in self.used_by(name):
            with (self._folder / name / _USED_BY).open("a") as file:
                file.write(f"{run}\n")

    def used_by(self, name: str) -> set[Path]:
        """The folders of the runs that have measured on an image and are still there."""
        noted = self._folder / name / _USED_BY
        lines = noted.read_text().splitlines() if noted.exists() else []
        return {Path(line) for line in lines if Path(line).exists()}

    def remove(self, name: str) -> None:
        """Remove an image."""
        files.remove_marked(self._folder / name, MARK)

    def samples(self, image: CrashImage) -> Sequence[Sample]:
        """All samples from the start of the fill to the kill."""
        return read_samples(self.folder(image.name) / SAMPLES)


def decoded_image(content: bytes) -> CrashImage:
    """An image's `image.json`, of whichever format. Raises `msgspec.MsgspecError` or `KeyError` if it is none that is known."""
    raw = msgspec.json.decode(content, type=dict[str, object])
    if raw.get("format") == 1:
        raw = image_from_1(raw)
    return msgspec.convert(raw, CrashImage)


def made_with(workload: Workload, settings: Sequence[Setting], storage: StorageProfile | None = None) -> str:
    """The hash for a `CrashSpec`; `storage`: on which the server is under load, where that is not the lab's own."""
    lies_on = [] if storage is None else [storage]
    return xxhash.xxh3_64_hexdigest(msgspec.json.encode([workload.content(), settings, *lies_on]))


def undo_pages(image: CrashImage) -> int | None:
    """Pages by which the files that hold undo grew; None where that was not looked at.

    Undo that purge has not caught up with is dirtied and redone like any other page, and initialised by recovery without
    being read.
    """
    # MySQL 5.5 has no such variable, and one page size.
    page = int(image.variables.get("innodb_page_size", PAGE_SIZE))
    return None if image.undo_growth is None else image.undo_growth // page


def undo_bytes(data: Path) -> int:
    """Bytes of the files of a data directory that hold undo: `ibdata1`, and undo tablespaces by the names of all versions."""
    return sum(path.stat().st_size for pattern in _UNDO_FILES for path in data.glob(pattern))


def check_format(image: CrashImage, server: str, dialect: Dialect) -> None:
    """Raises `InvalidInput` if a server cannot read the redo of an image."""
    if image.redo_format != dialect.redo_format:
        raise InvalidInput(
            f"the crash image {image.name} has redo of format {image.redo_format}, and {server} reads {dialect.redo_format} only",
            f"recover it with {image.spec.dataset.server}",
        )
