"""What the kernel shows of a server that runs on this machine: /proc alone is read, no signal is sent."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec
import psutil

from redolab.errors import InvalidInput
from redolab.watching.following.redo_files import RedoToRecover, redo_to_recover
from redolab.watching.following.service import StartLimit, start_limit

_SERVERS = re.compile(r"mysqld|mariadbd")
_REDO_FILE = re.compile(r"(?:ib_logfile\d+|#ib_redo\d+)$")
_LISTENS = 0x10000
"""`__SO_ACCEPTCON` in the flags of /proc/net/unix."""
_OUTPUTS = (2, 1)
"""Where a server without `log_error` writes its log."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """A server's process at one moment; bytes since it began, None where the kernel does not say."""

    at: float
    """Seconds since the epoch."""
    sequential: int | None
    """Bytes that its busiest reader has read by system calls: the thread that reads redo, while it is read."""
    mapped: int | None
    """Bytes of redo log in its memory, of a server that maps the file instead of reading it."""
    read: int | None
    """Bytes that came from disks."""
    written: int | None
    """Bytes that went to disks."""
    cpu_seconds: float
    listens: bool
    """Whether it takes connections, so that its recovery is over."""


class ShownProcess(Protocol):
    """What is shown of a server's process: of one that runs, or of one that was recorded."""

    pid: int
    name: str
    started: float
    """Seconds since the epoch."""

    def redo(self) -> RedoToRecover | None:
        """What its redo log files say, to be asked before it is ready."""

    def start_limit(self) -> StartLimit | None:
        """After how long its unit is killed when it is not ready."""

    def look(self, at: float) -> Look | None:
        """How it is now; None if it has ended."""


class ServerProcess:
    """A server that runs."""

    def __init__(self, pid: int) -> None:
        """Raises `InvalidInput` if it is no MySQL or MariaDB server, or may not be looked at."""
        try:
            self._process = psutil.Process(pid)
            self.name = self._process.name()
            self.started = self._process.create_time()
            self._arguments = self._process.cmdline()
            self._folder = Path("/proc") / str(pid)
            if _SERVERS.search(self.name) is None:
                raise InvalidInput(
                    f"process {pid} is {self.name}, neither mysqld nor mariadbd", "see 'pgrep -a mysqld'"
                )
            next((self._folder / "fd").iterdir(), None)
        except psutil.NoSuchProcess as error:
            raise InvalidInput(f"there is no process {pid}", "see 'pgrep -a \"mysqld|mariadbd\"'") from error
        except (psutil.AccessDenied, PermissionError) as error:
            raise InvalidInput(f"process {pid} may not be looked at", "be root, or who it runs as") from error
        self.pid = pid

    @property
    def is_running(self) -> bool:
        """Whether it is still there."""
        with suppress(psutil.NoSuchProcess):
            return self._process.is_running() and self._process.status() != psutil.STATUS_ZOMBIE
        return False

    @property
    def redo_folder(self) -> Path:
        """The folder of its redo log, as it can be reached from here: also of one in a container."""
        for path in self._open_files():
            if _REDO_FILE.search(path.name):
                return path.parent.parent if path.parent.name == "#innodb_redo" else path.parent
        named = self._option("innodb-log-group-home-dir")
        # A server works in its data directory.
        home = self._folder / "cwd"
        return home if named is None else self._inside(home / named if not named.startswith("/") else Path(named))

    @property
    def error_log(self) -> Path | None:
        """The file that it writes its log to, as it can be reached from here; None where that is no file."""
        named = self._option("log-error")
        if named and named.startswith("/") and self._inside(Path(named)).is_file():
            return self._inside(Path(named))
        for number in _OUTPUTS:
            path = self._folder / "fd" / str(number)
            with suppress(OSError):
                if path.is_file():
                    return path
        return None

    def start_limit(self) -> StartLimit | None:
        """After how long its unit is killed when it is not ready."""
        with suppress(OSError):
            return start_limit((self._folder / "cgroup").read_text())
        return None

    def redo(self) -> RedoToRecover | None:
        """What its redo log files say, to be asked before it is ready."""
        return redo_to_recover(self.redo_folder)

    def look(self, at: float) -> Look | None:
        """How it is now; None if it has ended."""
        try:
            times = self._process.cpu_times()
            moved = self._io("io")
            readers = [self._io(f"task/{each.name}/io") for each in (self._folder / "task").iterdir()]
            return Look(
                at=at,
                sequential=max((each["rchar"] for each in readers if "rchar" in each), default=None),
                mapped=self._mapped(),
                read=moved.get("read_bytes"),
                written=moved.get("write_bytes"),
                cpu_seconds=times.user + times.system,
                listens=self._listens(),
            )
        except (psutil.Error, FileNotFoundError, ProcessLookupError):
            return None

    def _io(self, name: str) -> dict[str, int]:
        with suppress(OSError):
            lines = (self._folder / name).read_text().splitlines()
            return {key: int(value) for key, _, value in (line.partition(": ") for line in lines)}
        return {}

    def _mapped(self) -> int | None:
        with suppress(OSError, psutil.Error):
            if "ib_logfile" not in (self._folder / "maps").read_text():
                return None
            maps = self._process.memory_maps()
            return sum(each.rss for each in maps if _REDO_FILE.search(each.path))
        return None

    def _listens(self) -> bool:
        sockets = set[str]()
        for each in (self._folder / "fd").iterdir():
            with suppress(OSError):
                if (found := re.fullmatch(r"socket:\[(\d+)\]", str(each.readlink()))) is not None:
                    sockets.add(found[1])
        with suppress(OSError):
            for line in (self._folder / "net/unix").read_text().splitlines()[1:]:
                fields = line.split()
                if int(fields[3], 16) & _LISTENS and fields[6] in sockets:
                    return True
        with suppress(psutil.Error):
            return any(each.status == psutil.CONN_LISTEN for each in self._process.net_connections("tcp"))
        return False

    def _open_files(self) -> list[Path]:
        with suppress(psutil.Error):
            return [self._inside(Path(each.path)) for each in self._process.open_files()]
        return []

    def _inside(self, path: Path) -> Path:
        """A path of the server's as it can be reached from here: it may have a root of its own."""
        through = self._folder / "root" / path.relative_to("/") if path.is_absolute() else path
        return through if through.exists() else path

    def _option(self, name: str) -> str | None:
        for argument in self._arguments:
            option, _, value = argument.partition("=")
            if option.replace("_", "-") == f"--{name}" and value:
                return value
        return None
