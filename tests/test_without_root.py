"""The lab as an ordinary user: the same run, with what then cannot be had marked in its results."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from experiments.binlog_purge.experiment import PurgeTrial
from experiments.inflation.experiment import InflationTrial
from redolab.machine import files, processes
from redolab.machine.clean_up_journal import Journal
from redolab.machine.lab_folder import claim_lab_folder
from redolab.machine.processes import Command
from redolab.machine.tools import PACKAGES, Tools
from redolab.runs.store import RunStore
from tests.command import (
    QUIET,
    SMALL,
    SOMEBODY,
    as_somebody,
    checks,
    folder_for_everybody,
    python_for_everybody,
    recoveries,
    unpacked,
)

pytestmark = pytest.mark.server

Somebody = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home() -> Iterator[Path]:
    """Somebody's folder, for lab and runs."""
    with folder_for_everybody() as folder:
        yield folder


@pytest.fixture
def somebody(home: Path) -> Somebody:
    """Runs the command line as an ordinary user, with a lab and runs in `home`."""
    python_for_everybody()
    server = unpacked().folder
    claim_lab_folder(home / "lab")
    shutil.copytree(server, home / "lab/servers" / server.name, symlinks=True)
    subprocess.run(["chown", "--recursive", f"{SOMEBODY}:{SOMEBODY}", home], check=True)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        own = {"REDOLAB_LAB": str(home / "lab"), "REDOLAB_RUNS": str(home / "runs")}
        return as_somebody("-m", "redolab", *arguments, folder=home, environment=own)

    return run


def test_recoveries_without_root(somebody: Somebody, home: Path) -> None:
    done = somebody("run", "recovery", *SMALL, "--repeat", "1")
    assert done.returncode == 0, done.stderr
    (run,) = RunStore(home / "runs").all()
    (trial,) = recoveries(run)
    assert not trial.cache_dropped
    assert all(check.passed for check in checks(run))
    assert (home / "runs" / run.name).stat().st_uid == SOMEBODY


@pytest.mark.thorough
def test_binary_logs_are_removed_without_root(somebody: Somebody, home: Path) -> None:
    small = ("--storage", "local", "--file-size", "1M", "--purged", "2M", "--repeat", "1", "--seconds", "1s")
    asked = ("run", "binlog-purge", "--server", "mariadb-10.11", "--removal", "rotation", *small)
    refused = somebody(*asked, "--file-system", "ext4")
    assert refused.returncode == 2
    done = somebody(*asked, "--file-system", "as-is")
    assert done.returncode == 0, done.stderr
    (run,) = RunStore(home / "runs").all()
    (trial,) = [record.trial for record in run.trials(PurgeTrial)]
    assert len(trial.files.bytes) == 2
    # Without root the kernel is asked to forget these files alone.
    assert trial.files.cached_bytes is None or trial.files.cached_bytes < sum(trial.files.bytes) / 2


@pytest.mark.thorough
def test_inflation_without_root(somebody: Somebody, home: Path) -> None:
    one_cell = ("--trx-commit", "1", "--threads", "1", "--row-bytes", "100", "--rows", "1", "--binary-log", "off")
    done = somebody(
        "run", "inflation", "--server", "mariadb-10.11", *one_cell, "--repeat", "1", "--log-size", "64M"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (run,) = RunStore(home / "runs").all()
    (trial,) = [record.trial for record in run.trials(InflationTrial)]
    assert trial.after.device_bytes is None
    assert trial.ratio == pytest.approx(1, abs=0.01)


@pytest.mark.alone
def test_tools_are_unpacked_where_they_cannot_be_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = dict.fromkeys((*PACKAGES, "sudo"))
    monkeypatch.setattr("redolab.machine.processes.which", lambda name: missing.get(name, Path(f"/usr/bin/{name}")))
    monkeypatch.setattr("redolab.machine.processes.is_root", lambda: False)
    tools = Tools(tmp_path / "tools", Journal(tmp_path / "journal"))
    assert tools.find("sysbench") is None
    tools.require(["sysbench", "bwrap"], QUIET)
    for name in ("sysbench", "bwrap"):
        tool = tools.get(name)
        assert tool.program.is_relative_to(tmp_path)
        assert processes.run(Command([str(tool.program), "--version"], environment=tool.environment)).out
    assert (tmp_path / "tools/sysbench/usr/share/sysbench/oltp_write_only.lua").exists()
    assert files.names(tmp_path) == ["journal", "tools"]
    assert files.names(tmp_path / "journal") == []
