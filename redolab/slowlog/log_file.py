"""A server's log on this machine, as the server sees it: through /proc, whatever container it runs in."""

from __future__ import annotations

import glob
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from redolab.errors import LabError
from redolab.slowlog.settings.changes import CAPTURED
from redolab.slowlog.settings.server import UserServer


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log that a server on this machine writes."""

    named: str
    """Path in the server's own view, from its root."""
    here: Path
    """Path of the same file from this machine's root."""

    @property
    def to_read(self) -> str:
        """Return the path for readers on this machine: the server's own, unless the server has a root of its own."""
        try:
            return self.named if self.here.samefile(self.named) else str(self.here)
        except OSError:
            return str(self.here)

    @property
    def size(self) -> int:
        """Bytes; 0 while it is not there."""
        try:
            return self.here.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def mode(self) -> int | None:
        """Permission bits; None while it is not there."""
        try:
            return self.here.stat().st_mode & 0o777
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
        for path in self.here.parent.glob(f"{glob.escape(self.here.name)}*"):
            # logrotate may remove one meanwhile.
            with suppress(FileNotFoundError):
                found = path.lstat()
                is_capture = CAPTURED.match(path.name, len(self.here.name))
                if stat.S_ISREG(found.st_mode) and found.st_size and not is_capture:
                    written[path] = found.st_mtime
        return max(written, key=lambda path: written[path], default=self.here)

    def free_share(self) -> float:
        """Return the share of its file system that is free for the server, 0 to 1. Raises `LabError`."""
        try:
            found = os.statvfs(self.here.parent)
        except OSError as error:
            raise LabError(
                f"{self.named} is no longer to be seen ({error.strerror})", "see whether the server runs"
            ) from error
        return found.f_bavail / found.f_blocks if found.f_blocks else 1.0


def absolute_name(file: str, data_directory: str) -> str:
    """Return a log's path from the server's root; a relative one belongs to the data directory."""
    return str(PurePosixPath(data_directory) / file)


def log_on_this_machine(server: UserServer, named: str) -> LogFile | None:
    """Return a server's log; None if the server runs elsewhere or this account may not read the log's folder."""
    pid = server.process_on_host()
    if pid is None:
        return None
    here = Path(f"/proc/{pid}/root{named}")
    try:
        return LogFile(named, here) if here.parent.is_dir() else None
    except PermissionError:
        return None
