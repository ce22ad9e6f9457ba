"""What runs on the other machine, without a network between."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from redolab.project import PROJECT
from redolab.remote import job


def said(folder: Path, verb: str, *rest: str, given: object = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        # Without packages, as on another machine.
        [sys.executable, "-S", "-m", "redolab.remote.job", verb, str(folder), *rest],
        input=json.dumps(given), capture_output=True, text=True, check=False, cwd=PROJECT.root, timeout=30,
    )  # fmt: skip


def asked(command: Sequence[str], terminal: Sequence[int] | None = None) -> Mapping[str, Any]:
    environment = {"PATH": os.environ["PATH"], "ASKED": "this"}
    return {"arguments": ["run"], "command": command, "environment": environment, "by": "me@here", "terminal": terminal}


def jobs(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(said(folder, "jobs").stdout)
    return found


def ended(folder: Path, name: str) -> dict[str, Any]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        (found,) = [each for each in jobs(folder) if each["id"] == name]
        if not found["alive"]:
            return found
        time.sleep(0.1)
    raise AssertionError("it has not ended")


@pytest.mark.parametrize("terminal", [None, (30, 97)])
def test_a_job_outlives_who_started_it_and_tells_what_it_printed_and_how_it_ended(
    tmp_path: Path, terminal: Sequence[int] | None
) -> None:
    script = "sleep 0.5; echo $ASKED; stty size 2>/dev/null; exit 3"
    started = said(tmp_path, "start", given=asked(["sh", "-c", script], terminal))
    assert started.returncode == 0, started.stderr
    name = started.stdout.strip()
    printed = said(tmp_path, "follow", name, "0").stdout.split()
    assert printed == (["this"] if terminal is None else ["this", "30", "97"])
    assert ended(tmp_path, name)["status"] == 3
    assert said(tmp_path, "follow", name, "2").stdout.startswith("is")
    assert not jobs(tmp_path)[0]["fetched"]
    assert said(tmp_path, "fetched", name).returncode == 0
    assert jobs(tmp_path)[0]["fetched"]


def test_one_at_a_time_and_one_that_is_stopped_lets_the_next_begin(tmp_path: Path) -> None:
    first = said(tmp_path, "start", given=asked([sys.executable, "-c", "import time; time.sleep(60)"])).stdout.strip()
    refused = said(tmp_path, "start", given=asked(["true"]))
    assert refused.returncode == job.BUSY
    assert [each["id"] for each in jobs(tmp_path)] == [first]
    assert said(tmp_path, "stop", first).returncode == 0
    assert ended(tmp_path, first)["status"] != 0
    assert said(tmp_path, "start", given=asked(["true"])).returncode == 0


def test_what_a_power_cut_left_torn_stops_nothing(tmp_path: Path) -> None:
    name = said(tmp_path, "start", given=asked(["true"])).stdout.strip()
    ended(tmp_path, name)
    (tmp_path / "jobs" / name / "status").write_text("")
    assert jobs(tmp_path)[0]["status"] == job.ENDED_UNSEEN
    (tmp_path / "jobs" / name / "job.json").write_text("{")
    assert jobs(tmp_path) == []


@pytest.mark.parametrize("terminal", [None, (30, 97)])
def test_a_command_that_cannot_be_executed_is_named_and_no_success(
    tmp_path: Path, terminal: Sequence[int] | None
) -> None:
    name = said(tmp_path, "start", given=asked(["/no/such/python"], terminal)).stdout.strip()
    assert "/no/such/python could not be started" in said(tmp_path, "follow", name, "0").stdout
    assert ended(tmp_path, name)["status"] == job.NOT_STARTED


def test_the_files_of_runs_that_have_changed_since_are_listed_and_sent(tmp_path: Path) -> None:
    for name, when in (("old", 1.0), ("new", None)):
        run = tmp_path / "runs" / name
        run.mkdir(parents=True)
        (run / "run.json").write_text("{}")
        if when is not None:
            os.utime(run / "run.json", (when, when))
    started = said(tmp_path, "start", given=asked(["touch", str(tmp_path / "runs/new/run.json")])).stdout.strip()
    ended(tmp_path, started)
    listed = json.loads(said(tmp_path, "files", started).stdout)
    assert [(name, size) for name, size, _ in listed] == [("new/run.json", 2)]


def test_what_another_job_is_at_is_not_sent_as_a_result(tmp_path: Path) -> None:
    mine = said(tmp_path, "start", given=asked(["true"])).stdout.strip()
    ended(tmp_path, mine)
    for name, state in (("whole", "complete"), ("growing", "running")):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "run.json").write_text(json.dumps({"state": state}))
    assert {Path(each[0]).parts[0] for each in job.files(tmp_path, mine)} == {"whole", "growing"}
    other = said(tmp_path, "start", given=asked([sys.executable, "-c", "import time; time.sleep(60)"])).stdout.strip()
    try:
        for name in ("whole", "growing"):
            (tmp_path / "runs" / name / "run.json").touch()
        assert {Path(each[0]).parts[0] for each in job.files(tmp_path, mine)} == {"whole"}
        assert {Path(each[0]).parts[0] for each in job.files(tmp_path, other)} >= {"growing"}
    finally:
        said(tmp_path, "stop", other)
        ended(tmp_path, other)
