"""A crash as requested and as kept: the spec, the image, and the names of its files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from redolab.crash.records.binary_log_end import BinaryLogEnd
from redolab.crash.records.dataset import DatasetSpec
from redolab.crash.records.kill_rule import STOPPED_GROWING, KillRule
from redolab.disks.profiles import HOME
from redolab.servers.dialects import InstanceRequest, Setting
from redolab.servers.redo_capacity import PAGE_SIZE, RedoCapacity
from redolab.servers.redo_counters import Sample
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
"""Files recorded on the way to a crash."""


class CrashSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Specification of a crash. Images of equal specs answer the same question, so one of them can be used again."""

    dataset: DatasetSpec
    workload: str
    threads: int
    kill: KillRule
    instance: InstanceRequest
    made_with: str = ""
    """Hash of other inputs: the workload's script, and the lab's settings of such an instance."""
    prepared_transactions: int = 0
    """Number of XA transactions that are prepared at the crash, each with a row, and never ended."""
    number: int = 1
    """Number of the crash among comparable ones, which show the spread between crashes."""
    think_time: bool = False
    """True if the clients paused between transactions like people at terminals."""
    pool_dump: bool = False
    """True if the buffer pool was dumped right before the crash, for a recovering server to load."""
    storage: str = HOME
    """Storage profile of the server under load."""
    crash: str = KILL
    """The kind of crash (`redolab.crash.kinds`)."""
    binary_log_end: BinaryLogEnd | None = None
    """End of the binary log; None: whatever the load has written."""

    @property
    def clients(self) -> Clients:
        """Clients of the load."""
        return Clients(connections=self.threads, think_time=self.think_time)

    @property
    def binary_log_room(self) -> int:
        """Bytes of the binary log at the crash: about as many as of a full redo log, and what it ends with."""
        if not self.instance.binary_log:
            return 0
        return self.instance.log_size + (0 if self.binary_log_end is None else self.binary_log_end.room)

    def comparable(self) -> CrashSpec:
        """Return the spec that all comparable crashes share."""
        return msgspec.structs.replace(self, number=1)


class CrashImage(msgspec.Struct, frozen=True, kw_only=True):
    """A crash image on disk; its folder has the data directory as `data`, on which no server ever starts."""

    format: int
    name: str
    spec: CrashSpec
    redo_format: str
    made: datetime
    why_killed: str
    fill_seconds: float
    """Seconds of the load, without its pauses for earlier crashes."""
    last_sample: Sample
    """Sample right before the SIGKILL."""
    settings: tuple[Setting, ...]
    variables: Mapping[str, str]
    """Variable → value, as the server reported them under load."""
    capacity: RedoCapacity
    """Limits of its redo log by formula; samples have the server's own if it reports them."""
    hashes: Mapping[str, str]
    """Relative path → XXH3 of every file after the kill."""
    undo_growth: int | None = None
    """Bytes by which files with undo (system and undo tablespaces) grew from the dataset to the kill."""
    steady: bool | None = None
    """True if the load had become steady; None if it did not have to."""
    late_share: float | None = None
    """Delay of a disk model's answers under load, as a share of all its latencies."""
    moment: float | None = None
    """Seconds of the load after which the crash was to happen, as drawn; None if the rule draws no time."""
    binary_log_bytes: int | None = None
    """Bytes of the last file of the binary log; None without one, and before the lab looked."""
    load: str = ""
    """Name of the load. Crashes of one load share its history, and are not independent."""

    @property
    def hard_limit(self) -> int:
        """Checkpoint age at which statements waited, in bytes: the server's own figure if it reported one."""
        return self.last_sample.hard_limit or self.capacity.hard_limit

    @property
    def sync_flush_point(self) -> int:
        """Checkpoint age from which flushing was forced, in bytes: the server's own figure if it reported one."""
        return self.last_sample.sync_flush_point or self.capacity.sync_flush_point

    @property
    def stopped_short(self) -> bool:
        """True if the checkpoint age stopped growing before its target."""
        return STOPPED_GROWING in self.why_killed


def decoded_image(content: bytes) -> CrashImage:
    """Decode an `image.json`. Raises `msgspec.MsgspecError` if it is invalid or of another format."""
    image = msgspec.json.decode(content, type=CrashImage)
    if image.format != IMAGE_FORMAT:
        raise msgspec.ValidationError(f"its format is {image.format}, and this lab reads {IMAGE_FORMAT}")
    return image


def undo_pages(image: CrashImage) -> int | None:
    """Return the pages by which files with undo grew; None if unknown.

    Undo that purge has not freed yet is dirtied and redone like any other page, and recovery initialises it without
    reading.
    """
    # MySQL 5.5 has no such variable, and only one page size.
    page = int(image.variables.get("innodb_page_size", PAGE_SIZE))
    return None if image.undo_growth is None else image.undo_growth // page
