"""The settings experiment on a real server: two settings under two loads, in two blocks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars
import pytest

from experiments.settings.changes import SETTINGS, changes, skipped
from experiments.settings.experiment import Factors, Settings
from experiments.settings.report import answer, report, settings_table
from redolab.results.changed_settings import changed_settings, variables_of
from redolab.results.measured import by_age
from redolab.runs.frames import run_rows
from redolab.runs.pages import measured_runs
from redolab.runs.schema import RunState
from redolab.runs.store import Run
from redolab.servers.catalogue import server_catalogue
from redolab.units import MIB
from tests.changed_levels import blocks, changed
from tests.command import UNCHECKED, module_run, nothing_is_left

run = module_run(
    "settings", "--server", "mariadb-10.11", "--vary", "max_connections,skip_name_resolve", "--log-size", "64M",
    "--warehouses", "1", "--seconds", "10s", "--repeat", "1", "--storm", "16", "--seed", "5", *UNCHECKED,
)  # fmt: skip


@pytest.mark.thorough
def test_each_level_is_measured_in_the_load_in_which_it_could_matter(run: Run) -> None:
    assert run.record().state is RunState.COMPLETE
    rows = run_rows(Settings, run)
    assert {(each["setting"], each["workload"]) for each in rows} == {
        ("baseline", "storm"),
        ("max_connections", "storm"),
        ("skip_name_resolve", "storm"),
    }
    assert all(each["ready_s"] is not None for each in rows)
    assert nothing_is_left()


@pytest.mark.thorough
def test_a_setting_without_a_value_is_off_where_it_is_left_out(run: Run) -> None:
    variables = variables_of([run])
    used = {each["setting"]: variables[str(each["image"])]["skip_name_resolve"] for each in run_rows(Settings, run)}
    assert used == {"baseline": "ON", "max_connections": "ON", "skip_name_resolve": "OFF"}


@pytest.mark.thorough
def test_half_of_the_clients_are_refused_where_half_of_them_may_connect(run: Run) -> None:
    trials = by_age(polars.DataFrame(run_rows(Settings, run), infer_schema_length=None))
    (found,) = changed_settings(trials, variables_of([run])).filter(setting="max_connections").to_dicts()
    assert found["failed_per_s"] > 1
    assert found["change"] is not None


@pytest.mark.parametrize("server", ["mysql-5.5", "mysql-5.7", "mysql-9", "mariadb-11.8"])
def test_every_setting_is_changed_alone_or_its_absence_is_explained(server: str) -> None:
    dialect = server_catalogue().get(server).dialect()
    names = tuple(SETTINGS)
    left_out = set(skipped(names, dialect))
    assert left_out == ({"query_cache_size"} if server == "mysql-9" else set())
    found = changes(names, Factors().baselines(1), dialect)
    # The redo log's size has another name in MySQL since 8.0.30.
    assert len({each.setting for each in found}) == len(names) - len(left_out)
    assert all(each.level != each.baseline for each in found)


def test_loads_in_which_nothing_succeeded_are_told_beside_the_effect_of_the_others() -> None:
    loads = blocks(1000, 1300, 800)
    (found,) = changed([*loads[:-1], {**loads[-1], "commits_per_s": 0.0}])
    assert (found["barren"], found["n"]) == (1, 3)
    assert found["change"] == pytest.approx(-0.2, abs=0.001)
    assert "1 of 3" in cell(found, "throughput")


def test_a_level_without_a_baseline_beside_it_has_no_effect() -> None:
    (found,) = changed(blocks(1000)[-1:])
    assert (found["change"], found["stands"], found["blocks"]) == (None, False, None)


def cell(found: Mapping[str, Any], heading: str) -> str:
    """The cell of a level under a heading."""
    table = settings_table([found], [], {}, [])
    return dict(zip([name for name, _ in table.headings], table.cells[0], strict=True))[heading]


def test_what_may_be_chance_among_all_comparisons_is_marked_and_not_answered() -> None:
    (found,) = changed(blocks(1000, 1300, 800))
    assert found["stands"]
    assert cell(found, "throughput").startswith("-20 % (")
    assert "a=0" in answer([found])
    doubtful = {**found, "stands": False}
    assert cell(doubtful, "throughput") == cell(found, "throughput") + "?"
    assert "a=0" not in answer([doubtful])


def test_the_baseline_of_the_storm_has_room_for_all_its_clients() -> None:
    dialect = server_catalogue().get("mysql-9").dialect()
    (usual,) = changes(["max_connections"], Factors().baselines(1), dialect)
    (many,) = changes(["max_connections"], Factors(storm=1000).baselines(1), dialect)
    assert (usual.baseline, usual.level.partition(",")[0]) == ("500", "32")
    assert (many.baseline, many.level.partition(",")[0]) == ("1050", "500")


def test_a_level_that_the_server_did_not_take_has_no_effect_and_a_rounded_one_is_told() -> None:
    loads = blocks(1000, 1100)
    (not_had,) = changed(loads, used="1")
    assert (not_had["change"], not_had["change_recovery"], not_had["stands"]) == (None, None, False)
    (found,) = changed(loads, used="8388608")
    assert found["used"] == "8M"
    assert cell(found, "to") == "0 (used 8M)"


def test_a_redo_log_of_several_files_is_used_as_it_was_asked_for() -> None:
    name = "innodb_log_file_size"
    loads = [
        {**each, "setting": f"{name}, all files", "level": "512M"} if each["setting"] == "a" else each
        for each in blocks(1000, 1100)
    ]
    (found,) = changed(loads, before=str(64 * MIB), used=str(256 * MIB), setting=name)
    assert (found["setting"], found["before"], found["used"]) == (name, "128M", "512M")
    assert cell(found, "to") == "512M"


def test_a_run_has_an_answer_in_a_sentence_a_row_for_each_level_and_a_plot(tmp_path: Path) -> None:
    for run in measured_runs("settings"):
        made = report(run)
        assert len(made.answer.split()) <= 30
        assert len(made.rows["table"]) == len(made.tables[0].cells)
        for plot in made.plots:
            plot.save(tmp_path / run.name)
            assert (tmp_path / run.name / "effects.svg").exists()
