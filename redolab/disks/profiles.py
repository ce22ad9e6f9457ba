"""Storage profiles as data: the description of a disk, and the performance it must reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

from redolab.disks.figures import DiskTarget
from redolab.machine.facts import RequestQueue, Scheduler
from redolab.units import parse_size

_PAGE = 16 * 1024
_QUEUED = 32
_MEGABYTE = 1_000_000
_MINUTE_MS = 60_000
Positive = Annotated[float, msgspec.Meta(gt=0)]
PositiveCount = Annotated[int, msgspec.Meta(gt=0)]


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """Cache of a disk: answered writes that a power cut may lose."""

    volatile: bool = True
    """True without power-loss protection; with it, every answered write survives."""
    size: int | None = None
    """Bytes that the cache holds; None: unlimited."""

    def parameters(self) -> list[str]:
        """Return the parameters that make the disk model lose the cache at a cut."""
        if not self.volatile:
            return ["volatile=0"]
        return [f"volatile={'any' if self.size is None else self.size}"]


VOLATILE, PROTECTED = Cache(), Cache(volatile=False)
"""A cache of unlimited size that a power cut empties, and one that a power cut spares."""


class FlashDisk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="flash"):
    """A disk without moving parts, local or across a network. Latencies are of 16 KiB."""

    about: str
    sources: Mapping[str, str]
    read_us: Positive
    read_on_us: float | None = None
    """Latency in microseconds of a read that continues where another ended."""
    write_us: Positive
    flush_us: float
    read_iops: int | None = None
    write_iops: int | None = None
    read_mb_s: Positive
    write_mb_s: float | None = None
    shared: bool = False
    """True if reads and writes share the limits given for reads."""
    unit: str | None = None
    """Size up to which contiguous requests count as one operation; None: each request counts."""
    depth: PositiveCount
    """Requests served at a time."""
    scheduler: Scheduler = "none"
    """The I/O scheduler that a production host has for such a disk."""
    is_volatile: bool = False
    """True if a power cut loses writes that were answered and not flushed."""
    family: ClassVar[str] = "modelled"

    @property
    def cache(self) -> Cache:
        """Return the cache that a power cut may empty."""
        return VOLATILE if self.is_volatile else PROTECTED

    def request_queue(self) -> RequestQueue:
        """Return the kernel settings that a production host has for such a disk."""
        return RequestQueue(scheduler=self.scheduler, depth=self.depth)

    def parameters(self) -> list[str]:
        """Return the parameters of the disk model. Raises `InvalidInput`."""
        return _arguments(
            "flash",
            read=_ns(self.read_us),
            read_on=None if self.read_on_us is None else _ns(self.read_on_us),
            write=_ns(self.write_us),
            flush=_ns(self.flush_us),
            read_iops=self.read_iops,
            write_iops=self.write_iops,
            read_rate=round(self.read_mb_s * _MEGABYTE),
            write_rate=None if self.write_mb_s is None else round(self.write_mb_s * _MEGABYTE),
            shared=int(self.shared),
            unit=_bytes(self.unit),
            depth=self.depth,
        )

    def target(self) -> DiskTarget:
        """Return the performance that fio must find: the latencies as given, the rates from the tightest limit."""
        read_us = max(self.read_us, 1e6 / self.read_iops if self.read_iops else 0.0)
        write_iops = self.read_iops if self.shared else self.write_iops
        write_us = max(self.write_us, 1e6 / write_iops if write_iops else 0.0)
        served = min(_QUEUED, self.depth) / self.read_us * 1e6
        by_rate = self.read_mb_s * _MEGABYTE / _PAGE
        return DiskTarget(
            read_us=read_us,
            queued_reads_per_second=min(served, by_rate, self.read_iops or served),
            write_us=write_us,
            sequential_mb_s=self.read_mb_s,
            append_us=max(self.write_us + self.flush_us, write_us),
        )


class SpinningDisk(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="spinning"
):
    """Disks that turn; several are striped over sets of `mirrors` disks with the same content."""

    about: str
    sources: Mapping[str, str]
    rpm: PositiveCount
    seek_track_ms: float
    seek_average_ms: float
    seek_full_ms: float
    mb_s: Positive
    """Megabytes a second under one head."""
    command_us: float = 0.0
    queue: PositiveCount = 32
    """Commands among which a disk chooses the nearest."""
    read_ahead: str = "1M"
    write_cache: str | None = msgspec.field(default=None, name="cache")
    """Size of the write cache of all disks together; None: writes wait for the platter."""
    battery: bool = False
    """True if a flush need not wait for the content of the write cache."""
    spindles: PositiveCount = 1
    mirrors: PositiveCount = 1
    stripe: str | None = None
    scheduler: Scheduler = "mq-deadline"
    """The I/O scheduler that a production host has for such disks."""
    family: ClassVar[str] = "modelled"

    def __post_init__(self) -> None:
        rise, full = self.seek_average_ms - self.seek_track_ms, self.seek_full_ms - self.seek_track_ms
        # The curve through them must rise with the distance (timing_seek in diskmodel/timing.c).
        if not full / 3 <= rise <= full * 8 / 15:
            raise ValueError("the seek times to the next track, on average and over all tracks belong to no disk")
        if self.spindles % self.mirrors:
            raise ValueError(f"{self.spindles} spindles are not a multiple of {self.mirrors} mirrors")
        if self.spindles > self.mirrors and self.stripe is None:
            raise ValueError("more than one spindle needs a stripe")

    @property
    def cache(self) -> Cache:
        """Return the cache that a power cut may empty."""
        if self.write_cache is None or self.battery:
            return PROTECTED
        return Cache(size=parse_size(self.write_cache))

    def request_queue(self) -> RequestQueue:
        """Return the kernel settings that a production host has for such a disk."""
        return RequestQueue(scheduler=self.scheduler, rotational=True, depth=self.queue * self.spindles)

    def parameters(self) -> list[str]:
        """Return the parameters of the disk model. Raises `InvalidInput`."""
        return _arguments(
            "spinning",
            revolution=round(_MINUTE_MS * 1e6 / self.rpm),
            seek_track=round(self.seek_track_ms * 1e6),
            seek_average=round(self.seek_average_ms * 1e6),
            seek_full=round(self.seek_full_ms * 1e6),
            rate=round(self.mb_s * _MEGABYTE),
            command=_ns(self.command_us),
            queue=self.queue,
            read_ahead=parse_size(self.read_ahead),
            cache=_bytes(self.write_cache),
            battery=int(self.battery),
            spindles=self.spindles,
            mirrors=self.mirrors,
            stripe=_bytes(self.stripe),
        )

    def target(self) -> DiskTarget:
        """Return the performance that fio must find over the whole disk.

        A read is a seek, half a turn and the transfer.

        Effects of mirrors, queues, caches and batteries are results of the model, so no target can name them.
        """
        turn_us = _MINUTE_MS * 1000 / self.rpm
        one_read_us = self.seek_average_ms * 1000 + turn_us / 2 + _PAGE / self.mb_s + self.command_us
        cached = self.write_cache is not None
        return DiskTarget(
            read_us=None if self.mirrors > 1 else one_read_us,
            sequential_mb_s=self.mb_s * self.spindles / self.mirrors,
            append_us=None if cached and self.battery else turn_us,
        )


ModelledDisk = FlashDisk | SpinningDisk
"""Disk that needs a disk model, of any kind."""


class FolderStorage(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="folder"
):
    """A folder, as fast as the disk under it; a relative path lies in the lab's own folder."""

    path: str
    about: str
    family: ClassVar[str] = "folder"


class TmpfsStorage(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind", tag="tmpfs"
):
    """A file system in memory, made for each recovery."""

    about: str
    family: ClassVar[str] = "memory"


HOME = "local"
"""The storage profile on which datasets and crash images are kept."""


StorageProfile = FolderStorage | TmpfsStorage | ModelledDisk
"""Storage profile of any kind."""

_NO_EFFECT_ON_SPEED = ("about", "sources", "is_volatile")
"""Fields that do not affect the speed of a disk: prose, and the loss at a power cut."""


def storage_figures(profile: StorageProfile) -> Mapping[str, object]:
    """Return the fields of a profile that affect the speed of the storage."""
    return {name: value for name, value in msgspec.to_builtins(profile).items() if name not in _NO_EFFECT_ON_SPEED}


def _arguments(kind: str, **values: int | None) -> list[str]:
    """Return the disk model's arguments: its kind, and every value that the profile has."""
    return [f"kind={kind}", *(f"{name}={value}" for name, value in values.items() if value is not None)]


def _bytes(size: str | None) -> int | None:
    return None if size is None else parse_size(size)


def _ns(microseconds: float) -> int:
    return round(microseconds * 1000)
