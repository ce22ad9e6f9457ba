"""What runs on the other machine: it starts the lab there, lets it outlive the connection, and tells how far it is.

Called there as `python3 -m redolab.remote.job VERB FOLDER …` (`redolab.remote.machine`), where only the lab itself and Python's own
library are sure to be there. In FOLDER: `jobs/ID/` with `job.json`, `output`, and `status` once it has ended.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import tarfile
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from redolab.machine.lock import locked

BUSY = 75
"""With what `start` ends when another job has the machine (EX_TEMPFAIL of sysexits.h)."""
ENDED_UNSEEN = -1
"""The status of a job whose machine went down, that was killed with its watcher, or that left no room to note it."""
NOT_STARTED = 127
"""The status of a job whose command could not be executed, as a shell has it."""
_FETCHED = "fetched"
_PAUSE = 0.2
_CHUNK = 1 << 16


@dataclass(frozen=True)
class JobRequest:
    """A call of the lab, as it is asked for from the other side."""

    arguments: Sequence[str]
    command: Sequence[str]
    """The program with all its arguments."""
    environment: Mapping[str, str]
    by: str
    terminal: Sequence[int] | None
    """Lines and columns of the terminal at which somebody looks, if one does."""


def start(folder: Path, asked: JobRequest) -> str:
    """Start a job and leave it behind: its id. Exits with `BUSY` if another runs."""
    jobs = folder / "jobs"
    jobs.mkdir(parents=True, exist_ok=True)
    with locked(jobs / ".lock") as lock:
        for other in all_jobs(folder):
            if other["alive"]:
                sys.exit(BUSY)
        began = datetime.now(UTC)
        own = jobs / f"{began:%Y%m%d-%H%M%S-%f}"
        own.mkdir()
        record = {**asdict(asked), "started": f"{began:%Y-%m-%d %H:%M:%S} UTC", "began": began.timestamp()}
        _write(own / "job.json", json.dumps(record))
        (own / "output").touch()
        ready, told = os.pipe()
        if os.fork() == 0:
            os.close(ready)
            # What is inherited would stay locked for as long as the job runs.
            os.close(lock)
            _watch(own, asked, told)
        os.close(told)
        # Until the watcher has noted who it is, the job would count as one that has ended.
        os.read(ready, 1)
    return own.name


def _watch(own: Path, asked: JobRequest, told: int) -> None:
    """Carry a job out, in a session of its own that no connection ends; never returns."""
    os.setsid()
    if os.fork():
        os._exit(0)
    status = NOT_STARTED
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        # Whoever asked may ignore it, as what a shell starts in the background does; the job would never end by it.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _write(own / "watcher", _identity(os.getpid()))
        with (own / "output").open("ab", buffering=0) as output:
            run = _in_terminal if asked.terminal else _plainly
            try:
                status = run(own, asked, output, lambda: os.close(told))
            except OSError as error:
                output.write(_not_started(asked, error))
    finally:
        # On a full disk there is no status: the job then counts as one whose end nobody saw.
        with suppress(OSError):
            _write(own / "status", str(status))
        os._exit(0)


def _not_started(asked: JobRequest, error: OSError) -> bytes:
    return f"redolab: {asked.command[0]} could not be started ({error.strerror})\n".encode()


def _plainly(own: Path, asked: JobRequest, output: io.FileIO, begun: Callable[[], None]) -> int:
    with subprocess.Popen(
        asked.command,
        env={**os.environ, **asked.environment},
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        _write(own / "process", _identity(process.pid))
        begun()
        return process.wait()


def _in_terminal(own: Path, asked: JobRequest, output: io.FileIO, begun: Callable[[], None]) -> int:
    pid, terminal = pty.fork()
    if pid == 0:
        try:
            os.execvpe(asked.command[0], list(asked.command), {**os.environ, **asked.environment})
        except OSError as error:
            os.write(2, _not_started(asked, error))
        finally:
            # An exception that went on from here would be handled as the watcher's own, and end in its status 0.
            os._exit(NOT_STARTED)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *(asked.terminal or (0, 0)), 0, 0))
    _write(own / "process", _identity(pid))
    begun()
    while chunk := _read(terminal):
        # On a full disk the lab must still find a reader, or it would hang.
        with suppress(OSError):
            output.write(chunk)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _read(terminal: int) -> bytes:
    """What has come; nothing at the end, which the kernel calls EIO."""
    try:
        return os.read(terminal, _CHUNK)
    except OSError:
        return b""


def follow(folder: Path, job: str, offset: int) -> None:
    """Write a job's output from an offset to standard output, as it grows, until it has ended."""
    own, asker = folder / "jobs" / job, os.getppid()
    with (own / "output").open("rb") as output:
        output.seek(offset)
        while True:
            ended = not _is_alive(own)
            while chunk := output.read(_CHUNK):
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            # Whose connection has gone has no reader, and would not be told so before it writes.
            if ended or os.getppid() != asker:
                return
            time.sleep(_PAUSE)


def stop(folder: Path, job: str) -> None:
    """Have a job end as Ctrl-C would: it cleans up after itself."""
    with suppress(OSError, ValueError):
        identity = (folder / "jobs" / job / "process").read_text()
        if _is_there(identity):
            os.kill(int(identity.split(maxsplit=1)[0]), signal.SIGINT)


def all_jobs(folder: Path) -> list[dict[str, Any]]:
    """Every job, oldest first; one whose record a power cut has torn is left out."""
    found = []
    for own in sorted((folder / "jobs").glob("*/job.json")):
        with suppress(ValueError, OSError):
            alive = _is_alive(own.parent)
            fetched = own.with_name(_FETCHED).exists()
            ended = None if alive else _status(own.with_name("status"))
            known = json.loads(own.read_bytes())
            found.append({**known, "id": own.parent.name, "alive": alive, "status": ended, "fetched": fetched})
    return found


def _status(said: Path) -> int:
    try:
        return int(said.read_text())
    except (ValueError, OSError):
        return ENDED_UNSEEN


def note_fetched(folder: Path, job: str) -> None:
    """Note that whoever asked has all that a job made."""
    _write(folder / "jobs" / job / _FETCHED, "")


def files(folder: Path, job: str) -> list[tuple[str, int, int]]:
    """The files of the runs that have changed since a job began: path under the runs, bytes, when changed (ns).

    Without those that another job is at.
    """
    runs = folder / "runs"
    others = any(each["alive"] and each["id"] != job for each in all_jobs(folder))
    began = json.loads((folder / "jobs" / job / "job.json").read_bytes())["began"]
    found = []
    for record in runs.glob("*/run.json"):
        if others and json.loads(record.read_bytes()).get("state") == "running":
            continue
        own = [(path, path.stat()) for path in record.parent.rglob("*") if path.is_file() and path.name[0] != "."]
        if max(state.st_mtime for _, state in own) >= began:
            found += [(str(path.relative_to(runs)), state.st_size, state.st_mtime_ns) for path, state in own]
    return found


def send(folder: Path, names: Sequence[str]) -> None:
    """Write these files of the runs to standard output, as a tar archive."""
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
        for name in names:
            with suppress(FileNotFoundError), (folder / "runs" / name).open("rb") as file:
                entry = tarfile.TarInfo(name)
                # Of what grows meanwhile, no more than this is sent.
                entry.size = os.fstat(file.fileno()).st_size
                archive.addfile(entry, file)


def _write(path: Path, content: str) -> None:
    beside = path.with_name(f".{path.name}")
    with beside.open("w") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)


def _is_alive(own: Path) -> bool:
    try:
        return not (own / "status").exists() and _is_there((own / "watcher").read_text())
    except OSError:
        return False


def _identity(pid: int) -> str:
    """A process and when it started, in ticks since this boot: the id alone may have been given to another since."""
    started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return f"{pid} {started} {Path('/proc/sys/kernel/random/boot_id').read_text().strip()}"


def _is_there(identity: str) -> bool:
    try:
        return _identity(int(identity.split(maxsplit=1)[0])) == identity
    except (OSError, ValueError, IndexError):
        return False


def main(arguments: Sequence[str]) -> None:
    """Do what the other machine asks for."""
    verb, folder, *rest = arguments
    root = Path(folder)
    if verb == "start":
        print(start(root, JobRequest(**json.load(sys.stdin))))
    elif verb == "follow":
        follow(root, rest[0], int(rest[1]))
    elif verb == "fetched":
        note_fetched(root, rest[0])
    elif verb == "stop":
        stop(root, rest[0])
    elif verb == "jobs":
        print(json.dumps(all_jobs(root)))
    elif verb == "files":
        print(json.dumps(files(root, rest[0])))
    elif verb == "send":
        send(root, json.load(sys.stdin))
    else:
        sys.exit(f"job: there is no verb {verb}")


if __name__ == "__main__":
    main(sys.argv[1:])
