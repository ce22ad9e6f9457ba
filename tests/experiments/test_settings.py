"""The settings experiment on a real server: two settings under two loads, in two blocks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from experiments.settings.changes import SETTINGS, changes, skipped
from experiments.settings.effects import effects, measured_in
from experiments.settings.factors import Factors
from experiments.settings.report import effect_in_words
from redolab.models.intervals import Ratio
from redolab.runs.schema import State
from redolab.runs.store import Run, RunStore
from redolab.servers.known import server_catalogue
from tests.command import UNCHECKED, nothing_is_left, redolab

SMALL_SETTINGS = [
    "run", "settings", "--server", "mariadb-10.11", "--vary", "max_connections,skip_name_resolve",
    "--log-size", "64M", "--warehouses", "1", "--seconds", "10s", "--repeat", "1", "--storm", "16", "--seed", "5",
    *UNCHECKED,
]  # fmt: skip


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    done = redolab(*SMALL_SETTINGS)
    made = RunStore().get("latest")
    (made.folder / "said").write_text(done.stdout + done.stderr)
    yield made
    RunStore().remove(made)


def test_each_level_is_measured_in_the_load_in_which_it_could_matter(run: Run) -> None:
    assert run.record().state is State.COMPLETE, (run.folder / "said").read_text()
    measured = measured_in([run])
    assert {(each.change.setting, each.change.spec.workload) for each in measured} == {
        ("baseline", "storm"),
        ("max_connections", "storm"),
        ("skip_name_resolve", "storm"),
    }
    assert all(each.ready is not None for each in measured)
    assert nothing_is_left()


def test_a_setting_without_a_value_is_off_where_it_is_left_out(run: Run) -> None:
    measured = measured_in([run])
    used = {each.change.setting: each.variables["skip_name_resolve"] for each in measured}
    assert used == {"baseline": "ON", "max_connections": "ON", "skip_name_resolve": "OFF"}


def test_half_of_the_clients_are_refused_where_half_of_them_may_connect(run: Run) -> None:
    (found,) = [each for each in effects(measured_in([run])) if each.setting == "max_connections"]
    assert found.failed > 1
    assert found.throughput is not None


def test_everything_is_shown_and_drawn(run: Run) -> None:
    said = (run.folder / "said").read_text()
    assert "Settings, one at a time" in said or "setting" in said
    assert "skip_name_resolve" in said
    assert (run.folder / "plots" / "effects.svg").stat().st_size > 5_000


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


def test_an_effect_is_told_with_its_interval_or_how_small_it_must_be() -> None:
    assert effect_in_words(Ratio(0.18, 0.12, 0.25, 3)) == "+18 % (+12 to +25)"
    assert effect_in_words(Ratio(0.01, -0.03, 0.05, 3)) == "no measurable effect (±5 %)"
    assert effect_in_words(Ratio(0.2, float("nan"), float("nan"), 1)) == "+20 %"
    assert effect_in_words(None) == "–"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--server", "mysql-9", "--vary", "query_cache_size"], "MySQL has no query cache since 8.0.3"),
        (["--seconds", "1s"], "a load of 1.00 s says nothing"),
        (["--vary", "innodb_io_capacity"], "there is no setting 'innodb_io_capacity'"),
        (["--server", "mysql-5.5", "--log-size", "8G"], "mysql-5.5 cannot have a redo log of 8G"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_started(options: list[str], said: str) -> None:
    done = redolab("run", "settings", *options)
    assert done.returncode == 2
    assert said in done.stderr
