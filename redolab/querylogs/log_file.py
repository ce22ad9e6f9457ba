"""A server's log on this machine, as the server sees it: through /proc, whatever container it runs in."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from redolab.querylogs.settings.server import UserServer


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log that a server on this machine writes."""

    named: str
    """As the server names it, from its root."""
    here: Path
    """The same from this machine's root."""

    @property
    def to_read(self) -> str:
        """Its name for whoever reads it on this machine: the server's own, unless that has a root of its own."""
        try:
            return self.named if self.here.samefile(self.named) else str(self.here)
        except FileNotFoundError:
            return str(self.here)

    @property
    def size(self) -> int:
        """Bytes; 0 while it is not there."""
        try:
            return self.here.stat().st_size
        except FileNotFoundError:
            return 0

    def sync(self) -> None:
        """Have what is written of it, under this name or the one that it was just renamed to, on its disk.

        MySQL does so itself when it closes the log, while all who write to it wait: what is on the disk already, it need not.
        """
        # A new one that nobody writes to yet is empty.
        named = [
            each
            for each in self.here.parent.glob(f"{self.here.name}*")
            if each.is_file() and not each.is_symlink() and each.stat().st_size
        ]
        with suppress(OSError):
            descriptor = os.open(max(named, key=lambda path: path.stat().st_mtime, default=self.here), os.O_RDONLY)
            try:
                os.fdatasync(descriptor)
            finally:
                os.close(descriptor)

    def free_share(self) -> float:
        """How much of its file system is free for the server, 0 to 1."""
        found = os.statvfs(self.here.parent)
        return found.f_bavail / found.f_blocks if found.f_blocks else 1.0


def absolute_name(file: str, data_directory: str) -> str:
    """A log's name from the server's root: a relative one is of the data directory."""
    return str(PurePosixPath(data_directory) / file)


def log_on_this_machine(server: UserServer, named: str) -> LogFile | None:
    """A log of a server, where that runs on this machine and this account may look into its folder; else None."""
    pid = server.process_on_host()
    if pid is None:
        return None
    here = Path(f"/proc/{pid}/root{named}")
    try:
        return LogFile(named, here) if here.parent.is_dir() else None
    except PermissionError:
        return None
