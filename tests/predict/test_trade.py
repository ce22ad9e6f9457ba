"""Gains of a larger log: in the answers of `size`, and in the committed loads."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from redolab.crash.records.kill_rule import KillRule
from redolab.predict.advising import Sized, sized
from redolab.predict.asking import model_for
from redolab.predict.log_size import Basis, Limits
from redolab.predict.question import Model, Question
from redolab.predict.recovery import recovery_at
from redolab.predict.trade import (
    FlushingEffect,
    Gain,
    Trade,
    Trades,
    committed_loads,
    flushing_of,
    shipped_trades,
    trades_of,
    write_trades,
)
from redolab.report.intervals import RelativeChange
from redolab.results.load_figures import load_figures
from redolab.results.loads import Load
from redolab.results.plateau import Plateau
from redolab.runs.pages import measured_runs
from redolab.runs.store import Run
from redolab.servers.dialects import Purpose, Setting
from redolab.units import GIB, KIB, MIB
from redolab.workloads.data import WorkloadReport
from tests.examples import image, load_key, record, trial
from tests.predict.examples import given, model

TRADE = Trade(
    version="10.11.19",
    storage="local",
    workload="bulk-update",
    connections=8,
    tables=4 * GIB,
    pool=8 * GIB,
    gains=(
        Gain(
            log_size=256 * MIB,
            throughput=None,
            lost=RelativeChange(0.16, 0.14, 0.18, blocks=3),
            device_per_commit=64.0 * KIB,
            loads=3,
        ),
        Gain(
            log_size=GIB,
            throughput=RelativeChange(0.18, 0.16, 0.2, blocks=3),
            lost=RelativeChange(0.01, -0.01, 0.02, blocks=3),
            device_per_commit=40.0 * KIB,
            loads=3,
        ),
        Gain(log_size=4 * GIB, throughput=RelativeChange(0.19, 0.17, 0.21, blocks=3), loads=3),
    ),
    furthest=0.19,
    plateau=Plateau(GIB, GIB, 4 * GIB),
    redo_per_hour=10.0 * GIB,
)
EFFECT = FlushingEffect(
    setting="innodb_max_dirty_pages_pct=10",
    storage="local",
    log_size=512 * MIB,
    workload="tpcc",
    throughput=RelativeChange(-0.04, -0.06, -0.02, blocks=3),
    ready=RelativeChange(-0.3, -0.35, -0.25, blocks=3),
)
TRADES = Trades(servers={"mariadb-10.11": (TRADE,)}, flushing={"mysql-9": (EFFECT,)})


def answer(
    asked: Model | None = None, redo_per_hour: float = 2 * GIB, rto: float = 600, trades: Trades = TRADES
) -> Sized:
    """Return the answer for a model, or for the server and load of the trade."""
    return sized(asked or model(pool=8 * GIB), given(redo_per_hour), Limits(rto=rto), trades)


def of_trade(trade: Trade) -> Sized:
    return answer(trades=Trades(servers={"mariadb-10.11": (trade,)}))


def with_gains(**changes: Any) -> Trade:
    return msgspec.structs.replace(TRADE, gains=tuple(msgspec.structs.replace(each, **changes) for each in TRADE.gains))


def test_the_smallest_that_loses_little_under_such_a_load_is_set() -> None:
    found = answer()
    assert (found.basis, found.size) == (Basis.THROUGHPUT, GIB)
    assert found.is_trade_of_this_load
    lost = {row.log_size: (row.lost, row.device_per_commit) for row in found.table}
    assert lost[256 * MIB] == (TRADE.gains[0].lost, 64.0 * KIB)
    assert lost[2 * GIB] == (None, None)


def test_a_loss_that_may_be_none_or_too_much_decides_nothing() -> None:
    unsure = RelativeChange(0.01, -0.05, 0.1, blocks=3)
    assert of_trade(with_gains(lost=unsure)).basis is Basis.HOUR
    assert of_trade(with_gains(throughput=None, lost=None)).basis is Basis.HOUR


@pytest.mark.parametrize(
    ("changes", "is_measured"),
    [
        ({"workload": "tpcc"}, True),
        ({"pool": 2 * GIB}, True),
        # A server that writes more redo fills a small log sooner than the load did.
        ({"redo_per_hour": 1.0 * GIB}, True),
        ({"storage": "gp3-3000"}, False),
    ],
)
def test_of_what_was_not_measured_nothing_is_said_to_be_known(changes: dict[str, Any], is_measured: bool) -> None:
    found = of_trade(msgspec.structs.replace(TRADE, **changes))
    assert (found.trade is not None, found.is_trade_of_this_load) == (is_measured, False)
    assert found.basis is Basis.HOUR
    assert all(row.lost is None for row in found.table)


def test_what_the_disk_of_another_machine_is_called_makes_it_no_storage_of_ours() -> None:
    asked = model(pool=8 * GIB)
    assert answer(replace(asked, question=replace(asked.question, storage="calibration.json:local"))).trade is None


def kinds_of_change(found: Sized) -> set[str]:
    """Return the kinds of what would recover in time."""
    return {change.partition(":")[0].partition(",")[0] for change in found.what_could_change}


def test_flushing_is_among_what_could_change_where_it_was_measured() -> None:
    assert "flushing" in kinds_of_change(answer(model("mysql-9"), 7.15 * GIB, 5))
    assert "flushing" not in kinds_of_change(answer(model("mysql-9", "gp3-3000"), 7.15 * GIB, 5))


@pytest.mark.parametrize(
    "ready", [None, RelativeChange(0.01, -0.05, 0.07, blocks=3), RelativeChange(0.3, 0.25, 0.35, blocks=3)]
)
def test_a_change_that_does_not_shorten_recovery_is_not_among_what_could_help(ready: RelativeChange | None) -> None:
    effect = msgspec.structs.replace(EFFECT, ready=ready)
    assert Trades(flushing={"mysql-9": (effect,)}).helping("mysql-9", "local") == []


def test_a_larger_pool_that_recovers_no_sooner_is_not_among_what_could_help() -> None:
    def shipped(server: str, pool: int) -> Model:
        return model_for(Question(server=server, storage="local", pool=pool))

    assert "buffer pool" in kinds_of_change(answer(shipped("mysql-9", GIB), 2.7 * GIB, 30))
    without = kinds_of_change(answer(shipped("mariadb-11.4", 2 * GIB), 6.9 * GIB, 30))
    assert without
    assert "buffer pool" not in without
    # Sooner by less than what recoveries of one crash differ by.
    asked, size = shipped("mysql-8.0", 4 * GIB), 3584 * MIB
    larger = recovery_at(asked.with_pool(asked.one_batch(size)), size).ninety[1] / recovery_at(asked, size).ninety[1]
    assert larger > 0.93
    assert "buffer pool" not in kinds_of_change(answer(asked, 2.7 * GIB, 30))


def load(block: int, notpm: float, settings: Mapping[str, str], lasted: int = 60) -> Load:
    """Load of TPC-C for some seconds, the last 40 of them measured, with some settings."""
    of_image = image()
    overrides = tuple(Setting(name, value, "as asked") for name, value in settings.items())
    instance = replace(of_image.spec.instance, purpose=Purpose.PRODUCTION, overrides=overrides)
    spec = msgspec.structs.replace(
        of_image.spec, workload="tpcc", kill=KillRule(after=60), instance=instance, number=block
    )
    reports = [
        WorkloadReport(
            monotonic=float(second), commits_per_second=40.0, latency_95_ms=15.0, new_orders_per_second=notpm / 60
        )
        for second in range(lasted + 1)
    ]
    figures = load_figures(reports, [], [], of_image.capacity, 40, killed=float(lasted))
    assert figures is not None
    made = msgspec.structs.replace(of_image, spec=spec)
    return Load("run", "local", load_key(spec), made, reports, [], figures, [record(trial(notpm / 10_000))])


def test_what_another_machine_gained_is_not_told_as_if_it_were_of_the_same(tmp_path: Path) -> None:
    # Before those on another machine: of the last, nothing else was measured of the same kind.
    runs = measured_runs("throughput")[:4]
    elsewhere = tmp_path / runs[-1].name
    shutil.copytree(runs[-1].folder, elsewhere)
    of_run = (elsewhere / "run.json").read_text()
    (elsewhere / "run.json").write_text(of_run.replace("Intel(R) Xeon(R) Processor", "another CPU"))
    assert trades_of([*runs[:-1], Run(elsewhere)]) == trades_of(runs[:-1])


def test_an_effect_is_of_one_setting_alone_whatever_else_the_baseline_sets() -> None:
    dirty, adaptive = "innodb_max_dirty_pages_pct", "innodb_adaptive_flushing"
    loads = [
        each
        for block, day in ((1, 1.0), (2, 1.2), (3, 0.9))
        for each in (
            load(block, day * 30_000, {dirty: "90", "query_cache_type": "0"}),
            load(block, day * 30_300, {dirty: "90", "query_cache_type": "0"}),
            load(block, day * 24_000, {dirty: "10", "query_cache_type": "0"}),
            load(block, day * 27_000, {dirty: "90", "query_cache_type": "0", adaptive: "0"}),
            load(block, day * 10_000, {dirty: "90", "query_cache_type": "1"}),
        )
    ]
    found = {each.setting: each for each in flushing_of(loads)}
    assert set(found) == {f"{dirty}=10", f"{adaptive}=0"}
    assert found[f"{dirty}=10"].throughput.change == pytest.approx(-0.204, abs=0.001)
    assert found[f"{adaptive}=0"].throughput.change == pytest.approx(-0.104, abs=0.001)
    ready = found[f"{dirty}=10"].ready
    assert ready is not None
    assert ready.change == pytest.approx(-0.204, abs=0.001)


def test_a_load_of_other_seconds_tells_no_effect_on_throughput() -> None:
    dirty = "innodb_max_dirty_pages_pct"
    loads = [
        each
        for block in (1, 2, 3)
        for each in (load(block, 30_000 + block, {}), load(block, 24_000, {dirty: "10"}, lasted=120))
    ]
    assert flushing_of(loads) == []


def test_of_several_measurements_that_with_intervals_counts_and_of_such_the_last() -> None:
    once = msgspec.structs.replace(
        TRADE, version="10.11.20", gains=tuple(msgspec.structs.replace(each, throughput=None) for each in TRADE.gains)
    )
    again = msgspec.structs.replace(TRADE, version="10.11.21")
    assert Trades(servers={"mariadb-10.11": (TRADE, once)}).of("mariadb-10.11", "local", "tpcc", 8 * GIB, GIB) is TRADE
    assert (
        Trades(servers={"mariadb-10.11": (TRADE, again, once)}).of("mariadb-10.11", "local", "tpcc", 8 * GIB, GIB)
        is again
    )


def test_what_is_shipped_is_what_the_committed_loads_tell(tmp_path: Path) -> None:
    again = tmp_path / "throughput.json"
    write_trades(again, trades_of(committed_loads()))
    write_trades(tmp_path / "shipped.json", shipped_trades())
    assert _rounded(again.read_text()) == _rounded((tmp_path / "shipped.json").read_text())


def _rounded(text: str) -> str:
    """The last digits of a fit differ between processors."""
    return re.sub(r"-?\d+\.\d+(e-?\d+)?", lambda number: f"{float(number[0]):.9g}", text)
