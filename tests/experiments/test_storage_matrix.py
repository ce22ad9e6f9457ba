"""One crash recovered on modelled disks: the matrix from its command to its tables; resumed, interrupted, its disk killed."""

from __future__ import annotations

import csv
import os
import signal
from pathlib import Path

import psutil
import pytest

from redolab.crash.bench.crash_plan import CrashPlan
from redolab.disks.figures import FIGURES
from redolab.results.crashes import crashes_of
from redolab.results.storages import storages_of
from redolab.runs.schema import RunState
from redolab.runs.store import Run
from redolab.units import MIB
from tests.command import (
    SMALL,
    UNCHECKED,
    checks,
    killed_when_seen,
    module_run,
    nothing_is_left,
    recoveries,
    redolab,
    run_of,
    signal_at,
    wait_until_servers_are_gone,
)
from tests.thorough import mostly_thorough

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/fuse").exists(), reason="modelled disks need root and FUSE"),
]

STORAGES = "gp3-3000,hdd-raid10"
MATRIX = ["run", "recovery", *SMALL, "--storage", STORAGES, "--pool", "64M", "--repeat", "1", "--seed", "3"]


run = module_run(*MATRIX[1:], "--check-disks", "on")


def test_every_cell_is_measured_on_its_disk_and_nothing_is_left(run: Run) -> None:
    assert run.record().state is RunState.COMPLETE
    trials = recoveries(run)
    assert {trial.storage for trial in trials} == set(STORAGES.split(","))
    assert [(each.step.storage, each.step.pool) for each in run.plan(CrashPlan).steps] == [
        (trial.storage, trial.buffer_pool) for trial in trials
    ]
    assert all(check.passed for check in checks(run))
    for trial in trials:
        assert trial.copy.reflink
        assert trial.copy.seconds < 10
        assert trial.device is not None
        assert trial.device.read_bytes > 30 * MIB
        assert trial.device.written_bytes > 0
        assert 0 < trial.device.busy <= trial.device.seconds + 0.1
        assert trial.cpu is not None
        assert 0.1 < trial.cpu.seconds < 60
        assert 0 < (trial.cpu.busiest_thread or 0) <= trial.cpu.seconds + 0.02
        assert trial.late_share is not None
    assert nothing_is_left()


def test_the_disks_are_what_they_were_asked_to_be(run: Run) -> None:
    checks = {each.storage: each.check for each in storages_of(run).records if each.check is not None}
    assert set(checks) == set(STORAGES.split(","))
    cloud = checks["gp3-3000"]
    # The limits are exact whatever else the machine does, as far as it is quick enough; latencies are at least as asked.
    assert cloud.got.queued_read.per_second <= 1.02 * 3000
    assert cloud.got.sequential.mb_s <= 1.02 * 131.072
    assert cloud.got.read.latency_us > 0.5 * 640
    assert checks["hdd-raid10"].got.sequential.mb_s <= 1.05 * 652
    assert cloud.overhead_us is not None


def test_the_tables_have_every_cell_and_every_figure(run: Run) -> None:
    rows = list(csv.DictReader((run.folder / "table.csv").open()))
    assert [row["storage"] for row in rows] == STORAGES.split(",")
    assert all(float(row["device_read_bytes"]) > 0 and row["bound_by"] for row in rows)
    figures = list(csv.DictReader((run.folder / "disks.csv").open()))
    assert len(figures) == 2 * len(FIGURES)
    for name in ("phases", "redo"):
        assert (run.folder / "plots" / f"{name}.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    "stage",
    mostly_thorough(
        ["… writing fio's files", "… measuring what", "… putting", "… copying mariadb", "… recovery 1", "… checking"],
        ["… recovery 1"],
    ),
)
@pytest.mark.parametrize("with_signal", mostly_thorough([signal.SIGINT, signal.SIGKILL], [signal.SIGKILL]))
def test_stopped_at_any_stage_it_leaves_nothing_to_the_next_command(
    run: Run, stage: str, with_signal: signal.Signals
) -> None:
    status, said = signal_at(stage, with_signal, MATRIX)
    if with_signal is signal.SIGINT:
        assert status == 130, said
        assert "Traceback" not in said
    else:
        assert status == -signal.SIGKILL
        wait_until_servers_are_gone()
        done = redolab("storage", "check", "/nowhere/at/all")
        assert done.returncode == 2
        assert "cleaned up" in done.stdout
    assert nothing_is_left()


def test_a_disk_model_that_is_killed_ends_the_run_with_its_reason(run: Run) -> None:
    seen: set[int] = set()

    def models_of_a_new_server(children: list[psutil.Process]) -> list[psutil.Process]:
        """The disk models once a server has begun: a recovery that is nearly over may not need its disk any more."""
        servers = {each.pid for each in children if each.name() == "mariadbd"}
        is_new = bool(servers - seen)
        seen.update(servers)
        # Two can be there: one whose disk is done with beside the one that is in use.
        return [each for each in children if each.name() == "diskmodel"] if is_new else []

    with killed_when_seen(models_of_a_new_server):
        done = redolab(*MATRIX)
    assert done.returncode == 1
    assert "disk model" in done.stderr
    assert "Traceback" not in done.stderr
    assert nothing_is_left()


@pytest.mark.thorough
def test_folders_of_the_users_are_compared_directly_and_left_clean(run: Run, tmp_path: Path) -> None:
    (image,) = crashes_of(run)
    storages = [str(tmp_path / "one"), str(tmp_path / "two")]
    for storage in storages:
        Path(storage).mkdir()
    asked = ("--image", image.name, "--storage", ",".join(storages), "--pool", "64M", "--repeat", "1", *UNCHECKED)
    with run_of("recovery", *asked) as made:
        assert {trial.storage for trial in recoveries(made)} == set(storages)
    assert all(list(Path(storage).iterdir()) == [] for storage in storages)
