"""Where the lab acts: the contract that every kind of host fulfils.

Everything that touches a machine goes through a `Host`: running programs, files, the lines a program prints, copies, kills,
the clock. An experiment does not know whether its host is this machine, one over SSH or a virtual machine.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from redolab.timeline import Line


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments, with what it needs around it."""

    arguments: Sequence[str]
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    standard_input: bytes = b""


@dataclass(frozen=True, slots=True)
class Output:
    """What a finished program left."""

    status: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process as the lab knows it again: the id alone may have been given to another since."""

    pid: int
    started: float
    """When it started, in seconds since the epoch, as the host's kernel tells."""


@dataclass(frozen=True, slots=True)
class Instant:
    """One moment on both clocks of a host, in seconds: durations come from `monotonic` only."""

    monotonic: float
    wall: float


@dataclass(frozen=True, slots=True)
class Copy:
    """How a copy of a folder was made."""

    seconds: float
    reflink: bool
    """Blocks shared instead of copied: no data was moved."""


class Process(Protocol):
    """A program that the lab started on a host and that is still its business.

    It dies with the lab: whatever ends the lab, SIGKILL included, ends it too.
    """

    @property
    def identity(self) -> ProcessIdentity:
        """Who it is."""

    def lines(self, deadline: float) -> Iterator[Line]:
        """Lines as they arrive, stamped on arrival with the host's monotonic clock, until it ends or `deadline` (monotonic)."""

    def wait(self, seconds: float) -> int | None:
        """Its exit status (negative: the signal that ended it), or None if it still runs after `seconds`."""

    def stop(self, with_signal: signal.Signals = signal.SIGTERM, seconds: float = 10.0) -> int:
        """Signal it, wait `seconds` for it to end, else SIGKILL it; its exit status. An ended one is left alone."""


class Files(Protocol):
    """The files of a host."""

    def read(self, path: Path) -> bytes:
        """A whole file. Raises `FileNotFoundError`."""

    def write(self, path: Path, content: bytes) -> None:
        """Write a file so that it is there whole or not at all, and its folder with it."""

    def make_folder(self, path: Path, *, mode: int = 0o755, owner: int | None = None) -> None:
        """Make a folder, and those above it, unless it is there; `owner` is a user's number."""

    def exists(self, path: Path) -> bool:
        """Whether there is anything at `path`."""

    def names(self, folder: Path) -> Sequence[str]:
        """The names in a folder, sorted; none if there is no such folder."""

    def rename(self, path: Path, to: Path) -> None:
        """Move within one file system, at once."""

    def remove(self, path: Path) -> None:
        """Remove a file or a folder with all in it; nothing happens if it is not there."""

    def copy_folder(self, source: Path, to: Path) -> Copy:
        """Copy a folder with owners and modes, sharing blocks where the file system can, and have it on the disk.

        What was copied is removed again when it cannot be finished. Raises `DiskFull`.
        """

    def hash_folder(self, folder: Path) -> Mapping[str, str]:
        """Relative path → hash of the content (XXH3, 128 bits) of every file in a folder."""

    def folder_size(self, folder: Path) -> int:
        """Bytes that a folder takes on its disk."""

    def free_space(self, path: Path) -> int:
        """Bytes free for the lab on the file system on which `path` lies or would lie."""


class Host(Protocol):
    """A machine the lab can act on."""

    name: str
    files: Files

    def run(self, command: Command, *, seconds: float = 600.0, check: bool = True, to_its_end: bool = False) -> Output:
        """Run a program to its end; with `to_its_end` also when the lab is interrupted meanwhile.

        Raises `CommandFailed` if it cannot be run, takes longer than `seconds` or, with `check`, ends with an error.
        """

    def start(self, command: Command, output: Path) -> Process:
        """Start a program that goes on beside the lab; what it prints goes to the file `output` as well as to `lines`.

        Raises `CommandFailed` if it cannot be started.
        """

    def children(self, process: ProcessIdentity) -> Sequence[ProcessIdentity]:
        """The processes that this one started, in the order they were started."""

    def is_running(self, process: ProcessIdentity) -> bool:
        """Whether exactly this process, and not a later one with its id, is there and not a zombie."""

    def kill(self, process: ProcessIdentity, with_signal: signal.Signals = signal.SIGKILL) -> bool:
        """Signal exactly this process; False if it is no longer there."""

    def cpu_seconds(self, process: ProcessIdentity) -> float | None:
        """Seconds of processor time that a process and its threads have used; None if it has ended."""

    def now(self) -> Instant:
        """The host's clocks."""

    def unmount(self, folder: Path) -> None:
        """Unmount what is mounted at `folder` and below it, and let go of the loop devices on files there.

        Raises `CommandFailed`.
        """

    def drop_page_cache(self) -> bool:
        """Forget what the operating system has cached of files; False if the lab may not."""

    def which(self, program: str) -> Path | None:
        """Where a program is, if it is on the host."""

    def is_root(self) -> bool:
        """Whether what the lab runs there runs as root."""

    def socket(self, path: Path) -> AbstractContextManager[str]:
        """While in it: an address at this machine, short enough for a socket, that leads to the host's socket `path`."""
