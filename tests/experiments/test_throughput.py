"""The throughput experiment on a real server, with small logs; and its arithmetic on made-up loads."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from experiments.throughput.answer import answer, title
from experiments.throughput.rows import series_of
from experiments.throughput.table import throughput_table
from redolab.lab import native_folder
from redolab.project import PROJECT
from redolab.records.kill_rule import HIGHEST_AGE, KillRule
from redolab.results.loads import Load, MeasuredLoads, WorstCase, found_in
from redolab.results.rows import load_rows
from redolab.runs.pages import measured_runs
from redolab.runs.schema import Ruling, RunState
from redolab.runs.store import Run
from redolab.servers.dialects import Purpose
from redolab.states.images import ImageStore
from redolab.units import GIB
from tests.command import UNCHECKED, nothing_is_left, run_of
from tests.examples import load_key, production_load, record, trial

SMALL, LARGE = 16 * 2**20, 48 * 2**20
SMALL_THROUGHPUT = [
    "throughput", "--server", "mariadb-10.11", "--log-size", "16M,48M", "--warehouses", "1", "--pool", "512M",
    "--window", "8s", "--limit", "22s", "--warmup", "0s", "--seed", "3", *UNCHECKED,
]  # fmt: skip


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with run_of(*SMALL_THROUGHPUT) as made:
        yield made


@pytest.mark.thorough
def test_each_cell_is_put_under_load_crashed_and_recovered_and_so_is_its_worst_case(run: Run) -> None:
    assert run.record().state is RunState.COMPLETE
    found = found_in([run])
    assert {load.image.spec.instance.log_size for load in found.loads} == {SMALL, LARGE}
    assert {each.image.spec.instance.log_size for each in found.worst} == {SMALL, LARGE}
    for load in found.loads:
        assert load.image.spec.instance.purpose is Purpose.PRODUCTION
        assert load.image.steady is not None
        (recovery,) = load.recoveries
        assert recovery.trial.seconds_to_ready is not None
        assert recovery.judgement is not None
        assert recovery.judgement.ruling is Ruling.RIGHT
    # All cells start from the same tables, with the same pool.
    images = [*(load.image for load in found.loads), *(each.image for each in found.worst)]
    specs = [image.spec for image in images]
    assert len({spec.dataset.key for spec in specs}) == 1
    assert len({spec.instance.buffer_pool for spec in specs}) == 1
    assert nothing_is_left()
    assert not set(ImageStore(native_folder(PROJECT.lab)).names()) & {image.name for image in images}


@pytest.mark.thorough
def test_its_figures_are_those_of_the_series(run: Run) -> None:
    for load in found_in([run]).loads:
        figures = load.figures
        counted = [moment.new_orders_per_second for moment in load.moments[-10:]]
        known = [each for each in counted if each is not None]
        assert figures.rate.mean == pytest.approx(60 * sum(known) / len(known), rel=0.2)
        assert figures.rate.low < figures.rate.mean < figures.rate.high
        assert figures.age_share is not None
        assert 0 < figures.age_share < 1.05
        assert figures.log_waits is not None
        assert figures.pages_flushed is not None
        # A commit's redo is some kilobytes, and the device is sent no less than that.
        assert figures.redo_per_commit is not None
        assert 1_000 < figures.redo_per_commit < 50_000
        assert figures.device_per_commit is not None
        assert figures.device_per_commit > 0.9 * figures.redo_per_commit
        assert figures.cpu_share is not None
        assert 0.1 < figures.cpu_share <= 1.0


@pytest.mark.thorough
def test_the_larger_log_holds_more_redo_and_one_load_each_tells_no_interval(run: Run) -> None:
    (series,) = series_of(found_in([run]))
    small, large = series.rows
    assert (small.log_size, large.log_size) == (SMALL, LARGE)
    assert small.redo_at_crash is not None
    assert large.redo_at_crash is not None
    assert large.redo_at_crash > small.redo_at_crash
    gain = series.gains[LARGE]
    assert math.isnan(gain.low)
    assert "% throughput (one load each)" in answer([series])
    assert series.plateau is not None
    assert (series.plateau.low, series.plateau.high) == (SMALL, LARGE)
    assert gain.change == pytest.approx(large.rate.mean / small.rate.mean - 1)
    assert large.filled_redo is not None
    assert large.filled_redo >= 0.8 * large.redo_at_crash
    assert answer([series]).startswith("MariaDB 10.11.")
    assert "a redo log of 48M instead of 16M" in answer([series])


@pytest.mark.thorough
def test_its_recoveries_are_read_back_with_the_load_before_them(run: Run) -> None:
    columns = [row for _, row in load_rows(run)]
    assert len(columns) == 4
    loaded = [row for row in columns if row["load_settings"] is not None]
    assert len(loaded) == 2
    assert all(isinstance(row["notpm"], float) and row["notpm"] > 1_000 for row in loaded)
    assert all(row["notpm"] is None for row in columns if row not in loaded)


def of_another_day(run: Run, folder: Path, cpu: str) -> Run:
    """The same loads once more, on a machine with that processor."""
    shutil.copytree(run.folder, folder)
    record = json.loads((folder / "run.json").read_text())
    record["name"] = folder.name
    for session in record["sessions"]:
        session["machine"]["cpu"] = cpu
    (folder / "run.json").write_text(json.dumps(record))
    return Run(folder)


def test_what_two_machines_have_measured_is_not_put_together(tmp_path: Path) -> None:
    first = measured_runs("throughput")[0]
    cpu = first.record().sessions[0].machine.cpu
    sizes = {row.log_size for row in series_of(found_in([first]))[0].rows}
    again = of_another_day(first, tmp_path / "again", cpu)
    (one,) = series_of(found_in([first, again]))
    assert {row.n for row in one.rows} == {2}
    assert one.repeated
    elsewhere = of_another_day(first, tmp_path / "elsewhere", "another processor")
    two = series_of(found_in([first, elsewhere]))
    assert [each.made.machine for each in two] == ["local", "local (2)"]
    assert all({row.log_size for row in each.rows} == sizes for each in two)
    assert "local (2)" in throughput_table(two, [], {}).as_markdown()
    # Above a picture there is room for one finding of all series together.
    assert " of 2 loads; recovery with the log filled up takes " in title(two)
    assert title(two).count("; ") == 1
    assert title([one]) == answer([one])


def filled_up(beside: Load, pool: int, seconds: float) -> WorstCase:
    """The crash of a log filled up, of a server with that pool, recovered in so many seconds."""
    instance = replace(beside.image.spec.instance, purpose=Purpose.FILL, buffer_pool=pool)
    spec = msgspec.structs.replace(beside.image.spec, instance=instance)
    crashed = msgspec.structs.replace(beside.image, spec=spec)
    recovered = record(msgspec.structs.replace(trial(seconds), buffer_pool=pool))
    return WorstCase("run", "local", load_key(spec), crashed, [recovered])


def test_a_filled_log_of_a_server_with_another_pool_is_not_beside_a_load() -> None:
    under_load = production_load("run", GIB, 1000)
    pool = under_load.image.spec.instance.buffer_pool
    ((row,),) = (each.rows for each in series_of(MeasuredLoads([under_load], [filled_up(under_load, 4 * pool, 9.0)])))
    assert (row.filled_ready, row.filled_redo) == (None, None)
    both = [filled_up(under_load, pool, 3.0), filled_up(under_load, 4 * pool, 9.0)]
    ((row,),) = (each.rows for each in series_of(MeasuredLoads([under_load], both)))
    assert row.filled_ready == 3.0


def test_logs_filled_to_different_ages_are_not_put_together() -> None:
    under_load = production_load("run", GIB, 1000)
    pool = under_load.image.spec.instance.buffer_pool

    def filled_by(rule: KillRule, seconds: float) -> WorstCase:
        crash = filled_up(under_load, pool, seconds)
        spec = msgspec.structs.replace(crash.image.spec, kill=rule)
        return replace(crash, image=msgspec.structs.replace(crash.image, spec=spec))

    both = [filled_by(KillRule(), 3.0), filled_by(HIGHEST_AGE, 9.0)]
    ((row,),) = (each.rows for each in series_of(MeasuredLoads([under_load], both)))
    assert row.filled_ready == 9.0
