"""Agent that runs on the other machine: it describes the machine, starts jobs of the lab, and lists them.

Each call sends it along (`python3 - VERB FOLDER …`), to Python 3.11 or later without any package. FOLDER is the lab's
there. `FOLDER/jobs/ID/` has `job.json`, `output`, and `status` once the job has ended.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

MARK = "redolab-machine.json"
"""File that makes a folder the lab's own, to be written to and removed."""
FETCHED = "fetched"
"""File beside a job's record, present once its owner has fetched all that the job made."""
VISIT = ".visit"
"""Lock of the one who copies the lab there or starts a job."""
_RECORD, _STATUS = "job.json", "status"
ALIVE = "alive"
"""Locked by a job's watcher and by the job: the kernel lets go of it when both have ended, however they end."""


def look(folder: str) -> dict[str, Any]:
    """Describe this machine and the folder, without making anything; an empty `folder` is the usual one."""
    path = Path(folder or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "redolab-machine")
    there = next(each for each in (path, *path.parents) if each.exists())
    disk = os.statvfs(there)
    names = {each.name for each in path.iterdir()} if path.is_dir() else set()
    library, version = platform.libc_ver()
    problems = {
        "it has no GNU C library, which the servers need": library != "glibc",
        "it has no rsync, by which the lab and its runs are copied": shutil.which("rsync") is None,
        f"{path} cannot be written": not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)),
        f"{path} is not empty, and not of the lab's": MARK not in names and bool(names - {VISIT}),
        f"programs in {path} may not be executed (noexec)": bool(disk.f_flag & os.ST_NOEXEC),
    }
    return {
        "folder": str(path),
        "processor": platform.machine(),
        "library": version,
        "python": sys.executable,
        "version": sys.version_info[:2],
        "room": disk.f_bavail * disk.f_frsize,
        "is_ours": MARK in names,
        "has_lab": Path(path, "lab/redolab").is_dir(),
        "problem": next((problem for problem, is_so in problems.items() if is_so), ""),
    }


def start(folder: Path, request: dict[str, Any]) -> None:
    """Start a job and print its id once it runs; remain, detached from the connection, as its watcher.

    `request` has `command`, `environment`, and the fields that the record keeps.
    """
    own = folder / "jobs" / f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"
    own.mkdir(parents=True)
    if os.fork():
        return
    os.setsid()
    # An sshd that was started in a shell's background passes SIGINT on as ignored; the job would never end by it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    lock = (own / ALIVE).open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    with (own / "output").open("wb") as output:
        process = subprocess.Popen(
            request["command"],
            env={**os.environ, **request["environment"]},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[lock.fileno()],
            start_new_session=True,
        )
    started = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
    record = {"arguments": request["arguments"], "by": request["by"], "started": started}
    _write(own / _RECORD, json.dumps({**record, "pid": process.pid}))
    print(json.dumps(own.name), flush=True)
    # The connection ends once no process holds these streams.
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    _write(own / _STATUS, str(process.wait()))


def jobs(folder: Path) -> list[dict[str, Any]]:
    """List every job, oldest first. The status is null if the end of the job was not recorded."""
    found = []
    for lock in sorted((folder / "jobs").glob(f"*/{ALIVE}")):
        own, alive = lock.parent, _is_locked(lock)
        if (own / _RECORD).exists():
            status = (own / _STATUS).read_text() if not alive and (own / _STATUS).exists() else "null"
            now = {"id": own.name, "alive": alive, "status": json.loads(status), "fetched": (own / FETCHED).exists()}
            found.append({**json.loads((own / _RECORD).read_bytes()), **now})
    return found


def runs(folder: Path, job: str) -> list[str]:
    """List the runs that have changed since a job began, without those that another job is measuring."""
    others = any(each["alive"] and each["id"] != job for each in jobs(folder))
    began = (folder / "jobs" / job / ALIVE).stat().st_mtime
    found = []
    for record in sorted((folder / "runs").glob("*/run.json")):
        changed = max(path.stat().st_mtime for path in record.parent.rglob("*") if path.is_file())
        running = others and json.loads(record.read_bytes())["state"] == "running"
        if changed >= began and not running:
            found.append(record.parent.name)
    return found


def _is_locked(path: Path) -> bool:
    with path.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _write(path: Path, content: str) -> None:
    """Write a file whole or not at all, also after a power cut."""
    partial = path.with_name(f".{path.name}")
    with partial.open("w") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def _main(verb: str, folder: str, *rest: str) -> None:
    match verb:
        case "look":
            print(json.dumps(look(folder)))
        case "start":
            start(Path(folder), json.loads(rest[0]))
        case "jobs":
            print(json.dumps(jobs(Path(folder))))
        case "runs":
            print(json.dumps(runs(Path(folder), *rest)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
