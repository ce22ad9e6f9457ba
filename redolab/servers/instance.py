"""A running server with a data directory and a socket of its own."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import msgspec
import pymysql
from pymysql.connections import Connection

from redolab.clock import Instant, now
from redolab.errorlog import Event, Timeline, events, timelines
from redolab.errorlog.files import arrivals_of
from redolab.errors import ServerFailed
from redolab.lines import Line
from redolab.machine import files, processes
from redolab.machine.facts import CpuUse
from redolab.machine.processes import Command, Process, ProcessIdentity
from redolab.servers.dialects import PORT, SOCKET, InstanceRequest, Setting, option_file
from redolab.servers.install import InstalledServer
from redolab.servers.redo_counters import Sample, sample_at
from redolab.servers.sandbox import INSTANCE, sandboxed_process

OPTIONS = "my.cnf"
DATA = "data"
_LAST_LINES = 15
_POLL_SECONDS = 0.005
_TO_STOP = 60.0


class Connections:
    """Opens connections to an instance, each for one thread."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def can_be_tried(self) -> bool:
        """Return True if the socket exists. A server makes it shortly before it takes connections."""
        return self._socket.exists()

    def connect(self, seconds: float = 10.0, answer: float | None = None) -> Connection:
        """Open an autocommit connection as root.

        `seconds`: limit for the server's greeting; `answer`: limit for the answer to a statement, None for no limit.
        """
        with _short(self._socket) as address:
            connection = pymysql.connect(
                unix_socket=address,
                user="root",
                connect_timeout=seconds,
                # PyMySQL's connect_timeout ends with the socket's connect. A server that listens and never greets
                # would block it.
                read_timeout=seconds,
                autocommit=True,
                charset="utf8mb4",
                # Otherwise each attempt first reads the machine's certificates: 8 ms of a core, during a timed
                # recovery.
                ssl_disabled=True,
            )
        connection._read_timeout = answer  # type: ignore[attr-defined]
        return connection


class UsedInstance(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of an instance: the lab's, with their reasons, and all variables that the server reported."""

    settings: tuple[Setting, ...]
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NetworkAddress:
    """TCP address of an instance in its own network namespace, and an account with all rights and no password."""

    host: str = "127.0.0.1"
    port: int = PORT
    user: str = "redolab"


class Instance(AbstractContextManager["Instance"]):
    """A started server. Leaving the context kills it at once, even in the middle of a recovery."""

    def __init__(
        self,
        server: InstalledServer,
        folder: Path,
        request: InstanceRequest,
        started: Instant,
        sandbox: Process,
        process: ProcessIdentity,
    ) -> None:
        """Take over a sandbox that was started at `started`, and the server's process in it."""
        self.server = server
        self.request = request
        self.folder = folder
        self.started = started
        self.log: list[Line] = []
        self.connections = Connections(folder / SOCKET)
        self._sandbox = sandbox
        self._process = process
        self._first: dict[Event, Line] = {}
        self._nothing_to_undo = False

    @classmethod
    def start(cls, server: InstalledServer, folder: Path, request: InstanceRequest, log: Path) -> Instance:
        """Start `server` on the instance folder `folder`, its error log copied to `log`; do not wait until it is ready."""
        prepare_folder(server, folder, request)
        arguments = [f"--defaults-file={INSTANCE / OPTIONS}", *server.sandbox.user_arguments()]
        command = server.sandbox.command(server.program, arguments, folder)
        started = now()
        sandbox = processes.start(command, log, arrivals=arrivals_of(log))
        try:
            return cls(server, folder, request, started, sandbox, sandboxed_process(sandbox))
        except BaseException:
            sandbox.stop(signal.SIGKILL)
            raise

    def __exit__(self, *_: object) -> None:
        self.end()

    def watch(self, seconds: float, done: Callable[[], bool]) -> None:
        """Read the error log until `done`. Raises `ServerFailed` after `seconds`, or if the server has ended."""
        deadline = now().monotonic + seconds
        while not done():
            self.read_log(_POLL_SECONDS)
            if now().monotonic > deadline:
                raise self._failure(f"{self.server.name} was not there within {seconds:.0f} s")

    def read_log(self, seconds: float = 0.0) -> None:
        """Read the error log for `seconds`. Raises `ServerFailed`, with its last lines, if the server has ended."""
        self._read_lines(now().monotonic + seconds)
        if (status := self.status) is not None:
            self._read_lines(now().monotonic)
            raise self._failure(f"{self.server.name} ended with status {status} while it was starting")

    def wait_ready(self, seconds: float = 3600.0) -> None:
        """Wait until the server takes connections. Raises `ServerFailed`."""
        self.watch(seconds, lambda: self.is_ready)

    def has_recovered(self) -> bool:
        """Return True if the server is ready and every transaction that the crash left open is rolled back."""
        if not self.is_ready:
            return False
        if Event.UNDO_END in self._first or Event.TRANSACTIONS not in self._first:
            return True
        # With no rows to undo, the log has no line for the end.
        return self._nothing_to_undo

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Turn a refusal or a lost connection within the block into `ServerFailed` with the log's last lines."""
        try:
            yield
        except pymysql.MySQLError as error:
            self.check_running()
            raise self._failure(f"{self.server.name} refused a statement of the lab ({error})") from error

    def seconds_to(self, event: Event) -> float | None:
        """Return the seconds from the process's start to the first line that tells `event`; None without one."""
        line = self._first.get(event)
        return None if line is None or line.arrival is None else line.arrival - self.started.monotonic

    @property
    def is_ready(self) -> bool:
        """Return True if the error log says that the server takes connections."""
        return Event.READY in self._first

    def recovery(self) -> Timeline | None:
        """Return the first crash recovery in the error log; None if it has none."""
        return next(timelines(self.log), None)

    def check_running(self) -> None:
        """Raise `ServerFailed` if the server has ended although the lab did not end it."""
        self._read_lines(now().monotonic)
        if (status := self.status) is not None:
            raise self._failure(f"{self.server.name} ended by itself with status {status}")

    def sample(self, connection: Connection) -> Sample:
        """Return all redo counters of this instant, read by one statement."""
        dialect = self.server.dialect
        with connection.cursor() as cursor:
            instant = now()
            cursor.execute(dialect.counters_statement())
            return sample_at(instant, dialect.counters(cursor.fetchall()))

    def whole_sample(self, connection: Connection) -> Sample:
        """Return all redo counters, including those that a version shows only by a second statement.

        Counters of the second statement belong to the same instant only if nothing is written in between.
        """
        sample = self.sample(connection)
        statement = self.server.dialect.status_statement()
        if statement is None:
            return sample
        with connection.cursor() as cursor:
            cursor.execute(statement)
            more = self.server.dialect.counters(cursor.fetchall())
        return replace(sample, **{name: value for name, value in asdict(more).items() if value is not None})

    def used(self, connection: Connection) -> UsedInstance:
        """Return the settings that the lab gave the server, and all variables as the server reports them."""
        with connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL VARIABLES")
            variables = {name: str(value) for name, value in cursor.fetchall()}
        return UsedInstance(settings=tuple(self.server.dialect.settings(self.request)), variables=variables)

    def requested(self) -> UsedInstance:
        """Return the settings that the lab gave a server which cannot be asked for its variables."""
        return UsedInstance(settings=tuple(self.server.dialect.settings(self.request)), variables={})

    def cpu_use(self) -> CpuUse | None:
        """Return the CPU time that the server has used; None if it has ended."""
        return processes.cpu_use(self._process)

    def peak_memory(self) -> int | None:
        """Return the most bytes of memory that the server has had resident; None if it has ended."""
        return processes.peak_memory(self._process)

    def open_to_network(self) -> NetworkAddress:
        """Make an account for clients that reach the server over TCP, once for its data directory; return its address."""
        address = NetworkAddress()
        with self.answering(), self.connections.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE USER {address.user}@'127.0.0.1'")
            cursor.execute(f"GRANT ALL PRIVILEGES ON *.* TO {address.user}@'127.0.0.1' WITH GRANT OPTION")
        return address

    def in_its_network(self, command: Command) -> Command:
        """Return a client's command, changed so that it runs in the server's network namespace."""
        target = f"--target={self.pid}"
        # Without root the namespace belongs to the sandbox's user namespace, which must be joined first.
        own = [] if processes.is_root() else ["--user", "--preserve-credentials"]
        # Joining a user namespace changes a program's credentials, which clears its parent-death signal.
        inside = ["setpriv", "--pdeathsig", "KILL", "--", *command.arguments]
        return replace(command, arguments=["nsenter", target, *own, "--net", "--", *inside])

    def bytes_moved(self) -> tuple[int, int] | None:
        """Return the bytes read from and written to disks; None if the server has ended or they may not be read."""
        return processes.bytes_moved(self._process)

    @property
    def pid(self) -> int:
        """Return the server's process id on this machine."""
        return self._process.pid

    def ends_within(self, seconds: float) -> bool:
        """Return True if the server has ended or ends within `seconds`."""
        return self._sandbox.wait(seconds) is not None

    @property
    def status(self) -> int | None:
        """Return the server's exit status (negative: the signal that ended it); None while it runs."""
        return self._sandbox.wait(0)

    def kill(self) -> Instant:
        """Kill exactly the server with SIGKILL; wait until it is gone. Return the signal's time.

        Raises `ServerFailed`.
        """
        sent = self.send_signal(signal.SIGKILL)
        if not self.ends_within(60.0):
            raise ServerFailed(f"{self.server.name} is still there 60 s after SIGKILL", "is its disk hanging?")
        self._read_lines(now().monotonic)
        return sent

    def freeze(self) -> Instant:
        """Stop exactly the server with SIGSTOP, and wait until none of its threads runs. Return the time of the signal.

        A thread in the middle of a system call stops when the call is over. Raises `ServerFailed`.
        """
        sent = self.send_signal(signal.SIGSTOP)
        deadline = sent.monotonic + _TO_STOP
        while not processes.is_stopped(self._process):
            if now().monotonic > deadline:
                self.thaw()
                raise ServerFailed(
                    f"{self.server.name} still runs {_TO_STOP:.0f} s after SIGSTOP", "is its disk hanging?"
                )
            time.sleep(_POLL_SECONDS)
        return sent

    def thaw(self) -> None:
        """Let the server go on after `freeze`."""
        processes.kill(self._process, signal.SIGCONT)

    def send_signal(self, number: signal.Signals) -> Instant:
        """Send a signal to exactly the server, and return the time. Raises `ServerFailed` if the server has ended.

        The server acts on it in its own time: the caller looks for the effect.
        """
        sent = now()
        if not processes.kill(self._process, number):
            raise self._failure(f"{self.server.name} was gone before {number.name} could be sent")
        return sent

    def shut_down(self, seconds: float = 3600.0) -> None:
        """Shut the server down cleanly. Raises `ServerFailed` after `seconds`, or if the server ends with an error."""
        processes.kill(self._process, signal.SIGTERM)
        status = self._sandbox.wait(seconds)
        self._read_lines(now().monotonic)
        if status != 0:
            raise self._failure(f"{self.server.name} did not shut down cleanly (status {status})")

    def end(self) -> None:
        """End the sandbox with all that runs in it."""
        self._sandbox.stop(signal.SIGKILL)
        self._read_lines(now().monotonic)

    def _read_lines(self, deadline: float) -> None:
        for line in self._sandbox.lines(deadline):
            self.log.append(line)
            for event in events(line):
                if event is Event.READY:
                    recovery = self.recovery()
                    self._nothing_to_undo = recovery is not None and recovery.left_nothing_to_undo
                self._first.setdefault(event, line)

    def _failure(self, problem: str) -> ServerFailed:
        return ServerFailed(problem, "its last lines are below", [line.text for line in self.log[-_LAST_LINES:]])


@contextmanager
def _short(socket: Path) -> Iterator[str]:
    """Yield an address of the socket that is short enough, wherever the instance lies.

    A socket's address holds 107 bytes and a clone may lie deeper; the path by the folder's descriptor is short.
    """
    folder = os.open(socket.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{socket.name}"
    finally:
        os.close(folder)


def prepare_folder(server: InstalledServer, folder: Path, request: InstanceRequest | None = None) -> None:
    """Give an instance's folder to the server's user, and write the option file of a request.

    Raises `ServerFailed` if an earlier server has left a link in place of one of its folders.
    """
    owner = server.sandbox.owner()
    for name in ("", DATA, "tmp"):
        if (folder / name).is_symlink():
            raise ServerFailed(
                f"{folder / name} is no folder, but a link that {server.name} has left", "do not trust it"
            )
        files.make_folder(folder / name, mode=0o700, owner=owner)
    if request is not None:
        settings = server.dialect.settings(request)
        base = server.program.parent.parent
        options = option_file(settings, INSTANCE, base, server.share, network=request.network)
        files.write_whole(folder / OPTIONS, options.encode())
