"""A crash as it is asked for and as it is kept: the spec, the image, and what its files are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from redolab.counters import Sample
from redolab.models.capacity import PAGE_SIZE, RedoCapacity
from redolab.records.dataset import DatasetSpec
from redolab.records.kill_rule import STOPPED_GROWING, KillRule
from redolab.servers.dialects import InstanceRequest, Setting
from redolab.storage.profiles import HOME
from redolab.workloads.data import Clients

KILL = "kill"
"""The usual kind of crash."""
SAME_FILES = (KILL, "freeze")
"""Kinds of crash that leave the same files (docs/recovery.md has the comparison)."""
IMAGE_FORMAT = 3
MARK = "image.json"
SAMPLES = "samples.csv"
WORKLOAD = "workload.csv"
FILL_LOG = "fill.log"
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
    crash: str = KILL
    """The kind of crash (`redolab.crashes.kinds`)."""

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
    """Of the load, without what it stood still for earlier states of it."""
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
    """Of a load on a disk model: how late it answered, as a share of all its latencies."""
    journal_replayed_s: float | None = None
    """Of a power cut: seconds in which the file system of this machine was mounted again, and replayed its journal."""
    moment: float | None = None
    """Seconds of the load after which it was to be struck, as drawn; None where the rule draws none."""
    load: str = ""
    """Of which load it is: those of one load share its history, and are no crashes made alike."""

    @property
    def hard_limit(self) -> int:
        """The checkpoint age at which statements waited: the server's own figure where it told one."""
        return self.last_sample.hard_limit or self.capacity.hard_limit

    @property
    def sync_flush_point(self) -> int:
        """The checkpoint age from which on flushing was forced: the server's own figure where it told one."""
        return self.last_sample.sync_flush_point or self.capacity.sync_flush_point

    @property
    def stopped_short(self) -> bool:
        """Whether the checkpoint age stopped growing before it was what it was to be."""
        return STOPPED_GROWING in self.why_killed


def decoded_image(content: bytes) -> CrashImage:
    """An image's `image.json`. Raises `msgspec.MsgspecError` if it is none, or one of another format."""
    image = msgspec.json.decode(content, type=CrashImage)
    if image.format != IMAGE_FORMAT:
        raise msgspec.ValidationError(f"its format is {image.format}, and this lab reads {IMAGE_FORMAT}")
    return image


def filled_to(images: Iterable[CrashImage]) -> str:
    """To which age their logs were filled, in words, each once."""
    return " or ".join(dict.fromkeys(words for image in images if (words := image.spec.kill.filled_to())))


def undo_pages(image: CrashImage) -> int | None:
    """Pages by which the files that hold undo grew; None where that was not looked at.

    Undo that purge has not caught up with is dirtied and redone like any other page, and initialised by recovery without
    being read.
    """
    # MySQL 5.5 has no such variable, and one page size.
    page = int(image.variables.get("innodb_page_size", PAGE_SIZE))
    return None if image.undo_growth is None else image.undo_growth // page
