"""The experiment of the slow log plugin on a real server, small; and its figures from trials that are made up."""

from __future__ import annotations

import math

import polars
import pytest
from rich.console import Console

from experiments.slowlog_plugin.arms import Arm, Place
from experiments.slowlog_plugin.load import answered
from experiments.slowlog_plugin.table import cost_rows, cost_table, killed_rows, relative_cost
from experiments.slowlog_plugin.trial import PluginTrial
from redolab.lab import open_lab
from redolab.machine import files
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.report.table import SCREEN
from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore
from tests.command import lab_processes, redolab
from tests.querylogs.plugin.instances import buildable, in_catalogue

REPORT = """
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.100 |****************************************  90
       0.200 |****                                      8
      10.500 |                                          2

SQL statistics:
General statistics:
    total time:                          2.0010s
    total number of events:              100
"""


@pytest.fixture(scope="module")
def run() -> Run:
    with open_lab(Progress(Console(quiet=True)), RunStore().clear_unfinished) as lab:
        server = buildable(lab, "mariadb-10.11")
    before = {each.name for each in RunStore().all()}
    with in_catalogue(server):
        done = redolab(
            *("run", "slowlog-plugin", "--server", server.name, "--connections", "3", "--repeat", "1"),
            *("--seconds", "2", "--log", "disk", "--buffer", "4K"),
        )
    assert done.returncode == 0, done.stderr
    (made,) = [each for each in RunStore().all() if each.name not in before]
    return made


@pytest.mark.alone
@pytest.mark.timeout(3600)
def test_every_way_of_logging_is_measured_and_nothing_is_missing(run: Run) -> None:
    trials = [record.trial for record in run.trials(PluginTrial)]
    assert run.record().state is RunState.COMPLETE
    measured = {trial.arm: trial for trial in trials if not trial.killed}
    assert set(measured) == set(Arm)
    for arm, trial in measured.items():
        assert trial.statements > 100
        assert trial.executed == trial.statements
        assert trial.server_cpu
        assert trial.p95_ms
        assert trial.p99_ms
        assert trial.p95_ms <= trial.p99_ms
        assert trial.cut_off == 0
        if arm in {Arm.BUILT_IN, Arm.PLUGIN, Arm.BUFFERED, Arm.TABLE}:
            assert trial.lost == 0, arm
        assert (trial.log_bytes is not None) == arm.has_file
        assert (trial.place is Place.DISK) == arm.has_file
    assert {measured[arm].dropped for arm in (Arm.PLUGIN, Arm.BUFFERED)} == {0}
    killed = {trial.arm: trial for trial in trials if trial.killed}
    assert set(killed) == {Arm.PLUGIN, Arm.BUFFERED}
    assert all(trial.executed > 100 for trial in killed.values())
    at_once, gathered = killed[Arm.PLUGIN].lost, killed[Arm.BUFFERED].lost
    assert at_once is not None
    assert gathered is not None
    # One statement of each client can be between its answer and its record, or between its record and its answer.
    assert abs(at_once) <= 16
    # What a buffer of 4K holds: 16 clients, records of some 270 bytes.
    assert -16 <= gathered <= 16 * 17


@pytest.mark.alone
def test_its_report_is_there_and_nothing_else_is_left(run: Run) -> None:
    frame = polars.read_parquet(run.folder / "table.parquet")
    assert set(frame["arm"]) == {arm.value for arm in Arm}
    for ending in ("svg", "png"):
        assert (run.folder / "plots" / f"costs.{ending}").stat().st_size > 5000
    assert lab_processes() == []
    assert files.names(PROJECT.lab / "storage/native/instances") == []


def _trial(arm: Arm, block: int, per_second: float, *, lines: int | None = None, killed: bool = False) -> PluginTrial:
    return PluginTrial(
        server="mariadb-10.11",
        version="10.11.19-MariaDB",
        arm=arm,
        place=Place.DISK if arm.has_file else Place.NOWHERE,
        connections=16,
        block=block,
        seconds=10,
        statements=round(10 * per_second),
        executed=round(10 * per_second),
        p95_ms=1,
        p99_ms=2,
        server_cpu=5,
        lines=lines,
        cut_off=0,
        log_bytes=None,
        dropped=None,
        buffer=0,
        killed=killed,
    )


def test_costs_are_those_of_the_same_blocks() -> None:
    # Blocks differ by a factor of three, and in each the built-in log takes 40 %, the plugin 10 %.
    trials = []
    for block, speed in enumerate((1000.0, 2000.0, 3000.0), start=1):
        noise = 1 + 0.001 * block
        trials += [
            _trial(Arm.NONE, block, speed),
            _trial(Arm.BUILT_IN, block, 0.6 * speed * noise, lines=round(6 * speed * noise)),
            _trial(Arm.PLUGIN, block, 0.9 * speed / noise, lines=round(9 * speed / noise)),
        ]
    trials.append(_trial(Arm.BUFFERED, 1, 500, lines=4900, killed=True))
    rows, killed = cost_rows(trials), killed_rows(trials)
    by_arm = {row.arm: row for row in rows}
    assert by_arm[Arm.NONE].change is None
    built_in, plugin = by_arm[Arm.BUILT_IN], by_arm[Arm.PLUGIN]
    assert built_in.change is not None
    assert built_in.change.change == pytest.approx(-0.4, abs=0.01)
    assert built_in.change.low < built_in.change.change < built_in.change.high < 0
    assert plugin.relative is not None
    assert plugin.relative.share == pytest.approx(0.25, abs=0.02)
    assert plugin.relative.low <= plugin.relative.share <= plugin.relative.high
    assert built_in.relative is None
    assert [row.lost for row in killed] == [[100]]
    assert cost_table(rows).width <= SCREEN


def test_a_cost_that_is_none_is_compared_with_nothing() -> None:
    assert relative_cost([(0.1, 0.0), (0.1, -0.1)]) is None
    few = relative_cost([(0.1, 0.2), (0.1, 0.2)])
    assert few is not None
    assert few.share == pytest.approx(0.5)
    assert math.isnan(few.low)


def test_percentiles_are_those_of_the_histogram() -> None:
    found = answered(REPORT)
    assert found is not None
    assert (found.statements, found.seconds) == (100, 2.001)
    assert [found.percentile_ms(share) for share in (0.5, 0.95, 0.98, 0.99)] == [0.1, 0.2, 0.2, 10.5]
    assert answered("FATAL: nothing") is None
