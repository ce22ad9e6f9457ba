"""Programs that the lab runs on this machine, and processes as it knows them again.

What the lab starts dies with it, whatever ends the lab, and is killed only while its start time still matches.
"""

from __future__ import annotations

import math
import os
import queue
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psutil

from redolab.errors import CommandFailed
from redolab.lines import Line
from redolab.machine import interrupts
from redolab.machine.facts import CpuUse
from redolab.machine.files import explained
from redolab.units import KIB, MIB

_OOM_SCORE = "800"
"""Value of oom_score_adj, of at most 1000 (proc(5)): the lab's programs are killed first."""
_START_TOLERANCE = 0.05
"""Seconds between two readings of one process's start time: the kernel counts it in ticks of 10 ms."""
_TO_CLEAN_UP = 60.0
_POLL_SECONDS = 0.5
"""Seconds between two checks that a program is still wanted."""
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.05
"""Seconds between two checks that a program has ended."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments, environment, folder and input."""

    arguments: Sequence[str]
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    standard_input: bytes = b""


@dataclass(frozen=True, slots=True)
class Output:
    """Exit status and output of a program that has ended."""

    status: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process as the lab knows it again: the id alone may have been given to another since."""

    pid: int
    started: float
    """Start time in seconds since the epoch, as the kernel reports it."""


class Process:
    """A program that the lab started and that is still its business."""

    def __init__(self, popen: subprocess.Popen[bytes], output: IO[bytes], arrivals: IO[bytes] | None = None) -> None:
        self._popen = popen
        self._started = time.monotonic()
        self._arrivals = arrivals
        self.identity = ProcessIdentity(popen.pid, psutil.Process(popen.pid).create_time())
        self._output = output
        self._lines: queue.SimpleQueue[Line | None] = queue.SimpleQueue()
        self._ended = False
        self._failure: OSError | None = None
        self._reader = threading.Thread(target=self._read, name=f"output of {popen.pid}", daemon=True)
        self._reader.start()

    def lines(self, deadline: float) -> Iterator[Line]:
        """Yield lines, stamped on arrival, until the process ends or `deadline` passes; both on the monotonic clock."""
        while not self._ended:
            if self._failure is not None:
                raise explained(self._failure, Path(self._output.name)) from self._failure
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                return
            if line is None:
                self._ended = True
                return
            yield line

    def wait(self, seconds: float) -> int | None:
        """Return the exit status (negative: the signal that ended it); None if the process runs after `seconds`."""
        deadline = time.monotonic() + seconds
        pause = _SHORTEST_PAUSE
        while (status := self._poll()) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
        self._reader.join(timeout=10)
        _running.discard(self)
        return status

    def stop(self, with_signal: signal.Signals = signal.SIGTERM, seconds: float = 10.0) -> int:
        """Signal the process, wait `seconds`, else send SIGKILL. Return its exit status; spare an ended one."""
        self._send(with_signal)
        status = self.wait(seconds)
        if status is None:
            self._send(signal.SIGKILL)
            status = self.wait(math.inf)
            assert status is not None
        return status

    def _poll(self) -> int | None:
        # An interrupt raised in the middle of it would leave Popen's own lock taken, and the clean-up would wait for
        # that for ever.
        with interrupts.held():
            return self._popen.poll()

    def _send(self, number: signal.Signals) -> None:
        with interrupts.held():
            self._popen.send_signal(number)

    def _read(self) -> None:
        stream = self._popen.stdout
        assert stream is not None
        partial = b""
        with stream:
            # One read returns what has arrived so far: a line's stamp is the moment its end came through the pipe.
            while chunk := os.read(stream.fileno(), MIB):
                arrival = time.monotonic()
                self._keep(chunk)
                *whole, partial = (partial + chunk).split(b"\n")
                self._keep_arrival(arrival, len(whole))
                for line in whole:
                    self._lines.put(Line(line.decode(errors="replace"), arrival))
        if partial:
            arrival = time.monotonic()
            self._keep_arrival(arrival, 1)
            self._lines.put(Line(partial.decode(errors="replace"), arrival))
        for file in (self._output, self._arrivals):
            with suppress(OSError):
                if file is not None:
                    file.close()
        self._lines.put(None)

    def _keep_arrival(self, arrival: float, lines: int) -> None:
        if self._arrivals is not None and lines:
            with suppress(OSError):
                self._arrivals.write(b"%.6f\n" % (arrival - self._started) * lines)
                self._arrivals.flush()

    def _keep(self, chunk: bytes) -> None:
        """Write to the file; on a full disk the program must still find a reader, or it would hang."""
        try:
            self._output.write(chunk)
            self._output.flush()
        except OSError as error:
            self._failure = self._failure or error


_running: set[Process] = set()
"""Live processes. An interrupt can arrive before the caller gets its handle."""


def run(command: Command, *, seconds: float = 600.0, check: bool = True, to_its_end: bool = False) -> Output:
    """Run a program to its end; with `to_its_end`, also when the lab is interrupted meanwhile.

    Raises `CommandFailed` if it cannot be run, takes longer than `seconds` or, with `check`, ends with an error.
    """
    program = command.arguments[0]
    if which(program) is None:
        raise CommandFailed(f"{program} is not on this machine", "see 'redolab doctor'")
    # A program that must not be interrupted must not die with the lab either.
    arguments = command.arguments if to_its_end else _dying_with_the_lab(command.arguments)
    # Interrupts are held back until `_communicated`, which ends the program when one comes.
    with (
        interrupts.held(),
        subprocess.Popen(
            arguments,
            cwd=command.folder,
            env=_environment(command.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process,
    ):
        out, err = _communicated(process, command, seconds, to_its_end=to_its_end)
    output = Output(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))
    if check and output.status != 0:
        last = (output.err.strip() or output.out.strip()).splitlines()[-12:]
        raise CommandFailed(f"{program} ended with status {output.status}", details=last)
    return output


def _communicated(
    process: subprocess.Popen[bytes], command: Command, seconds: float, *, to_its_end: bool
) -> tuple[bytes, bytes]:
    """Return standard output and standard error of a process when it has ended; call it within `held`."""
    try:
        with nullcontext() if to_its_end else interrupts.released():
            return process.communicate(command.standard_input, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        _kill_group(process)
        raise CommandFailed(f"{command.arguments[0]} did not end within {seconds:.0f} s") from error
    except BaseException:
        _kill_group(process)
        raise


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a program and all that it started in its session."""
    if process.returncode is None:
        # A lab without root may not kill what it runs by sudo: it waits for the program's own end.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        # Popen's own wait may block: an interrupt in the middle of `communicate` may have left its lock taken.
        with suppress(ChildProcessError):
            os.waitpid(process.pid, 0)
        process.returncode = -signal.SIGKILL


def start(command: Command, output: Path, *, arrivals: Path | None = None) -> Process:
    """Start a program that runs beside the lab; its output goes to the file `output` and to `lines`.

    The arrival of each line, in seconds from the start, goes to the file `arrivals` if one is named. Call it from the
    thread that lives as long as the lab: the kernel ends the program with the thread that started it
    (PR_SET_PDEATHSIG). Raises `CommandFailed` if the program cannot be started.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    log = output.open("wb")
    stamps = arrivals.open("wb") if arrivals is not None else None
    try:
        with interrupts.held():
            popen = subprocess.Popen(
                _dying_with_the_lab(command.arguments),
                cwd=command.folder,
                env=_environment(command.environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                # Ctrl-C reaches the lab alone, which then ends what it started in order.
                start_new_session=True,
            )
            process = Process(popen, log, stamps)
            _running.add(process)
    except OSError as error:
        log.close()
        if stamps is not None:
            stamps.close()
        raise CommandFailed(f"{command.arguments[0]} could not be started ({error.strerror})") from error
    return process


def run_by_lines(
    command: Command,
    output: Path,
    on_line: Callable[[str], None],
    seconds: float,
    *,
    is_wanted: Callable[[], bool] = lambda: True,
    end_by: signal.Signals = signal.SIGTERM,
) -> int | None:
    """Run a program to its end, call `on_line` with each line of its output, and return its exit status.

    Return None if it was ended by `end_by` because `seconds` were over, or `is_wanted` became False.
    """
    process, deadline, status = start(command, output), time.monotonic() + seconds, None
    try:
        while status is None and time.monotonic() < deadline and is_wanted():
            for line in process.lines(min(deadline, time.monotonic() + _POLL_SECONDS)):
                on_line(line.text)
            status = process.wait(0.0)
    finally:
        process.stop(end_by, _TO_CLEAN_UP)
    for line in process.lines(time.monotonic() + _POLL_SECONDS):
        on_line(line.text)
    return status


def offer_to_oom_killer() -> None:
    """Make the kernel kill the programs that the lab starts from now on first when memory runs out."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)


def end_all() -> None:
    """End all live processes of `start`; call it when the lab ends."""
    for process in list(_running):
        process.stop(signal.SIGKILL)


def identity(pid: int) -> ProcessIdentity | None:
    """Return the process that has this id now; None if there is none."""
    try:
        return ProcessIdentity(pid, psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None


def children(process: ProcessIdentity) -> Sequence[ProcessIdentity]:
    """Return the child processes, in the order in which they were started."""
    try:
        found = psutil.Process(process.pid).children()
        return [ProcessIdentity(child.pid, child.create_time()) for child in found]
    except psutil.NoSuchProcess:
        return []


def kill(process: ProcessIdentity, with_signal: signal.Signals = signal.SIGKILL) -> bool:
    """Signal exactly this process. Return False if it no longer exists."""
    with suppress(psutil.NoSuchProcess):
        if found := _find(process):
            found.send_signal(with_signal)
            return True
    return False


def is_stopped(process: ProcessIdentity) -> bool:
    """Return True if no thread of the process runs.

    Each thread has been stopped by a signal or is ending (states T, Z and X of proc(5)).
    """
    if _find(process) is None:
        return False
    # psutil has the states of processes, not of threads.
    states = [_state(thread) for thread in Path(f"/proc/{process.pid}/task").glob("*/stat")]
    return bool(states) and all(state in ("T", "Z", "X", None) for state in states)


def _state(stat: Path) -> str | None:
    """Return the state in a `stat` file of /proc; None if the thread is gone."""
    with suppress(OSError):
        # The name before it, in brackets, may hold anything.
        return stat.read_bytes().rpartition(b") ")[2][:1].decode()
    return None


def cpu_use(process: ProcessIdentity) -> CpuUse | None:
    """Return the CPU time that a process and its threads have used; None if the process has ended."""
    with suppress(psutil.Error):
        if found := _find(process):
            times = found.cpu_times()
            busiest = max((thread.user_time + thread.system_time for thread in found.threads()), default=0.0)
            return CpuUse(seconds=times.user + times.system, busiest_thread=busiest, cores=os.cpu_count() or 1)
    return None


_PEAK = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE)


def peak_memory(process: ProcessIdentity) -> int | None:
    """Return the most bytes of memory that a process has had resident (VmHWM of proc(5)); None if it has ended."""
    if _find(process) is None:
        return None
    with suppress(OSError):
        if found := _PEAK.search(Path(f"/proc/{process.pid}/status").read_text()):
            return int(found[1]) * KIB
    return None


def bytes_moved(process: ProcessIdentity) -> tuple[int, int] | None:
    """Return the bytes read from and written to disks (`/proc/PID/io`); None if the process has ended or hides them."""
    with suppress(psutil.Error):
        if found := _find(process):
            counters = found.io_counters()
            return counters.read_bytes, counters.write_bytes
    return None


def which(program: str) -> Path | None:
    """Return the path of a program; None if this machine lacks it."""
    found = shutil.which(program)
    return Path(found) if found else None


def output_of(*arguments: str) -> str:
    """Return what a program prints, without blanks around it; empty if this machine lacks the program."""
    return "" if which(arguments[0]) is None else run(Command(arguments), check=False).out.strip()


def is_root() -> bool:
    """Return True if the lab runs as root."""
    return os.geteuid() == 0


def _find(process: ProcessIdentity) -> psutil.Process | None:
    """Return exactly this process, not a later one with the same id; None if it has ended or is a zombie."""
    try:
        found = psutil.Process(process.pid)
        same = abs(found.create_time() - process.started) < _START_TOLERANCE
        return found if same and found.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the lab's environment in the C locale: the lab parses programs' messages in one language."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "MYSQL"))}
    return {**inherited, "LC_ALL": "C", **extra}


def _dying_with_the_lab(arguments: Sequence[str]) -> list[str]:
    """Return `arguments` as a command that the kernel kills when the lab ends, however it ends.

    The shell covers a program that was about to start when the lab was killed: no signal came then.
    """
    unless_orphaned = 'lab=$1; shift; [ "$PPID" = "$lab" ] && exec "$@"'
    return ["setpriv", "--pdeathsig", "KILL", "sh", "-c", unless_orphaned, "sh", str(os.getpid()), *arguments]
