"""What runs on the other machine: it starts the lab there, lets it outlive the connection, and tells how far it is.

Called there as `python3 -m redolab.remote.job VERB FOLDER …` (`redolab.remote.machine`), with nothing but Python's own library, and
so without the lab's usual tools. In FOLDER: `jobs/ID/` with `job.json`, `output`, and `status` once it has ended.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

BUSY = 75
"""With what `start` ends when another job has the machine (EX_TEMPFAIL of sysexits.h)."""
ENDED_UNSEEN = -1
"""The status of a job whose machine went down, or that was killed with its watcher."""
_PAUSE = 0.2
_CHUNK = 1 << 16


def start(folder: Path, asked: dict[str, Any]) -> str:
    """Start a job and leave it behind: its id. Exits with `BUSY` if another runs."""
    jobs = folder / "jobs"
    jobs.mkdir(parents=True, exist_ok=True)
    with _locked(jobs / ".lock"):
        for other in all_jobs(folder):
            if other["alive"]:
                sys.exit(BUSY)
        began = datetime.now(UTC)
        own = jobs / f"{began:%Y%m%d-%H%M%S-%f}"
        own.mkdir()
        record = {**asked, "started": f"{began:%Y-%m-%d %H:%M:%S} UTC", "began": began.timestamp()}
        _write(own / "job.json", json.dumps(record))
        (own / "output").touch()
        ready, told = os.pipe()
        if os.fork() == 0:
            os.close(ready)
            _watch(own, asked, told)
        os.close(told)
        # Until the watcher has noted who it is, the job would count as one that has ended.
        os.read(ready, 1)
    return own.name


def _watch(own: Path, asked: dict[str, Any], told: int) -> None:
    """Carry a job out, in a session of its own that no connection ends; never returns."""
    os.setsid()
    if os.fork():
        os._exit(0)
    status = 1
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        _write(own / "watcher", _identity(os.getpid()))
        with (own / "output").open("ab", buffering=0) as output:
            run = _in_terminal if asked["terminal"] else _plainly
            try:
                status = run(own, asked, output, lambda: os.close(told))
            except OSError as error:
                output.write(f"redolab: {asked['command'][0]} could not be started ({error.strerror})\n".encode())
    finally:
        _write(own / "status", str(status))
        os._exit(0)


def _plainly(own: Path, asked: dict[str, Any], output: io.FileIO, begun: Callable[[], None]) -> int:
    with subprocess.Popen(
        asked["command"],
        env={**os.environ, **asked["environment"]},
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        _write(own / "process", _identity(process.pid))
        begun()
        return process.wait()


def _in_terminal(own: Path, asked: dict[str, Any], output: io.FileIO, begun: Callable[[], None]) -> int:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(asked["command"][0], asked["command"], {**os.environ, **asked["environment"]})
    size = struct.pack("HHHH", asked["terminal"]["lines"], asked["terminal"]["columns"], 0, 0)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
    _write(own / "process", _identity(pid))
    begun()
    # The kernel says EIO when the last process has closed its end.
    with suppress(OSError):
        while chunk := os.read(terminal, _CHUNK):
            output.write(chunk)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def follow(folder: Path, job: str) -> None:
    """Write a job's output to standard output, as it grows, until it has ended."""
    own, asker = folder / "jobs" / job, os.getppid()
    with (own / "output").open("rb") as output:
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
    """Every job, oldest first."""
    found = []
    for own in sorted((folder / "jobs").glob("*/job.json")):
        record = json.loads(own.read_bytes())
        alive = _is_alive(own.parent)
        said = own.with_name("status")
        status = None if alive else int(said.read_text()) if said.exists() else ENDED_UNSEEN
        found.append({**record, "id": own.parent.name, "alive": alive, "status": status})
    return found


def files(folder: Path, job: str) -> list[tuple[str, int, int]]:
    """The files of the runs that have changed since a job began: path under the runs, bytes, when changed (ns)."""
    runs = folder / "runs"
    began = json.loads((folder / "jobs" / job / "job.json").read_bytes())["began"]
    found = []
    for record in runs.glob("*/run.json"):
        own = [(path, path.stat()) for path in record.parent.rglob("*") if path.is_file() and path.name[0] != "."]
        if max(state.st_mtime for _, state in own) >= began:
            found += [(str(path.relative_to(runs)), state.st_size, state.st_mtime_ns) for path, state in own]
    return found


def send(folder: Path, names: Sequence[str]) -> None:
    """Write these files of the runs to standard output, as a tar archive."""
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
        for name in names:
            # Read whole: what grows meanwhile would not fit the size that stands before it.
            with suppress(FileNotFoundError):
                content = (folder / "runs" / name).read_bytes()
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write(path: Path, content: str) -> None:
    beside = path.with_name(f".{path.name}")
    beside.write_text(content)
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
    except OSError:
        return False


def main(arguments: Sequence[str]) -> None:
    """Do what the other machine asks for."""
    verb, folder, *rest = arguments
    root = Path(folder)
    if verb == "start":
        print(start(root, json.load(sys.stdin)))
    elif verb == "follow":
        follow(root, rest[0])
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
