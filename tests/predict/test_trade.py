"""What a larger log gains, as `size` tells it beside its answer."""

from __future__ import annotations

import dataclasses
import io
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from redolab.crash.records.kill_rule import KillRule
from redolab.predict.advising import sized
from redolab.predict.asking import model_for
from redolab.predict.crash import one_batch
from redolab.predict.demand import Demand
from redolab.predict.log_size import Limits
from redolab.predict.question import Question
from redolab.predict.recovery import recovery_at
from redolab.predict.size_in_words import show_sized
from redolab.predict.trade import (
    FlushingEffect,
    Gain,
    Trade,
    Trades,
    committed_loads,
    effect_in_words,
    flushing_of,
    shipped_trades,
    trades_of,
    write_trades,
)
from redolab.report.intervals import Ratio
from redolab.results.load_figures import load_figures
from redolab.results.loads import Load
from redolab.runs.pages import measured_runs
from redolab.runs.store import Run
from redolab.servers.dialects import Purpose, Setting
from redolab.units import GIB, KIB, MIB
from redolab.workloads.data import WorkloadMoment
from tests.examples import image, load_key, record, trial
from tests.predict.examples import calibration_file

TRADE = Trade(
    version="10.11.19",
    storage="local",
    workload="tpcc",
    connections=8,
    tables=4 * GIB,
    pool=8 * GIB,
    gains=(
        Gain(
            log_size=256 * MIB,
            throughput=None,
            lost=Ratio(0.16, 0.14, 0.18, blocks=3),
            device_per_commit=64.0 * KIB,
            loads=3,
            ready_s=1.0,
        ),
        Gain(
            log_size=GIB,
            throughput=Ratio(0.18, 0.16, 0.2, blocks=3),
            lost=Ratio(0.01, -0.01, 0.02, blocks=3),
            device_per_commit=40.0 * KIB,
            loads=3,
            ready_s=6.0,
        ),
        Gain(log_size=4 * GIB, throughput=Ratio(0.19, 0.17, 0.21, blocks=3), loads=3, ready_s=31.0),
    ),
    furthest=0.19,
    nothing_beyond=GIB,
    between=(GIB, 4 * GIB),
    redo_per_hour=10.0 * GIB,
)
EFFECT = FlushingEffect(
    setting="innodb_max_dirty_pages_pct=10",
    storage="local",
    log_size=512 * MIB,
    workload="tpcc",
    throughput=Ratio(-0.04, -0.06, -0.02, blocks=3),
    ready=Ratio(-0.3, -0.35, -0.25, blocks=3),
)
TRADES = Trades(servers={"mariadb-10.11": (TRADE,)}, flushing={"mysql-9": (EFFECT,)})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return calibration_file(tmp_path_factory.mktemp("calibration"))


TRADES_118 = Trades(servers={"mariadb-11.8": (TRADE,)})


def shown(
    server: str,
    redo_per_hour: float,
    rto: float,
    storage: str = "local",
    trades: Trades = TRADES,
    pool: int = 2 * GIB,
    workload: str | None = None,
) -> str:
    question = Question(server=server, storage=storage, pool=pool, workload=workload)
    text = io.StringIO()
    demand = Demand(redo_per_hour=redo_per_hour, source="as given")
    show_sized(Console(file=text, width=160), sized(model_for(question), demand, Limits(rto=rto), trades))
    return text.getvalue()


def of_this_load(trade: Trade = TRADE, rto: float = 600) -> str:
    trades = Trades(servers={"mariadb-11.8": (trade,)})
    return shown("mariadb-11.8", 2 * GIB, rto, trades=trades, pool=8 * GIB, workload="tpcc")


def test_the_smallest_that_loses_little_under_such_a_load_is_set() -> None:
    said = of_this_load()
    lines = {line.split()[0]: line for line in said.splitlines() if line.strip()}
    assert "+16 % (+14 to +18)" in lines["256M"]
    assert "64" in lines["256M"].split()
    assert "+1 % (-1 to +2)" in lines["1G"]
    assert "<- set this" in lines["1G"]
    assert lines["2G"].split().count("–") == 2
    assert "Set the redo log to 1G. After a crash with the log full, the worst," in said
    assert "Why: it is the smallest that loses less than 3 % of throughput against the largest log measured" in said
    assert "The rule of an hour of peak redo (2G; as given) asks for 2560M: " in said
    assert (
        "Throughput: a log beyond 1G gains less than 3% more (95 %: 1G to 4G) under tpcc with 8 clients on local (version 10.11.19, "
        "tables 4G, pool 8G; 3 loads of each size)" in said
    )


def with_gains(**changes: Any) -> Trade:
    return msgspec.structs.replace(TRADE, gains=tuple(msgspec.structs.replace(each, **changes) for each in TRADE.gains))


def test_a_loss_that_may_be_none_or_too_much_is_not_resolved_and_decides_nothing() -> None:
    gains = tuple(msgspec.structs.replace(each, lost=each.lost and Ratio(0.01, -0.05, 0.1, 3)) for each in TRADE.gains)
    said = of_this_load(msgspec.structs.replace(TRADE, gains=gains))
    assert said.count("not resolved") == 2
    assert "Why: it is the smallest that holds an hour of peak redo (2G; as given)" in said


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        # Another workload, another pool; a server that writes more redo fills a small log sooner than the load did.
        (("mariadb-11.8", 2 * GIB, 600, "local", TRADES_118, 8 * GIB), "under your load is not known here"),
        (("mariadb-11.8", 2 * GIB, 600, "local", TRADES_118, 2 * GIB, "tpcc"), "is not known here"),
        (("mariadb-11.8", 11 * GIB, 3600, "local", TRADES_118, 8 * GIB, "tpcc"), "under your load is not known here"),
        # Another server, another storage.
        (("mysql-9", 300 * MIB, 600), "on local was not measured"),
        (("mariadb-10.11", 300 * MIB, 600, "gp3-3000"), "on gp3-3000 was not measured"),
    ],
)
def test_of_what_was_not_measured_nothing_is_said_to_be_known(asked: tuple[Any, ...], told: str) -> None:
    said = shown(*asked)
    assert "throughput lost" not in said
    assert "+18 %" not in said
    assert "Why: it is the smallest that loses" not in said
    assert told in said


@pytest.mark.parametrize(
    ("trade", "told"),
    [
        (msgspec.structs.replace(with_gains(throughput=None, lost=None, loads=1), between=(256 * MIB, 4 * GIB)), "one load of each size"),
        (
            msgspec.structs.replace(with_gains(throughput=None, lost=None), furthest=0.037, nothing_beyond=None, between=None),
            "it differs by less than 5 % either way",
        ),
    ],
)  # fmt: skip
def test_without_an_interval_a_gain_decides_nothing(trade: Trade, told: str) -> None:
    said = of_this_load(trade)
    assert "+1 % (-1 to +2)" not in said
    assert told in said


def test_what_the_disk_of_another_machine_is_called_makes_it_no_storage_of_ours(file: Path) -> None:
    said = shown("mariadb-10.11", 300 * MIB, 600, f"{file}:local")
    assert "on local was not measured" in said
    assert "flushing" not in shown("mysql-9", 7.15 * GIB, 5, f"{file}:local")


def test_flushing_is_among_what_could_change_where_it_was_measured() -> None:
    said = shown("mysql-9", 7.15 * GIB, 5)
    assert "What would change that:" in said
    assert (
        "flushing, for a crash at a random moment: innodb_max_dirty_pages_pct=10: time to ready -30 % (-35 to -25)"
        in said
    )
    assert "throughput -4 % (-6 to -2) (tpcc with a log of 512M on local)" in effect_in_words(EFFECT)
    assert "flushing" not in shown("mysql-9", 7.15 * GIB, 5, "gp3-3000")


@pytest.mark.parametrize("ready", [None, Ratio(0.01, -0.05, 0.07, blocks=3), Ratio(0.3, 0.25, 0.35, blocks=3)])
def test_a_change_that_does_not_shorten_recovery_is_not_among_what_could_help(ready: Ratio | None) -> None:
    effect = msgspec.structs.replace(EFFECT, ready=ready)
    assert "flushing" not in shown("mysql-9", 7.15 * GIB, 5, trades=Trades(flushing={"mysql-9": (effect,)}))


def test_a_larger_pool_that_recovers_no_sooner_is_not_among_what_could_help() -> None:
    said = shown("mariadb-11.4", 6.9 * GIB, 30)
    assert "What would change that:" in said
    assert "buffer pool: with" not in said
    assert "buffer pool: with" in shown("mysql-9", 2.7 * GIB, 30, pool=1 * GIB)
    # Sooner by less than what recoveries of one crash differ by.
    model = model_for(Question(server="mysql-8.0", storage="local", pool=4 * GIB))
    size = 3584 * MIB
    larger = recovery_at(model.with_pool(one_batch(model, size)), size).ninety[1] / recovery_at(model, size).ninety[1]
    assert larger > 0.93
    assert "buffer pool: with" not in shown("mysql-8.0", 2.7 * GIB, 30, pool=4 * GIB)


def load(block: int, notpm: float, **settings: str) -> Load:
    """Of TPC-C for a minute, with a server so set."""
    return lasting(60, block, notpm, settings)


def lasting(lasted: int, block: int, notpm: float, settings: Mapping[str, str]) -> Load:
    """The same for so many seconds, of which the last 40 are measured."""
    of_image = image()
    overrides = tuple(Setting(name, value, "as asked") for name, value in settings.items())
    instance = dataclasses.replace(of_image.spec.instance, purpose=Purpose.PRODUCTION, overrides=overrides)
    spec = msgspec.structs.replace(
        of_image.spec, workload="tpcc", kill=KillRule(after=60), instance=instance, number=block
    )
    moments = [
        WorkloadMoment(
            monotonic=float(second), commits_per_second=40.0, latency_95_ms=15.0, new_orders_per_second=notpm / 60
        )
        for second in range(lasted + 1)
    ]
    figures = load_figures(moments, [], [], of_image.capacity, 40, killed=float(lasted))
    assert figures is not None
    made = msgspec.structs.replace(of_image, spec=spec)
    return Load("run", 0, "local", load_key(spec), made, moments, [], figures, [record(trial(notpm / 10_000))])


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
            load(block, day * 30_000, **{dirty: "90", "query_cache_type": "0"}),
            load(block, day * 30_300, **{dirty: "90", "query_cache_type": "0"}),
            load(block, day * 24_000, **{dirty: "10", "query_cache_type": "0"}),
            load(block, day * 27_000, **{dirty: "90", "query_cache_type": "0", adaptive: "0"}),
            load(block, day * 10_000, **{dirty: "90", "query_cache_type": "1"}),
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
        for each in (load(block, 30_000 + block), lasting(120, block, 24_000, {dirty: "10"}))
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
