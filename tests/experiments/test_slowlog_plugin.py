"""The experiment slowlog-plugin: a small run on a real server, and figures from invented trials."""

from __future__ import annotations

import msgspec
import polars
import pytest
from rich.console import Console

from experiments.slowlog_plugin.experiment import Conditions, PluginTrial, SelectWindow, Server, SlowlogPlugin
from experiments.slowlog_plugin.load import parse_report
from experiments.slowlog_plugin.report import costs_table, report
from experiments.slowlog_plugin.ways import Arm, LogPlace
from redolab.lab import Lab, open_lab
from redolab.machine import files
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.report.table import SCREEN
from redolab.runs.baseline import compared_with_baseline
from redolab.runs.default_report import Configuration
from redolab.runs.factors import read_factors
from redolab.runs.plan import draw_plan
from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore
from tests.command import processes_in, redolab
from tests.runs.test_baseline import of_trials
from tests.slowlog.plugin.instances import buildable, in_catalogue

pytestmark = pytest.mark.server

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
    results = SlowlogPlugin.results(run)
    assert run.record().state is RunState.COMPLETE
    measured = {each.step.arm: each.trial for each in results if not each.trial.killed}
    assert set(measured) == set(Arm)
    for arm, trial in measured.items():
        assert trial.statements > 100
        assert trial.executed == trial.statements
        assert trial.server_cpu_s
        assert trial.p95_ms
        assert trial.p99_ms
        assert trial.p95_ms <= trial.p99_ms
        assert trial.cut_off == 0
        if arm in {Arm.BUILT_IN, Arm.PLUGIN, Arm.BUFFERED, Arm.TABLE}:
            assert trial.lost == 0, arm
        assert (trial.log_bytes is not None) == arm.has_file
    assert all((each.step.log_on is LogPlace.DISK) == each.step.arm.has_file for each in results)
    assert {measured[arm].dropped for arm in (Arm.PLUGIN, Arm.BUFFERED)} == {0}
    killed = {each.step.arm: each.trial for each in results if each.trial.killed}
    assert set(killed) == {Arm.PLUGIN, Arm.BUFFERED}
    assert all(trial.executed > 100 for trial in killed.values())
    at_once, gathered = killed[Arm.PLUGIN].lost, killed[Arm.BUFFERED].lost
    assert at_once is not None
    assert gathered is not None
    # One statement of each client can be between its answer and its record, or between its record and its answer.
    assert abs(at_once) <= 16
    # What a buffer of 4K holds: 16 clients, records of some 270 bytes.
    assert -16 <= gathered <= 16 * 17
    frame = polars.read_parquet(run.folder / "table.parquet")
    assert set(frame["arm"]) == {arm.value for arm in Arm}
    for ending in ("svg", "png"):
        assert (run.folder / "plots" / f"costs.{ending}").stat().st_size > 5000
    assert processes_in(PROJECT.lab) == []
    assert files.names(PROJECT.lab / "storage/local/instances") == []


def _trial(per_second: float, lines: int | None = None) -> PluginTrial:
    return PluginTrial(
        version="10.11.19-MariaDB",
        statements_s=10,
        statements=round(10 * per_second),
        executed=round(10 * per_second),
        p95_ms=1,
        p99_ms=2,
        server_cpu_s=5,
        lines=lines,
        cut_off=0,
        log_bytes=None,
        dropped=None,
        buffer_bytes=0,
    )


def _configuration(arm: Arm, *per_second: float) -> Configuration:
    place = LogPlace.DISK if arm.has_file else LogPlace.NOWHERE
    step = SelectWindow(arm=arm, log_on=place, connections=16, seconds=10)
    trials = {str(block): _trial(each) for block, each in enumerate(per_second, start=1)}
    return of_trials({"server": "MariaDB 10.11.19", **step.described()}, trials, Server(server="mariadb-10.11"), step)


def _of_built_in(plugin: Configuration, built_in: Configuration) -> str:
    none = _configuration(Arm.NONE, 1000, 2000, 3000)
    found = compared_with_baseline([none, built_in, plugin], "per_second", {"arm": "none", "log": ""})
    table = costs_table(found, ["per_second"])
    place = [heading for heading, _ in table.headings].index("of built-in")
    assert [cells[place] for cells in table.cells[:2]] == ["", ""]
    return table.cells[2][place]


def test_a_plugin_costs_a_share_of_what_the_built_in_log_costs_in_the_same_blocks_where_that_is_significant() -> None:
    # Blocks differ by a factor of three, and in each the built-in log takes 40 %, the plugin 10 %.
    plugin = _configuration(Arm.PLUGIN, 900, 1800, 2700)
    assert _of_built_in(plugin, _configuration(Arm.BUILT_IN, 600.6, 1201, 1799)) == "0.25"
    assert _of_built_in(plugin, _configuration(Arm.BUILT_IN, 600, 2000, 3600)) == ""


def test_a_report_of_a_committed_run_fits_a_screen() -> None:
    run = Run(PROJECT.measured / "slowlog-plugin/20261126-000042-slowlog-plugin")
    made = report(run)
    assert len(made.answer.split()) <= 30
    costs, killed = made.tables
    assert costs.width <= SCREEN
    assert len(costs.cells) == 2 * 3 * 10
    assert len(killed.cells) == 2 * 2
    assert len(SlowlogPlugin.rows(run)) == 192


def test_only_a_log_that_lacks_statements_of_a_living_server_is_a_finding(lab: Lab) -> None:
    group = Server(server="mariadb-10.11")
    step = SelectWindow(arm=Arm.PLUGIN, log_on=LogPlace.DISK, connections=16, seconds=10)
    plan = draw_plan([[(group, [step])]], repeat=1, seed=1, conditions=Conditions(buffer=1))
    bench = SlowlogPlugin(lab, plan)
    assert bench.findings(group, step, _trial(10, lines=100)) == ()
    assert len(bench.findings(group, step, _trial(10, lines=98))) == 1
    killed = msgspec.structs.replace(group, killed=Arm.PLUGIN)
    assert bench.findings(killed, step, _trial(10, lines=98)) == ()
    digests = msgspec.structs.replace(step, arm=Arm.DIGESTS)
    assert bench.findings(group, digests, _trial(10, lines=98)) == ()


def test_performance_schema_and_each_kill_have_an_instance_of_their_own() -> None:
    asked = {"server": "mariadb-11.8", "arm": "plugin,digests", "connections": "1,2", "log": "disk,tmpfs"}
    cells = SlowlogPlugin.cells(read_factors(SlowlogPlugin.factors_type, asked))
    plain, killed, schema = cells
    assert (plain.schema, killed.killed, schema.schema) == (False, Arm.PLUGIN, True)
    assert [each.arm for each in cells[plain]] == [Arm.NONE] * 2 + [Arm.PLUGIN] * 4
    assert [(each.log_on, each.connections) for each in cells[killed]] == [(LogPlace.TMPFS, 16)]
    assert [(each.arm, each.log_on) for each in cells[schema]] == [(Arm.DIGESTS, LogPlace.NOWHERE)] * 2


def test_percentiles_are_those_of_the_histogram() -> None:
    found = parse_report(REPORT)
    assert found is not None
    assert (found.statements, found.seconds) == (100, 2.001)
    assert [found.percentile_ms(share) for share in (0.5, 0.95, 0.98, 0.99)] == [0.1, 0.2, 0.2, 10.5]
    assert parse_report("FATAL: nothing") is None
