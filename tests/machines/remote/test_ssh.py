"""Another machine by SSH, against sshd: a whole run, what ends it half-way, and what a machine cannot do."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from redolab.lab import open_lab
from redolab.project import PROJECT
from redolab.runs.schema import RunState
from tests.command import (
    QUIET,
    SMALL,
    SOMEBODY,
    folder_for_everybody,
    new_run,
    processes_in,
    read_until,
    recoveries,
    redolab,
    redolab_running,
    run_names,
    signal_at,
)
from tests.machines.remote.sshd import NEEDED, SOMEBODYS, Host, host
from tests.thorough import mostly_thorough

RUN = ("run", "recovery", *SMALL, "--repeat", "1")

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can have network namespaces and sshd"),
]


@pytest.fixture(scope="module")
def there() -> Iterator[Host]:
    """A host with a default server unpacked here, which it will be brought."""
    with open_lab(QUIET, list) as lab:
        lab.server("mariadb-10.11")
        if missing := [package for program, package in NEEDED.items() if shutil.which(program) is None]:
            lab.tools.install(missing, lab.progress)
    with folder_for_everybody() as folder, host(folder) as made:
        yield made


@pytest.fixture(autouse=True)
def reached_so(there: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in there.environment.items():
        monkeypatch.setenv(name, value)
    # Of their own: a host of these tests is gone with them, and would be asked for by those that come later.
    monkeypatch.setenv("REDOLAB_MACHINES", str(there.folder / "machines.json"))


def _folder(there: Host, account: str) -> Path:
    """Of the lab there, one for each account: it is brought there once for all tests."""
    folder = there.folder / f"lab-of-{account}"
    if not folder.exists():
        folder.mkdir()
        if account == SOMEBODYS:
            os.chown(folder, SOMEBODY, SOMEBODY)
    return folder


def _processes_in(folder: Path) -> list[str]:
    return [line for line in processes_in(folder) if "sshd" not in line]


@pytest.mark.parametrize("account", mostly_thorough(["root", SOMEBODYS], ["root"]))
def test_a_whole_run_is_carried_out_there_and_comes_back(there: Host, account: str) -> None:
    before, folder = run_names(), _folder(there, account)
    machine = there.machine(account, folder)
    done = redolab(*RUN, "--machine", machine)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"to {account}" in done.stdout
    run = new_run(before)
    record = run.record()
    assert record.state is RunState.COMPLETE
    assert record.sessions[0].address == machine
    assert len(recoveries(run)) == 1
    original = folder / "runs" / run.name
    for path in original.rglob("*"):
        if path.is_file() and path.name[0] != ".":
            assert (run.folder / path.relative_to(original)).read_bytes() == path.read_bytes()
    assert not list(PROJECT.runs.glob(".fetching*"))
    assert (original.stat().st_uid == SOMEBODY) is (account == SOMEBODYS)
    assert not _processes_in(folder)
    # The second time only what is measured takes time.
    again = redolab("images", "--machine", machine)
    assert again.returncode == 0, again.stderr
    assert "mariadb-10.11-64M" in again.stdout
    planned = redolab(*RUN, "--plan", "--machine", machine)
    assert planned.returncode == 0, planned.stdout + planned.stderr
    assert f"to {account}" not in again.stdout + planned.stdout


def test_a_lost_connection_does_not_stop_it_and_attach_takes_it_up(there: Host) -> None:
    before, folder = run_names(), _folder(there, "root")
    machine = there.machine("root", folder)
    with redolab_running(*RUN, "--repeat", "4", "--machine", machine) as process:
        read_until(process, "1 of 4")
        refused = redolab(*RUN, "--machine", machine)
        there.cut()
        assert process.stdout is not None
        said = process.stdout.read()
        assert process.wait(60) == 1
    # One run at a time has the machine.
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert f"'redolab attach {machine}'" in said.splitlines()[-1]
    assert run_names() == before
    taken_up = redolab("attach", "root")
    assert taken_up.returncode == 0, taken_up.stdout + taken_up.stderr
    assert "recovery 4" in taken_up.stdout
    assert len(recoveries(new_run(before))) == 4


def test_ctrl_c_here_stops_it_there_and_nothing_is_left(there: Host) -> None:
    folder = _folder(there, "root")
    machine = there.machine("root", folder)
    asked = [*RUN, "--machine", machine, "--seed", "77", "--dataset", "40M"]
    status, said = signal_at("filling", signal.SIGINT, asked)
    assert status == 130, said
    assert not _processes_in(folder)
    assert not list((folder / "lab-folder/storage/local/instances").glob("*"))
    listed = redolab("machines")
    assert "(ended)" in listed.stdout


def test_killed_it_leaves_no_socket_of_its_connection(there: Host) -> None:
    temporary = there.folder / "tmp"
    temporary.mkdir()
    program = (
        "import os, shlex, time; from redolab.machines.remote.ssh import connected\n"
        "with connected('root', shlex.split(os.environ['REDOLAB_SSH'])):\n    print('connected', flush=True)\n    time.sleep(60)"
    )
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT.root, env=environment) as process:
        read_until(process, "connected")
        assert [path.name.partition("-")[0] for path in temporary.iterdir()] == ["redolab"]
        process.kill()
    deadline = time.monotonic() + 20
    while list(temporary.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.thorough
def test_a_disk_with_no_room_there_is_said_before_anything_is_copied_or_started(there: Host) -> None:
    small = there.folder / "small"
    with there.disk(small, "size=48M"):
        refused = redolab(*RUN, "--machine", there.machine("root", small))
        assert refused.returncode == 1
        assert f"redolab: root: {small} has " in refused.stderr
        assert refused.stderr.count("\n") == 1
        assert "copying" not in refused.stdout


def test_a_folder_whose_programs_may_not_run_is_refused(there: Host) -> None:
    folder = there.folder / "noexec"
    with there.disk(folder, "size=16M,noexec"):
        refused = redolab("doctor", "--machine", there.machine("root", folder))
    assert (refused.returncode, "(noexec)" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("stranger", "the lab asks for no password"),
        ("silent", "is sshd running there, on that port?"),
        ("unknown-key", "connect once by hand and look at its key: ssh unknown-key"),
        ("no-such-host.invalid", "is there a Host of that name in ~/.ssh/config?"),
    ],
)
def test_a_machine_that_cannot_be_reached_is_one_line(name: str, problem: str) -> None:
    refused = redolab("doctor", "--machine", f"ssh:{name}")
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"redolab: {name} cannot be reached (")
    assert problem in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.thorough
def test_clean_leaves_nothing_there(there: Host) -> None:
    folder = _folder(there, "root")
    machine = there.machine("root", folder)
    assert redolab("doctor", "--log-size", "64M", "--machine", machine).returncode == 0
    cleaned = redolab("machines", "clean", machine)
    assert cleaned.returncode == 0, cleaned.stderr
    assert not folder.exists()
    foreign = there.folder / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("years of work")
    not_brought = redolab("doctor", "--machine", there.machine("root", foreign))
    assert not_brought.returncode == 2
    assert [path.name for path in foreign.iterdir()] == ["thesis.txt"]
    refused = redolab("machines", "clean", there.machine("root", foreign))
    assert refused.returncode == 2
    assert (foreign / "thesis.txt").exists()
