"""What a larger log gains, as `size` tells it beside its answer."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from redolab.crashes.fill import KillRule
from redolab.crashes.load_figures import load_figures
from redolab.crashes.loads import Load
from redolab.models.intervals import Ratio
from redolab.servers.dialects import Purpose, Setting
from redolab.sizing.advising import show_sized, sized
from redolab.sizing.demand import Demand
from redolab.sizing.question import Question, model_for
from redolab.sizing.trade import (
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
from redolab.units import GIB, MIB
from redolab.workloads.contract import WorkloadMoment
from tests.examples import image, trial
from tests.sizing.examples import calibration_file

TRADE = Trade(
    version="10.11.19",
    storage="native",
    workload="tpcc",
    connections=8,
    tables=4 * GIB,
    pool=8 * GIB,
    gains=(
        Gain(log_size=256 * MIB, throughput=None, loads=3, ready_s=1.0),
        Gain(log_size=GIB, throughput=Ratio(0.18, 0.16, 0.2, blocks=3), loads=3, ready_s=6.0),
        Gain(log_size=4 * GIB, throughput=Ratio(0.19, 0.17, 0.21, blocks=3), loads=3, ready_s=31.0),
    ),
    nothing_beyond=GIB,
    between=(GIB, 4 * GIB),
)
EFFECT = FlushingEffect(
    setting="innodb_max_dirty_pages_pct=10",
    storage="native",
    log_size=512 * MIB,
    workload="tpcc",
    throughput=Ratio(-0.04, -0.06, -0.02, blocks=3),
    ready=Ratio(0.01, -0.05, 0.07, blocks=3),
)
TRADES = Trades(servers={"mariadb-10.11": (TRADE,)}, flushing={"mysql-9": (EFFECT,)})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return calibration_file(tmp_path_factory.mktemp("calibration"))


def shown(
    file: Path, server: str, redo_per_hour: float, rto: float, storage: str = "native", trades: Trades = TRADES
) -> str:
    question = Question(server=server, storage=f"{file}:{storage}", pool=2 * GIB)
    text = io.StringIO()
    found = sized(model_for(question), Demand(redo_per_hour=redo_per_hour, source="as given"), rto, trades)
    show_sized(Console(file=text, width=160), found)
    return text.getvalue()


def test_the_table_has_what_was_measured_and_nothing_between(file: Path) -> None:
    said = shown(file, "mariadb-10.11", 300 * MIB, 600)
    lines = {line.split()[0]: line for line in said.splitlines() if line.strip()}
    assert "+18 % (+16 to +20)" in lines["1G"]
    assert "+19 % (+17 to +21)" in lines["4G"]
    assert "%" not in lines["2G"]
    assert (
        "a log beyond 1G gains less than 3% more (95 %: 1G to 4G) under tpcc with 8 clients on native (version 10.11.19, tables 4G, "
        "pool 8G; 3 loads of each size)" in said
    )
    assert "the column is against 256M" in said


def test_what_one_load_of_each_size_gained_is_in_no_column(file: Path) -> None:
    gains = tuple(msgspec.structs.replace(each, throughput=None, loads=1) for each in TRADE.gains)
    once = msgspec.structs.replace(TRADE, gains=gains, between=(256 * MIB, 4 * GIB))
    said = shown(file, "mariadb-10.11", 300 * MIB, 600, trades=Trades(servers={"mariadb-10.11": (once,)}))
    assert "throughput" not in said.splitlines()[1]
    assert "one load of each size, which tells no interval) (docs/results/throughput.md)" in said


def test_a_server_that_was_not_measured_has_no_such_column(file: Path) -> None:
    said = shown(file, "mysql-9", 300 * MIB, 600)
    assert "throughput" not in said.lower()


def test_flushing_is_among_what_could_change(file: Path) -> None:
    said = shown(file, "mysql-9", 7.15 * GIB, 5)
    assert "No size meets both" in said
    assert "flushing, for a crash on a usual day: innodb_max_dirty_pages_pct=10: throughput -4 % (-6 to -2)" in said
    assert "time to ready after a crash under load no measurable effect (±7 %)" in effect_in_words(EFFECT)


def load(block: int, notpm: float, **settings: str) -> Load:
    """Of TPC-C for a minute, with a server so set."""
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
        for second in range(61)
    ]
    figures = load_figures(moments, [], [], of_image.capacity, 40, killed=60.0)
    assert figures is not None
    return Load(
        "run", 0, "machine", msgspec.structs.replace(of_image, spec=spec), moments, [], figures, [trial(notpm / 10_000)]
    )


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


def test_of_another_storage_is_told_which_one_it_was(file: Path) -> None:
    assert TRADES.of("mariadb-10.11", "cloud-ssd") is TRADE
    assert TRADES.of("mysql-9", "native") is None
    assert "on native (version 10.11.19, tables 4G" in shown(file, "mariadb-10.11", 300 * MIB, 600, "cloud-ssd")


def test_of_several_measurements_that_with_intervals_counts_and_of_such_the_last() -> None:
    once = msgspec.structs.replace(
        TRADE, version="10.11.20", gains=tuple(msgspec.structs.replace(each, throughput=None) for each in TRADE.gains)
    )
    again = msgspec.structs.replace(TRADE, version="10.11.21")
    assert Trades(servers={"mariadb-10.11": (TRADE, once)}).of("mariadb-10.11", "native") is TRADE
    assert Trades(servers={"mariadb-10.11": (TRADE, again, once)}).of("mariadb-10.11", "native") is again


def test_too_few_loads_for_an_interval_are_counted_as_they_were(file: Path) -> None:
    gains = tuple(
        msgspec.structs.replace(each, throughput=None, loads=loads)
        for each, loads in zip(TRADE.gains, (2, 1, 1), strict=True)
    )
    few = msgspec.structs.replace(TRADE, gains=gains, between=(256 * MIB, 4 * GIB))
    said = shown(file, "mariadb-10.11", 300 * MIB, 600, trades=Trades(servers={"mariadb-10.11": (few,)}))
    assert "1 to 2 loads of a size, too few for an interval)" in said


def test_what_is_shipped_is_what_the_committed_loads_tell(tmp_path: Path) -> None:
    again = tmp_path / "throughput.json"
    write_trades(again, trades_of(committed_loads()))
    write_trades(tmp_path / "shipped.json", shipped_trades())
    assert again.read_text() == (tmp_path / "shipped.json").read_text()
