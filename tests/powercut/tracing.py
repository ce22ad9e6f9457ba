"""What the kernel sends to block devices, as its own tracer sees it: what blktrace shows, without its program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from redolab.machine import mounts, processes
from redolab.machine.processes import Command
from redolab.powercut.recording import DiskEvent

_ISSUED = re.compile(r" block_rq_issue: (\d+,\d+) (\S+) \d+ \(\S*\) (\d+) \+ (\d+) ")
_OPERATIONS = (("D", DiskEvent.TRIM), ("Z", DiskEvent.ZERO), ("W", DiskEvent.WRITE))
"""Letter of the operation in what blktrace calls RWBS (`blk_fill_rwbs()`, kernel/trace/blktrace.c) → what it is to a disk."""
_BUFFER_KB = 32 * 1024


@dataclass(frozen=True, slots=True)
class Issued:
    """A request that was sent to a device: sectors of 512 bytes."""

    device: str
    """As in `7:3`."""
    event: DiskEvent
    first: int
    count: int


@dataclass(slots=True)
class Trace:
    """What was sent, once the tracing is over."""

    issued: Sequence[Issued] = field(default=())


@contextmanager
def traced(folder: Path) -> Iterator[Trace]:
    """While in it all that changes or flushes a block device is traced; `folder`: an empty one, for the kernel's files."""
    tried = processes.run(Command(["mount", "-t", "tracefs", "none", str(folder)]), check=False)
    if tried.status:
        pytest.skip(f"this kernel does not trace block devices here: {tried.err.strip()}")
    own = folder / "instances" / "redolab-tests"
    trace = Trace()
    try:
        own.mkdir()
        try:
            (own / "buffer_size_kb").write_text(str(_BUFFER_KB))
            (own / "events/block/block_rq_issue/enable").write_text("1")
            yield trace
            (own / "events/block/block_rq_issue/enable").write_text("0")
            trace.issued = issued_in((own / "trace").read_text())
        finally:
            own.rmdir()
    finally:
        mounts.unmount(folder)


def issued_in(text: str) -> list[Issued]:
    """The changes and flushes of a trace; reads are none."""
    found = []
    for device, kind, first, count in _ISSUED.findall(text):
        # A flush that comes before the data of a write is sent by itself, and has no sectors.
        event = next((event for letter, event in _OPERATIONS if letter in kind), None)
        if int(count) == 0 and kind.startswith("F"):
            event = DiskEvent.FLUSH
        if event is not None:
            found.append(Issued(device.replace(",", ":"), event, int(first), int(count)))
    return found
