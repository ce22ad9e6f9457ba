"""Fetching runs by rsync, over a connection that stays on this machine; and a machine whose answers are not to be trusted."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from redolab.errors import LabError
from redolab.machines.remote.address import MachineAddress
from redolab.machines.remote.machine import RemoteMachine
from redolab.machines.remote.ssh import ConnectionLost, Ssh
from redolab.machines.remote.visit import fetch_runs
from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore, new_session
from redolab.units import MIB
from tests.command import QUIET
from tests.examples import MACHINE
from tests.machines.remote.test_agent import ended, facts, said, started

HERE = ["sh", "-c", 'eval "$*"']
"""In place of ssh: what would be run there is run here."""
ADDRESS = MachineAddress("ssh:there", "there", "")


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lab's folder on the other machine; the runs here are in `here`."""
    monkeypatch.setenv("REDOLAB_RUNS", str(tmp_path / "here"))
    return tmp_path / "there"


@pytest.fixture
def run(there: Path) -> Run:
    """A run there, which was stopped."""
    made = RunStore(there / "runs").create("dice", {}, new_session(MACHINE, "abc", {}))
    made.write_record(msgspec.structs.replace(made.record(), state=RunState.STOPPED))
    (made.folder / "trials.jsonl").write_bytes(bytes(4 * MIB))
    (made.folder / ".running").touch()
    return made


def fetch(there: Path, ssh: Sequence[str] = HERE) -> None:
    """Fetch the runs that a new job has changed there: all of them."""
    ended(there, started(there, ["sh", "-c", f"touch {there}/runs/*/run.json"]))
    machine = RemoteMachine(ADDRESS, facts(there), Ssh("there", ssh))
    fetch_runs(machine, machine.jobs()[-1], QUIET)


def files_of(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def test_files_arrive_and_nothing_else(there: Path, run: Run, tmp_path: Path) -> None:
    (run.folder / "link").symlink_to("/etc/passwd")
    os.mkfifo(run.folder / "pipe")
    fetch(there)
    assert files_of(tmp_path / "here") == [f"{run.name}/run.json", f"{run.name}/trials.jsonl"]
    assert said("jobs", there)[-1]["fetched"]


def test_a_run_that_went_on_there_replaces_what_was_fetched_unless_it_went_on_here_too(
    there: Path, run: Run, tmp_path: Path
) -> None:
    here = RunStore(tmp_path / "here")
    for sessions in (1, 2):
        fetch(there)
        (fetched,) = here.all()
        assert len(fetched.record().sessions) == sessions
        RunStore(there / "runs").reopen(run, new_session(MACHINE, "abc", {}))
        run.write_record(msgspec.structs.replace(run.record(), state=RunState.STOPPED))
    here.reopen(fetched, new_session(MACHINE, "def", {}))
    fetch(there)
    assert [(each.name, each.record().sessions[-1].commit) for each in here.all()] == [
        (run.name, "def"),
        (f"{run.name}-2", "abc"),
    ]


def test_a_connection_that_is_lost_meanwhile_leaves_no_result(there: Path, run: Run, tmp_path: Path) -> None:
    # Killed with the data half-way through.
    lost = [
        "sh",
        "-c",
        'case "$*" in *rsync*) eval "$*" | { dd bs=64k count=20 status=none; kill -9 $$; } ;; *) eval "$*";; esac',
    ]
    with pytest.raises(ConnectionLost):
        fetch(there, lost)
    assert RunStore(tmp_path / "here").all() == []
    assert not said("jobs", there)[-1]["fetched"]
    fetch(there)
    assert [each.name for each in RunStore(tmp_path / "here").all()] == [run.name]


def hostile(folder: Path, answer: bytes) -> RemoteMachine:
    """A machine that gives this answer whatever it is asked."""
    (folder / "answer").write_bytes(answer)
    return RemoteMachine(ADDRESS, facts(folder), Ssh("there", ["sh", "-c", f"cat {folder}/answer"]))


@pytest.mark.parametrize("name", ["../outside", "..", ".x", "", "a/b", "a\n", 7, None])
def test_a_name_of_a_job_or_a_run_leads_nowhere_else(name: object, tmp_path: Path) -> None:
    of_job = {"id": name, "arguments": [], "by": "me", "started": "now", "pid": 1}
    job = {**of_job, "alive": False, "fetched": False, "status": 0}
    with pytest.raises(LabError):
        hostile(tmp_path, json.dumps([job]).encode()).jobs()
    with pytest.raises(LabError):
        hostile(tmp_path, json.dumps([name]).encode()).runs("job")
    with pytest.raises(LabError):
        hostile(tmp_path, json.dumps(name).encode()).start(["run"])


@pytest.mark.parametrize("answer", [b"", b"{", b"[1]", b'{"a": 1}', b"\xff"])
def test_an_answer_that_makes_no_sense_is_an_error_of_that_machine(answer: bytes, tmp_path: Path) -> None:
    with pytest.raises(LabError):
        hostile(tmp_path, answer).jobs()
