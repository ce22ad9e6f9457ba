"""The ways of rotating a log, each of which the experiment times part by part."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from redolab.errors import LabError
from redolab.servers.dialects import SOCKET
from redolab.slowlog.settings.changes import changes_to_be_quiet

if TYPE_CHECKING:
    from redolab.crash.bench.started_server import StartedServer

WAIT = 2.0
"""Seconds for which logging is paused before and after, as P. Boros does (data/published/query-logs.toml)."""
FLUSH = "FLUSH LOCAL SLOW LOGS"
AGAIN = " again"
"""Ends the name of a part of a rotation that had to be done a second time."""
_BLOCK = 8192
"""Bytes that logrotate copies at a time."""
_TO_REOPEN = 30.0
_TO_REOPEN_PAUSED = 0.5
"""Seconds for a new log while logging is paused. Some servers open none then, and the pause must stay short."""
_TO_WRITE = 2.0
_LOOK = 0.001


class Method(StrEnum):
    """Method of rotating a log."""

    COPYTRUNCATE = "copytruncate"
    RENAME_FLUSH = "rename-flush"
    RENAME_SYNC_FLUSH = "rename-sync-flush"
    RENAME_HUP = "rename-hup"
    RENAME_USR1 = "rename-usr1"
    RM_FLUSH = "rm-flush"

    @property
    def keeps_all(self) -> bool:
        """True where no statement may be lost, except with a file that is removed."""
        return self is not Method.COPYTRUNCATE


ABOUT = {
    Method.COPYTRUNCATE: "the file is copied, the copy synced, the file truncated, as logrotate does",
    Method.RENAME_FLUSH: "the file is renamed, FLUSH LOCAL SLOW LOGS opens a new one",
    Method.RENAME_SYNC_FLUSH: "by redolab slowlog rotate: the file is synced and renamed, FLUSH LOCAL SLOW LOGS opens a new one",
    Method.RENAME_HUP: "the file is renamed, SIGHUP has the server open a new one",
    Method.RENAME_USR1: "the file is renamed, SIGUSR1 has the server open a new one (MySQL 8.0.19 and later)",
    Method.RM_FLUSH: "the file is removed, FLUSH LOCAL SLOW LOGS opens a new one",
}
_SIGNALS = {Method.RENAME_HUP: signal.SIGHUP, Method.RENAME_USR1: signal.SIGUSR1}


def now_ns() -> int:
    """Return the time in nanoseconds of CLOCK_MONOTONIC, as all times of a rotation are."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class LogRotation:
    """One rotation of a server's slow query log, with the times of its parts."""

    def __init__(self, server: StartedServer, log: Path) -> None:
        self.log = log
        self.old: Path | None = None
        """Path of the old log; None if it was removed."""
        self.parts: list[tuple[str, int, int]] = []
        """Name, beginning and end of each part, in order."""
        self.pause: tuple[int, int] | None = None
        """Beginning and end of the pause of logging; None without a pause."""
        self.opened_at = 0
        """Time at which the new log was open."""
        self._server = server
        self._old_path = log.with_name(f"{log.name}-old")

    def rotate(self, method: Method, *, held: bool, notes: Path) -> None:
        """Rotate the log; with `held`, logging is paused meanwhile. Raises `LabError`.

        The product's own command leaves its notes in the folder `notes`.
        """
        if method is Method.RENAME_SYNC_FLUSH:
            self._by_command(WAIT if held else 0.0, notes)
        elif held:
            self._change_paused(method)
        else:
            self._change(method, _TO_REOPEN)
        self._wait_written()
        self.opened_at = now_ns()

    @contextmanager
    def _part(self, name: str) -> Iterator[None]:
        began = now_ns()
        yield
        self.parts.append((name, began, now_ns()))

    def _by_command(self, wait: float, notes: Path) -> None:
        """Rotate by `redolab slowlog rotate`, which pauses logging for `wait` seconds before and after."""
        from redolab.machine import processes
        from redolab.machine.processes import Command

        command = [sys.executable, "-m", "redolab", "slowlog", "rotate", "--wait", f"{wait}s"]
        command += ["--socket", str(self._server.instance.folder / SOCKET), "--user", "root"]
        began = now_ns()
        with self._part("command"):
            processes.run(Command(command, environment={"XDG_STATE_HOME": str(notes)}))
        if wait:
            self.pause = began, now_ns()
        (self.old,) = self.log.parent.glob(f"{self.log.name}-*")

    def _change_paused(self, method: Method) -> None:
        changes = changes_to_be_quiet(self._server.named_values("SHOW GLOBAL VARIABLES"))
        began = now_ns()
        try:
            with self._part("holding"):
                self._server.execute(*(change.to_do for change in changes))
            with self._part("waiting"):
                time.sleep(WAIT)
            self._change(method, _TO_REOPEN_PAUSED)
            with self._part("waiting after"):
                time.sleep(WAIT)
        finally:
            with self._part("releasing"):
                self._server.execute(*(change.to_undo for change in reversed(changes)))
            self.pause = began, now_ns()
        if not self.log.exists():
            # MySQL 9.7 opens no new log while log_output is NONE, and goes on in the old one.
            self._reopen(method, _TO_REOPEN, AGAIN)

    def _change(self, method: Method, patience: float) -> None:
        """Take the old log away, and have the server open a new one; after a signal, wait up to `patience` seconds for it."""
        if method is Method.COPYTRUNCATE:
            self.copy_and_truncate()
            return
        if method is Method.RM_FLUSH:
            with self._part("rm"):
                self.log.unlink()
        else:
            self.old = self._old_path
            with self._part("rename"):
                self.log.rename(self.old)
        self._reopen(method, patience)

    def copy_and_truncate(self) -> None:
        """Copy the log and truncate it, as logrotate does. Raises `OSError`, and leaves the log alone, if the copy fails."""
        self.old = self._old_path
        made = os.open(self.old, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "wb") as copy, self.log.open("r+b", buffering=0) as source:
            with self._part("copy"):
                while block := source.read(_BLOCK):
                    copy.write(block)
                copy.flush()
            with self._part("sync"):
                os.fsync(copy.fileno())
            with self._part("truncate"):
                os.ftruncate(source.fileno(), 0)

    def _reopen(self, method: Method, patience: float, again: str = "") -> None:
        """Have the server open a new log. After a signal, wait up to `patience` seconds for the file."""
        if (number := _SIGNALS.get(method)) is None:
            with self._part(f"flush{again}"):
                self._server.execute(FLUSH)
            return
        with self._part(f"{number.name}{again}"):
            self._server.instance.send_signal(number)
            deadline = time.monotonic() + patience
            while not self.log.exists() and time.monotonic() < deadline:
                time.sleep(_LOOK)

    def _wait_written(self) -> None:
        """Wait until the server has written to the new log. Raises `LabError`."""
        deadline = time.monotonic() + _TO_WRITE
        while not (self.log.exists() and self.log.stat().st_size):
            if time.monotonic() > deadline:
                self._server.instance.check_running()
                name = self._server.instance.server.name
                raise LabError(f"{name} writes to no new log", "its error log may say why")
            time.sleep(_LOOK)
