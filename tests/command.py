"""Running the command line as a person does, and looking at what it leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from rich.console import Console

from redolab.crash.records.recovery import RecoveryTrial
from redolab.disks.attaching import DISKS
from redolab.lab import native_folder, open_lab
from redolab.machine import files
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.results.recoveries import recoveries_of
from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore
from redolab.servers.install import InstalledServer
from redolab.servers.instance import UsedInstance
from redolab.workloads.data import TableCheck

QUIET = Progress(Console(quiet=True))
UNCHECKED = ("--check-disks", "off")
SMALL = ("--log-size", "64M", "--dataset", "32M", "--open-transaction", "5000", "--pool", "64M", *UNCHECKED)
"""A crash that takes seconds."""


def unpacked(name: str = "mariadb-10.11") -> InstalledServer:
    """Return a server of the catalogue, unpacked in the tests' lab."""
    with open_lab(QUIET, list) as lab:
        return lab.server(name)


@contextmanager
def folder_for_everybody() -> Iterator[Path]:
    """Yield a folder that every account reaches; pytest's own folders are for one account."""
    with tempfile.TemporaryDirectory(prefix="redolab-test-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o711)
        yield folder


SOMEBODY = 65533
"""Number of an account that owns nothing on the machine."""


def python_for_everybody() -> str:
    """Return this Python, or the system's of the same version if only root reaches this one. Skip the test without root."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/python{version}"):
        ask = [*_BECOME_SOMEBODY, python, "--version"]
        if Path(python).exists() and subprocess.run(ask, capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip(f"no Python {version} on this machine that another user can run")


def as_somebody(
    *arguments: str, folder: Path, environment: Mapping[str, str] | None = None, said: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS` to its end as an account that owns nothing, with `folder` as its home."""
    packages = next(Path(sys.prefix).glob("lib/python*/site-packages"))
    return subprocess.run(
        [*_BECOME_SOMEBODY, python_for_everybody(), *arguments],
        input=said,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": f"{PROJECT.root}:{packages}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MPLCONFIGDIR": str(folder),
            **(environment or {}),
        },
    )


_BECOME_SOMEBODY = ("setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups", "--inh-caps=-all")


def redolab(
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    given: str = "",
    seconds: float = 280,
    within: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """Run `redolab ARGUMENTS` to its end, with `given` on its standard input.

    `within`: a command that runs another one, as in a namespace.
    """
    return subprocess.run(
        [*within, sys.executable, "-m", "redolab", *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
        cwd=PROJECT.root,
        env={**os.environ, **(environment or {})},
    )


@contextmanager
def redolab_running(
    *arguments: str, environment: Mapping[str, str] | None = None, within: Sequence[str] = ()
) -> Iterator[subprocess.Popen[str]]:
    """Run `redolab ARGUMENTS` within the block, then ask it to end. `within` is as for `redolab`."""
    command = [*within, sys.executable, "-m", "redolab", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=PROJECT.root,
        env={**os.environ, **(environment or {})},
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.terminate()


def read_until(process: subprocess.Popen[str], *markers: str) -> str:
    """Return the output of a process up to a line that has all of these markers."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if all(marker in line for marker in markers):
            return said
    raise AssertionError(said)


def signal_at(marker: str, with_signal: signal.Signals, arguments: Sequence[str]) -> tuple[int, str]:
    """Start `redolab ARGUMENTS`, signal it when it prints `marker`; return its exit status and its whole output."""
    with redolab_running(*arguments) as process:
        said = read_until(process, marker)
        process.send_signal(with_signal)
        assert process.stdout is not None
        said += process.stdout.read()
        return process.wait(60), said


@contextmanager
def killed_when_seen(choose: Callable[[list[psutil.Process]], list[psutil.Process]]) -> Iterator[None]:
    """While in it: of the processes that this one has started, the first that `choose` returns are killed."""
    killed: list[int] = []

    def look() -> None:
        deadline = time.monotonic() + 120
        while not killed and time.monotonic() < deadline:
            # Processes come and go while they are looked at.
            with suppress(psutil.NoSuchProcess):
                for process in choose(psutil.Process().children(recursive=True)):
                    process.kill()
                    killed.append(process.pid)
            time.sleep(0.005)

    killer = threading.Thread(target=look)
    killer.start()
    yield
    killer.join()
    assert killed


@contextmanager
def run_of(*arguments: str, status: int = 0) -> Iterator[Run]:
    """Yield the run that `redolab run ARGUMENTS` made, its output in `said`. Remove it then, and check that nothing is left."""
    done = redolab("run", *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    made = RunStore().get("latest")
    (made.folder / "said").write_text(done.stdout)
    try:
        yield made
    finally:
        RunStore().remove(made)
    assert nothing_is_left()


def module_run(*arguments: str) -> Any:
    """Return a fixture: the run that `redolab run ARGUMENTS` made, one for all tests of a module."""

    @pytest.fixture(scope="module")
    def run() -> Iterator[Run]:
        with run_of(*arguments) as made:
            yield made

    return run


def wait_until_servers_are_gone(seconds: float = 30) -> None:
    """Wait until no server and no disk of a lab that was killed is left."""
    deadline = time.monotonic() + seconds
    while left := [
        line for line in processes_in(PROJECT.lab) if any(name in line for name in ("mariadbd", "mysqld", "diskmodel"))
    ]:
        assert time.monotonic() < deadline, f"outlived the lab: {left}"
        time.sleep(0.05)


def processes_in(folder: Path) -> list[str]:
    """Return the command lines of all processes that name a folder. None may be left in a lab that has ended."""
    found = []
    for process in psutil.process_iter(["cmdline", "pid"]):
        words = process.info["cmdline"] or []
        if process.pid != os.getpid() and any(str(folder) in word for word in words):
            found.append(" ".join(words))
    return found


def nothing_is_left() -> bool:
    """Check that the lab left no process, instance, disk, mount, loop device, journal entry or running run."""
    instances = files.names(native_folder(PROJECT.lab) / "instances")
    disks = files.names(PROJECT.lab / DISKS)
    journal = files.names(PROJECT.lab / "journal")
    running = [run.name for run in RunStore().all() if run.record().state is RunState.RUNNING]
    mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if str(PROJECT.lab) in line]
    listed = subprocess.run(
        ["losetup", "--list", "--noheadings", "--output=BACK-FILE"], capture_output=True, text=True, check=False
    )
    loops = [line for line in listed.stdout.splitlines() if str(PROJECT.lab) in line]
    assert (processes_in(PROJECT.lab), instances, disks, journal, running, mounts, loops) == (
        [],
        [],
        [],
        [],
        [],
        [],
        [],
    )
    return True


def checks(run: Run) -> list[TableCheck]:
    """Return all consistency checks of the servers that a run has recovered."""
    found = [each.judgement for each in recoveries_of(run) if each.judgement is not None]
    assert found
    return [check for judgement in found for check in judgement.checks]


def run_names() -> list[str]:
    """Return the names of all runs."""
    return [run.name for run in RunStore().all()]


def new_run(before: list[str]) -> Run:
    """Return the only run that did not exist before."""
    (run,) = [run for run in RunStore().all() if run.name not in before]
    return run


def recoveries(run: Run) -> list[RecoveryTrial]:
    """Return the recoveries that a run has measured."""
    return [record.trial for record in run.trials(RecoveryTrial)]


def used_instance(run: Run, digest: str) -> UsedInstance:
    """Return the settings and variables that a run has kept under a hash."""
    return msgspec.json.decode((run.folder / "instances" / f"{digest}.json").read_bytes(), type=UsedInstance)
