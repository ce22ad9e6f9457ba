"""Locks of files, and the lab's own: two labs at once would spoil both measurements, and undo each other's work."""

from __future__ import annotations

import fcntl
import math
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from redolab.errors import Busy

LOCK = "lock"
"""The file in the lab's folder that is locked."""
_HOLDER = "process {} on {}\n"
_LONGEST = 1024
"""Bytes of a file that can be a lock."""
_POLL_SECONDS = 0.05
"""Seconds."""

# An abstract socket: the kernel gives the name back when its holder dies, however it dies, and no file stays.
_NAME = "\0redolab"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep every other lab off this machine and this lab folder within the block. Raises `Busy`.

    The socket's name is specific to a network namespace, so between two containers on one clone only the folder's
    lock works.
    """
    with _machine_locked(), _folder_locked(folder):
        yield


@contextmanager
def _machine_locked() -> Iterator[None]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as lock:
        try:
            lock.bind(_NAME)
        except OSError:
            raise _busy(f"another redolab run (process {_listener()}) has this machine") from None
        # No connection is ever accepted: a lab that asks for the holder stays in the queue.
        lock.listen(4096)
        yield


@contextmanager
def _folder_locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    with ExitStack() as held:
        try:
            file = held.enter_context(locked(path, patience=0))
        except BlockingIOError:
            holder = path.read_text(errors="replace").strip() or "unknown"
            raise _busy(f"another redolab run ({holder}) has the lab in {folder}") from None
        os.truncate(file, 0)
        os.write(file, _HOLDER.format(os.getpid(), socket.gethostname()).encode())
        yield
        with suppress(OSError):
            os.truncate(file, 0)


def is_lock(path: Path) -> bool:
    """Return True if a file is the lock of a lab's folder: empty, or with the name of its holder."""
    if path.name != LOCK or path.is_symlink() or not path.is_file() or path.stat().st_size > _LONGEST:
        return False
    content = path.read_bytes()
    return not content or content.startswith(_HOLDER.partition("{")[0].encode())


@contextmanager
def locked(path: Path, *, patience: float = math.inf, mode: int = 0o644) -> Iterator[int]:
    """Hold the lock of a file, made with `mode` where it is missing, and yield its descriptor.

    The lock is one for all processes that see the file, on other machines too. Only its holder may remove the file.
    Raises `BlockingIOError` if another still has it after `patience` seconds.
    """
    deadline = time.monotonic() + patience
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, mode)
        try:
            _lock(file, deadline)
            # The holder we waited for may have removed the file: then the next to come locks another one.
            if _is_at(path, file):
                yield file
                return
        finally:
            os.close(file)


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file."""
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        # Shared: two that ask at the same time do not take each other for a holder.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _lock(file: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise
        else:
            return
        time.sleep(_POLL_SECONDS)


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False


def _busy(problem: str) -> Busy:
    return Busy(problem, "two at once would spoil both measurements: wait for it or stop it")


def _listener() -> str:
    """Return the id of the process that listens on the lock's socket, or `unknown`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(_NAME)
            credentials = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return "unknown"
        return str(struct.unpack("3i", credentials)[0])
