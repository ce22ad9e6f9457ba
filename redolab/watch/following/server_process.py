"""Process of a server on this machine, as the kernel shows it. Only /proc is read; no signal is sent."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec
from typing_extensions import override

from redolab.clock import process_fields, process_start
from redolab.errors import InvalidInput
from redolab.servers.dialects import is_server_process
from redolab.watch.following.binary_log_course import BinaryLogFile, open_binary_log
from redolab.watch.following.redo_files import RedoToRecover, redo_to_recover
from redolab.watch.following.service import StartLimit, start_limit

T = TypeVar("T")

_REDO_FILE = re.compile(r"(?:ib_logfile\d+|#ib_redo\d+)$")
_SOCKET = re.compile(r"socket:\[(\d+)\]")
_LISTENS = 0x10000
"""`__SO_ACCEPTCON` in the flags of /proc/net/unix."""
_OUTPUTS = (2, 1)
"""File descriptors to which a server without `log_error` writes its log."""
_SEE_ALL = "see 'pgrep -ax \"mysqld|mariadbd\"'"
_STATE, _PARENT, _USER, _SYSTEM, _STARTED = 0, 1, 11, 12, 19
"""Indices among the fields of `process_fields`."""
_REST = 50.0
"""Factor on the duration of an expensive look, for the pause before the next."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """State of a server's process at one time; bytes since it began, None if the kernel does not tell them."""

    at: float
    """Seconds of the monotonic clock. Runs made before 2026-11-28 have seconds since the epoch."""
    sequential: int | None
    """Bytes read by system calls in the thread that has read most: while redo is read, the thread that reads it."""
    mapped: int | None
    """Bytes of redo log in its memory, of a server that maps the file instead of reading it."""
    called: int | None
    """Bytes that all its threads together have read by system calls."""
    read: int | None
    """Bytes that came from disks."""
    written: int | None
    """Bytes that went to disks, its log among them."""
    cpu_seconds: float
    listens: bool
    """True if the server listens at its unix socket: its recovery is over. TCP does not count, as Galera opens it earlier."""
    binary_log: BinaryLogFile | None = None
    """Binary log file that the server has open."""


class ShownProcess(Protocol):
    """View of a server's process: a running one, or a recorded one."""

    pid: int
    name: str
    started: float
    """Seconds on the clock of its looks."""

    def redo(self) -> RedoToRecover | None:
        """Return the redo to recover, from the redo log files; ask before the server is ready."""

    def start_limit(self) -> StartLimit | None:
        """Return the timeout after which systemd kills a server that is not ready; None if none is known."""

    def look(self, at: float) -> Look | None:
        """Return the state at time `at`; None if the process has ended."""


def option_in(arguments: Sequence[str], name: str) -> str | None:
    """Return the value of an option of a server's command line; None where it has none.

    As the server reads it: the last one counts, `-` and `_` are equal, and the value may be the next argument.
    """
    last = None
    for argument, following in zip_longest(arguments, arguments[1:], fillvalue="--"):
        option, has_value, value = argument.partition("=")
        if option.replace("_", "-") == f"--{name}":
            last = value if has_value else following
    return None if not last or last.startswith("--") else last


class ServerProcess(ShownProcess):
    """A server that runs."""

    def __init__(self, pid: int) -> None:
        """Raise `InvalidInput` if the process is no MySQL or MariaDB server, or may not be examined."""
        try:
            self._folder = Path("/proc") / str(pid)
            self.name = (self._folder / "comm").read_text().rstrip("\n")
            self.started = process_start(pid)
            self._ticks = process_fields(pid)[_STARTED]
            self._arguments = (self._folder / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
            if not is_server_process(self.name):
                raise InvalidInput(f"process {pid} is {self.name}, neither mysqld nor mariadbd", _SEE_ALL)
            next((self._folder / "fd").iterdir(), None)
        except (FileNotFoundError, ProcessLookupError) as error:
            raise InvalidInput(f"there is no process {pid}", _SEE_ALL) from error
        except PermissionError as error:
            raise InvalidInput(f"process {pid} may not be looked at", "be root, or who it runs as") from error
        self.pid = pid
        self._mapped = _Paced(self._read_mapped)
        self._listens = _Paced(self._read_listens)
        self._binary_log = _Paced(partial(open_binary_log, self._folder))

    @property
    def is_running(self) -> bool:
        """Return True if this very process still exists, not a later one with its id, and is no zombie."""
        with suppress(OSError):
            fields = process_fields(self.pid)
            return fields[_STARTED] == self._ticks and fields[_STATE] != "Z"
        return False

    @property
    def redo_folder(self) -> Path:
        """Return the folder of the redo log, as this machine can reach it, also inside a container."""
        for each in self._open_files():
            if _REDO_FILE.search(each.name):
                path = self._inside(each)
                return path.parent.parent if path.parent.name == "#innodb_redo" else path.parent
        named = option_in(self._arguments, "innodb-log-group-home-dir")
        # A server works in its data directory.
        home = self._folder / "cwd"
        return home if named is None else self._inside(home / named)

    @property
    def error_log(self) -> Path | None:
        """Return the server's log file, as this machine can reach it; None if the log is no file."""
        named = option_in(self._arguments, "log-error")
        if named and named.startswith("/") and self._inside(Path(named)).is_file():
            return self._inside(Path(named))
        for number in _OUTPUTS:
            path = self._folder / "fd" / str(number)
            with suppress(OSError):
                if path.is_file():
                    return path
        return None

    def writes_to(self, log: Path) -> bool:
        """Return True if the process writes its log into that file."""
        for number in _OUTPUTS:
            with suppress(OSError):
                if (self._folder / "fd" / str(number)).samefile(log):
                    return True
        return False

    @override
    def start_limit(self) -> StartLimit | None:
        with suppress(OSError):
            return start_limit((self._folder / "cgroup").read_text(), self.pid, list(_ancestors(self.pid)))
        return None

    @override
    def redo(self) -> RedoToRecover | None:
        return redo_to_recover(self.redo_folder)

    @override
    def look(self, at: float) -> Look | None:
        if not self.is_running:
            return None
        try:
            fields = process_fields(self.pid)
            moved = self._io("io")
            readers = [self._io(f"task/{each.name}/io") for each in (self._folder / "task").iterdir()]
        except (FileNotFoundError, ProcessLookupError):
            return None
        return Look(
            at=at,
            sequential=max((each["rchar"] for each in readers if "rchar" in each), default=None),
            mapped=self._mapped.value(),
            called=moved.get("rchar"),
            read=moved.get("read_bytes"),
            written=moved.get("write_bytes"),
            cpu_seconds=(int(fields[_USER]) + int(fields[_SYSTEM])) / os.sysconf("SC_CLK_TCK"),
            listens=self._listens.value(),
            binary_log=self._binary_log.value(),
        )

    def _io(self, name: str) -> dict[str, int]:
        with suppress(OSError):
            lines = (self._folder / name).read_text().splitlines()
            return {key: int(value) for key, _, value in (line.partition(": ") for line in lines)}
        return {}

    def _read_mapped(self) -> int | None:
        with suppress(OSError):
            if "ib_logfile" in (self._folder / "maps").read_text(errors="replace"):
                return resident_redo((self._folder / "smaps").read_text(errors="replace"))
        return None

    def _read_listens(self) -> bool:
        with suppress(OSError):
            sockets = {found[1] for each in self._open_files() if (found := _SOCKET.fullmatch(each.name))}
            for line in (self._folder / "net/unix").read_text().splitlines()[1:]:
                fields = line.split()
                if int(fields[3], 16) & _LISTENS and fields[6] in sockets:
                    return True
        return False

    def _open_files(self) -> Iterator[Path]:
        """Yield its open files, and what else it has open under the names that the kernel gives it."""
        with suppress(OSError):
            for each in (self._folder / "fd").iterdir():
                with suppress(OSError):
                    yield each.readlink()

    def _inside(self, path: Path) -> Path:
        """Return a path of the server's as this machine can reach it: the server may have a root of its own."""
        through = self._folder / "root" / path.relative_to("/") if path.is_absolute() else path
        return through if through.exists() else path


def servers_here() -> list[ServerProcess]:
    """Return the servers on this machine that may be examined."""
    servers = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError, InvalidInput):
            if folder.name.isdecimal() and is_server_process((folder / "comm").read_text().rstrip("\n")):
                servers.append(ServerProcess(int(folder.name)))
    return servers


def _ancestors(pid: int) -> Iterator[int]:
    """Yield the ids of a process's parents. Raises `OSError` if one is gone."""
    while (pid := int(process_fields(pid)[_PARENT])) > 0:
        yield pid


def resident_redo(smaps: str) -> int:
    """Return the bytes of redo log files in memory, from the text of /proc/PID/smaps."""
    resident, is_redo = 0, False
    for line in smaps.splitlines():
        name, *values = line.split()
        if not name.endswith(":"):
            is_redo = _REDO_FILE.search(line) is not None
        elif is_redo and name == "Rss:":
            resident += int(values[0]) * 1024
    return resident


class _Paced(Generic[T]):
    """A look that takes longer the larger a server is: not taken again before it has rested many times as long."""

    def __init__(self, look: Callable[[], T]) -> None:
        self._look = look
        self._due = 0.0
        self._last: list[T] = []

    def value(self) -> T:
        """Look if a look is due. Return the last result."""
        began = time.monotonic()
        if not self._last or began >= self._due:
            self._last = [self._look()]
            ended = time.monotonic()
            self._due = ended + _REST * (ended - began)
        return self._last[0]
