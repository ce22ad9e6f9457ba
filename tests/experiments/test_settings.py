"""The settings experiment on a real server: two settings under two loads, in two blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import msgspec
import pytest

from experiments.settings.changes import BASELINE, SETTINGS, changes, skipped
from experiments.settings.effects import MeasuredLoad, effects, measured_in
from experiments.settings.factors import Factors
from experiments.settings.planned import PlannedChange
from experiments.settings.report import answer, settings_table
from redolab.records.kill_rule import KillRule
from redolab.results.load_figures import load_figures
from redolab.runs.schema import RunState
from redolab.runs.store import Run
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import Purpose
from redolab.units import MIB
from redolab.workloads.data import WorkloadMoment
from tests.command import UNCHECKED, nothing_is_left, run_of
from tests.examples import image, load_key

SMALL_SETTINGS = [
    "settings", "--server", "mariadb-10.11", "--vary", "max_connections,skip_name_resolve",
    "--log-size", "64M", "--warehouses", "1", "--seconds", "10s", "--repeat", "1", "--storm", "16", "--seed", "5",
    *UNCHECKED,
]  # fmt: skip

SMALL_FACTORS = {"server": "mariadb-10.11", "vary": "max_connections,skip_name_resolve", "log_size": "64M", "seed": "5"}


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with run_of(*SMALL_SETTINGS) as made:
        yield made


@pytest.mark.thorough
def test_each_level_is_measured_in_the_load_in_which_it_could_matter(run: Run) -> None:
    assert run.record().state is RunState.COMPLETE
    measured = measured_in([run])
    assert {(each.change.setting, each.change.spec.workload) for each in measured} == {
        ("baseline", "storm"),
        ("max_connections", "storm"),
        ("skip_name_resolve", "storm"),
    }
    assert all(each.ready is not None for each in measured)
    assert nothing_is_left()


@pytest.mark.thorough
def test_a_setting_without_a_value_is_off_where_it_is_left_out(run: Run) -> None:
    measured = measured_in([run])
    used = {each.change.setting: each.variables["skip_name_resolve"] for each in measured}
    assert used == {"baseline": "ON", "max_connections": "ON", "skip_name_resolve": "OFF"}


@pytest.mark.thorough
def test_half_of_the_clients_are_refused_where_half_of_them_may_connect(run: Run) -> None:
    (found,) = [each for each in effects(measured_in([run])) if each.setting == "max_connections"]
    assert found.failed > 1
    assert found.throughput is not None


@pytest.mark.parametrize("server", ["mysql-5.5", "mysql-5.7", "mysql-9", "mariadb-11.8"])
def test_every_setting_is_changed_alone_or_its_absence_is_explained(server: str) -> None:
    dialect = server_catalogue().get(server).dialect()
    names = tuple(SETTINGS)
    left_out = {each.setting for each in skipped(names, dialect)}
    assert left_out == ({"query_cache_size"} if server == "mysql-9" else set())
    found = changes(names, Factors().baselines(1), dialect)
    # The redo log's size has another name in MySQL since 8.0.30.
    assert len({each.setting for each in found}) == len(names) - len(left_out)
    assert all(each.level != each.baseline for each in found)


def measured(
    block: int,
    setting: str,
    level: str,
    rate: float,
    *,
    run: str = "one",
    baseline: str = "1",
    used: str = "1",
    log_size: int = 64 * MIB,
) -> MeasuredLoad:
    """A load with so many commits a second, and a recovery that takes as many milliseconds."""
    of_image = image()
    instance = replace(of_image.spec.instance, purpose=Purpose.PRODUCTION, log_size=log_size)
    spec = msgspec.structs.replace(of_image.spec, kill=KillRule(after=60), instance=instance, number=block)
    moments = [
        WorkloadMoment(monotonic=float(at), commits_per_second=rate, latency_95_ms=rate / 100) for at in range(61)
    ]
    figures = load_figures(moments, [], [], of_image.capacity, 40, killed=60.0)
    assert figures is not None
    change = PlannedChange(server="mariadb-10.11", spec=spec, setting=setting, baseline=baseline, level=level)
    return MeasuredLoad(run, "local", load_key(spec), f"{run} {block}", spec, change, figures, rate / 1000, {"a": used})


def blocks(*rates: float, level: float = 0.8, run: str = "one", log_size: int = 64 * MIB) -> list[MeasuredLoad]:
    """The baseline twice and one level of one setting, in a block for each of these rates of the baseline."""
    made = partial(measured, run=run, log_size=log_size)
    found = []
    for block, rate in enumerate(rates, 1):
        found += [made(block, BASELINE, BASELINE, part * rate, baseline=BASELINE) for part in (0.99, 1.01)]
        found += [made(block, "a", "0", level * rate, used="0")]
    return found


def test_blocks_that_differ_as_a_whole_are_no_effect() -> None:
    (found,) = effects(blocks(1000, 1300, 800))
    assert found.throughput is not None
    assert found.throughput.excludes_zero
    assert found.throughput.change == pytest.approx(-0.2, abs=0.001)
    assert found.recovery is not None
    assert found.blocks == 3


def test_runs_whose_baselines_were_made_otherwise_are_not_put_together() -> None:
    small, large = blocks(1000, 1100, run="one"), blocks(5000, 5500, level=1.2, run="two", log_size=128 * MIB)
    changes_found = sorted(round(each.throughput.change, 1) for each in effects([*small, *large]) if each.throughput)
    assert changes_found == [-0.2, 0.2]
    assert {each.apart for each in effects([*small, *large])} == {"log 64M", "log 128M"}
    alike = [*small, *blocks(900, 950, run="two")]
    assert [each.blocks for each in effects(alike)] == [4]


def test_loads_in_which_nothing_succeeded_are_told_beside_the_effect_of_the_others() -> None:
    loads = blocks(1000, 1300, 800)
    (last,) = blocks(0)[-1:]
    (found,) = effects([*loads[:-1], replace(last, block=loads[-1].block)])
    assert (found.barren, found.loads) == (1, 3)


def test_what_may_be_chance_among_all_comparisons_is_marked_and_not_answered() -> None:
    (found,) = effects(blocks(1000, 1300, 800))
    assert found.throughput_stands
    assert ")? " not in settings_table([found], {}, {}).as_markdown()
    assert "-20% with a=0" in answer([found])
    doubtful = replace(found, throughput_stands=False)
    assert " -20 % (" in settings_table([doubtful], {}, {}).as_markdown()
    assert ")? " in settings_table([doubtful], {}, {}).as_markdown()
    assert "-20% with a=0" not in answer([doubtful])


def test_a_storage_that_is_not_the_disk_that_was_asked_for_is_marked() -> None:
    (found,) = effects(blocks(1000, 1300, 800))
    assert "!" not in settings_table([found], {}, {}).as_markdown()
    (late,) = effects([replace(each, late_share=0.3) for each in blocks(1000, 1300, 800)])
    assert f"Answered later than the disk it stands for: {late.storage}! by 30 %." in " ".join(
        settings_table([late], {}, {}).as_markdown().split()
    )
    slow = settings_table([found], {}, {("local", found.storage): {"write_us": "random write -40%"}}).as_markdown()
    assert f"has the figures): {found.storage}!: random write -40%." in " ".join(slow.split())


def test_the_baseline_of_the_storm_has_room_for_all_its_clients() -> None:
    dialect = server_catalogue().get("mysql-9").dialect()
    (usual,) = changes(["max_connections"], Factors().baselines(1), dialect)
    (many,) = changes(["max_connections"], Factors(storm=1000).baselines(1), dialect)
    assert (usual.baseline, usual.level.partition(",")[0]) == ("500", "32")
    assert (many.baseline, many.level.partition(",")[0]) == ("1050", "500")


def test_what_stands_beside_an_effect_is_of_the_same_blocks() -> None:
    whole = blocks(1000, 9000)
    # The second block lacks the level.
    (found,) = effects(whole[:-1])
    assert found.base_latency == pytest.approx(10)
    assert found.blocks == 1


def test_a_level_that_the_server_did_not_take_has_no_effect_and_a_rounded_one_is_told() -> None:
    loads = blocks(1000, 1100)
    (not_had,) = effects([replace(each, variables={"a": "1"}) for each in loads])
    assert (not_had.same_used, not_had.throughput, not_had.recovery) == (True, None, None)
    rounded = [replace(each, variables={"a": "8388608"}) if each.change.setting == "a" else each for each in loads]
    (found,) = effects(rounded)
    assert found.used == "8388608"


def test_a_redo_log_of_several_files_is_used_as_it_was_asked_for() -> None:
    name = "innodb_log_file_size"
    loads = [
        replace(
            each,
            change=msgspec.structs.replace(
                each.change, setting=each.change.setting.replace("a", f"{name}, all files"), level="512M"
            )
            if each.change.setting == "a"
            else each.change,
            variables={name: str((64 if each.change.setting != "a" else 256) * MIB), "innodb_log_files_in_group": "2"},
        )
        for each in blocks(1000, 1100)
    ]
    (found,) = effects(loads)
    assert found.used is None
    assert not found.same_used
