"""A server's log on this machine, as the server sees it: through /proc, whatever container it runs in."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from redolab.errors import LabError
from redolab.slowlog.settings.changes import CAPTURED
from redolab.slowlog.settings.user_server import UserServer


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log that a server on this machine writes."""

    server_path: str
    """Path in the server's own view, from its root."""
    path: Path
    """Path of the same file from this machine's root."""

    @property
    def to_read(self) -> str:
        """Return the path for readers on this machine: the server's own, unless the server has a root of its own."""
        try:
            return self.server_path if self.path.samefile(self.server_path) else str(self.path)
        except OSError:
            return str(self.path)

    @property
    def size(self) -> int:
        """Size in bytes; 0 while there is no file."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def mode(self) -> int | None:
        """Permission bits; None while there is no file."""
        try:
            return self.path.stat().st_mode & 0o777
        except FileNotFoundError:
            return None

    def sync(self) -> None:
        """Write the log's cached pages to its disk, under this name or the one it was just renamed to.

        MySQL does so when it closes the log, while all writers wait. Pages already on the disk shorten that wait.
        """
        with suppress(OSError):
            descriptor = os.open(self._last_written(), os.O_RDONLY)
            try:
                os.fdatasync(descriptor)
            finally:
                os.close(descriptor)

    def _last_written(self) -> Path:
        """Return the path of the log that was written last: this one or, while it is empty, its renamed predecessor."""
        written = {}
        for path in self.path.parent.glob(f"{glob.escape(self.path.name)}*"):
            # logrotate may remove one meanwhile.
            with suppress(FileNotFoundError):
                status = path.lstat()
                is_capture = CAPTURED.match(path.name, len(self.path.name))
                if stat.S_ISREG(status.st_mode) and status.st_size and not is_capture:
                    written[path] = status.st_mtime
        return max(written, key=lambda path: written[path], default=self.path)

    def free_share(self) -> float:
        """Return the share of its file system that is free for the server, 0 to 1. Raises `LabError`."""
        try:
            disk = os.statvfs(self.path.parent)
        except OSError as error:
            raise LabError(
                f"{self.server_path} is no longer to be seen ({error.strerror})", "see whether the server runs"
            ) from error
        return disk.f_bavail / disk.f_blocks if disk.f_blocks else 1.0


def absolute_path(file: str, variables: Mapping[str, str]) -> str:
    """Return a log's path from the root of a server with these variables; a relative one is in the data directory."""
    return str(PurePosixPath(variables.get("datadir", "/")) / file)


def log_on_this_machine(server: UserServer, server_path: str) -> LogFile | None:
    """Return a server's log; None if the server runs elsewhere or this account may not read the log's folder."""
    pid = server.process_on_host()
    if pid is None:
        return None
    path = Path(f"/proc/{pid}/root{server_path}")
    try:
        return LogFile(server_path, path) if path.parent.is_dir() else None
    except PermissionError:
        return None
