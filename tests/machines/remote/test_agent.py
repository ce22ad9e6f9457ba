"""Names of machines, and the agent on one: what it says of the machine, and the jobs that it starts. Without a network between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from redolab.errors import InvalidInput
from redolab.machines.remote import agent
from redolab.machines.remote.address import guest_address, parse_machine
from redolab.machines.remote.machine import Facts, asker

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]


@pytest.mark.parametrize(
    ("text", "host", "folder"),
    [
        ("vagrant", "vagrant", "/mnt/redolab/lab"),
        ("vagrant:virtualbox", "vagrant", "/mnt/redolab/lab"),
        ("ssh:db-spare", "db-spare", ""),
        ("ssh:dba@10.0.0.7:/mnt/data/redolab", "dba@10.0.0.7", "/mnt/data/redolab"),
    ],
)
def test_a_machine_is_a_host_and_a_folder_there(text: str, host: str, folder: str) -> None:
    address = parse_machine(text)
    assert address is not None
    assert (str(address), address.host, address.folder) == (text, host, folder)
    assert parse_machine("local") is None
    assert parse_machine("vagrant:libvirt") == guest_address("libvirt")


@pytest.mark.parametrize(
    "text",
    ["", "moon", "ssh:", "ssh:-oProxyCommand=reboot", "ssh:a b", "ssh:host:relative", "ssh:h;reboot", "vagrant:"],
)
def test_what_is_no_machine_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_machine(text)


def said(verb: str, folder: Path, *rest: str) -> Any:
    # Without packages, as on another machine.
    call = [sys.executable, "-S", "-", verb, str(folder), *rest]
    script = Path(agent.__file__).read_text()
    return json.loads(subprocess.run(call, input=script, capture_output=True, text=True, check=True, timeout=30).stdout)


def started(folder: Path, command: Sequence[str]) -> str:
    request = {"arguments": ["run"], "command": command, "environment": {"ASKED": "this"}, "by": asker()}
    name: str = said("start", folder, json.dumps(request))
    return name


def ended(folder: Path, name: str) -> Mapping[str, Any]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        (found,) = [each for each in said("jobs", folder) if each["id"] == name]
        if not found["alive"]:
            return {**found, "output": (folder / "jobs" / name / "output").read_text()}
        time.sleep(0.1)
    raise AssertionError("it has not ended")


def facts(folder: Path) -> Facts:
    return msgspec.convert(said("look", folder), Facts)


def test_it_says_what_this_machine_is_and_makes_nothing(tmp_path: Path) -> None:
    found = facts(tmp_path / "deep/lab")
    assert (found.folder, found.version) == (str(tmp_path / "deep/lab"), sys.version_info[:2])
    assert (found.problem, found.is_ours, found.has_lab) == ("", False, False)
    assert found.room > 0
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_others_is_refused_until_it_is_marked(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    assert facts(tmp_path).problem
    assert facts(tmp_path / "thesis.txt/lab").problem
    (tmp_path / agent.MARK).touch()
    assert (facts(tmp_path).problem, facts(tmp_path).is_ours) == ("", True)


def test_a_machine_without_rsync_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "rsync" in facts(tmp_path).problem


def test_a_job_outlives_who_started_it_and_keeps_its_output_and_status(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    waits = f"until [ -e {go_on} ]; do sleep 0.1; done"
    name = started(tmp_path, ["sh", "-c", f"{waits}; echo $ASKED; echo that >&2; exit 3"])
    assert said("jobs", tmp_path)[0]["alive"]
    go_on.touch()
    job = ended(tmp_path, name)
    assert job["output"].split() == ["this", "that"]
    assert (job["status"], job["arguments"], job["by"]) == (3, ["run"], asker())


def test_a_job_ends_by_ctrl_c_whoever_started_it(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        name = started(tmp_path, SLEEP)
    finally:
        signal.signal(signal.SIGINT, before)
    os.kill(said("jobs", tmp_path)[0]["pid"], signal.SIGINT)
    job = ended(tmp_path, name)
    assert job["status"] not in (0, None)
    assert "KeyboardInterrupt" in job["output"]


def test_a_job_whose_watcher_is_killed_is_alive_until_it_ends(tmp_path: Path) -> None:
    name = started(tmp_path, SLEEP)
    pid = said("jobs", tmp_path)[0]["pid"]
    psutil.Process(psutil.Process(pid).ppid()).kill()
    assert said("jobs", tmp_path)[0]["alive"]
    os.kill(pid, signal.SIGKILL)
    assert ended(tmp_path, name)["status"] is None


def test_a_command_that_cannot_be_executed_is_an_error_and_no_job(tmp_path: Path) -> None:
    with pytest.raises(json.JSONDecodeError):
        started(tmp_path, ["/no/such/python"])
    assert said("jobs", tmp_path) == []


def test_runs_are_listed_that_a_job_has_changed_and_no_other_measures(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name, state in (("old", "complete"), ("whole", "complete"), ("growing", "running")):
        (runs / name).mkdir(parents=True)
        (runs / name / "run.json").write_text(json.dumps({"state": state}))
        os.utime(runs / name / "run.json", (1.0, 1.0))
    touched = [str(runs / name / "run.json") for name in ("whole", "growing")]
    mine = started(tmp_path, ["touch", *touched])
    ended(tmp_path, mine)
    assert said("runs", tmp_path, mine) == ["growing", "whole"]
    other = started(tmp_path, SLEEP)
    assert said("runs", tmp_path, mine) == ["whole"]
    os.kill(said("jobs", tmp_path)[-1]["pid"], signal.SIGINT)
    ended(tmp_path, other)
