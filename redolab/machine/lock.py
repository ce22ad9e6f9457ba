"""One lab at a time: two at once would spoil both measurements, and undo each other's work on one folder."""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from redolab.errors import Busy

LOCK = "lock"
"""The file in the lab's folder that is locked."""
_HOLDER = "process {} on {}\n"
_LONGEST = 1024
"""Bytes of a file that can be a lock."""

# An abstract socket: the kernel gives the name back when its holder dies, however it dies, and no file stays.
_NAME = "\0redolab"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """While in it: no other lab has this machine, nor this folder of a lab. Raises `Busy`.

    The socket's name is one for each network namespace, so that of two containers on one clone only the folder's lock
    tells one of the other.
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
        # Nobody is ever accepted; whoever asks who holds the lock stays queued.
        lock.listen(4096)
        yield


@contextmanager
def _folder_locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(file, 64).decode(errors="replace").strip() or "unknown"
            raise _busy(f"another redolab run ({holder}) has the lab in {folder}") from None
        os.truncate(file, 0)
        os.write(file, _HOLDER.format(os.getpid(), socket.gethostname()).encode())
        yield
        with suppress(OSError):
            os.truncate(file, 0)
    finally:
        os.close(file)


def is_lock(path: Path) -> bool:
    """Whether a file is the lock of a lab's folder: empty, or with its holder."""
    if path.name != LOCK or path.is_symlink() or not path.is_file() or path.stat().st_size > _LONGEST:
        return False
    content = path.read_bytes()
    return not content or content.startswith(_HOLDER.partition("{")[0].encode())


@contextmanager
def taken(path: Path) -> Iterator[None]:
    """While in it: whoever asks, on this machine or on another that sees the file, learns that it is taken."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(file)


def is_taken(path: Path) -> bool:
    """Whether somebody has taken a file and is still there."""
    try:
        file = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def _busy(problem: str) -> Busy:
    return Busy(problem, "two at once would spoil both measurements: wait for it or stop it")


def _listener() -> str:
    """Who listens on the lock's socket, as the kernel says it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(_NAME)
            credentials = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except OSError:
            return "unknown"
        return str(struct.unpack("3i", credentials)[0])
