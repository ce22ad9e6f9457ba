"""The throughput experiment on a real server, with small logs; and its arithmetic on made-up loads."""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from experiments.throughput.answer import answer, finding, name_of, title
from experiments.throughput.rows import row_dictionaries, series_of
from experiments.throughput.table import throughput_table
from redolab.lab import native_folder
from redolab.project import PROJECT
from redolab.records.kill_rule import HIGHEST_AGE, KillRule
from redolab.results.loads import Load, MeasuredLoads, WorstCase, found_in
from redolab.results.rows import load_rows
from redolab.runs.pages import measured_runs
from redolab.runs.schema import Ruling, RunState
from redolab.runs.store import Run, RunStore
from redolab.servers.dialects import Purpose
from redolab.states.images import ImageStore
from redolab.units import GIB, KIB
from tests.command import UNCHECKED, nothing_is_left, redolab
from tests.examples import load_key, production_load, record, trial

LATER = ((GIB, 1000, 60), (4 * GIB, 1040, 600))
SMALL, LARGE = 16 * 2**20, 48 * 2**20
SMALL_THROUGHPUT = [
    "run", "throughput", "--server", "mariadb-10.11", "--log-size", "16M,48M", "--warehouses", "1", "--pool", "512M",
    "--window", "8s", "--limit", "22s", "--warmup", "0s", "--seed", "3", *UNCHECKED,
]  # fmt: skip


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    done = redolab(*SMALL_THROUGHPUT)
    made = RunStore().get("latest")
    (made.folder / "said").write_text(done.stdout + done.stderr)
    yield made
    RunStore().remove(made)


@pytest.mark.thorough
def test_each_cell_is_put_under_load_crashed_and_recovered_and_so_is_its_worst_case(run: Run) -> None:
    said = (run.folder / "said").read_text()
    assert run.record().state is RunState.COMPLETE, said
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
def test_everything_is_shown_and_drawn(run: Run) -> None:
    said = (run.folder / "said").read_text()
    assert "NOTPM" in said
    assert "never tpmC" in said
    assert "log filled up" in said
    for name in ("trade", "age", "time"):
        assert (run.folder / "plots" / f"{name}.svg").stat().st_size > 5_000
    with (run.folder / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["log_size"]) for row in rows] == [SMALL, LARGE]
    assert float(rows[1]["gain"]) == pytest.approx(float(rows[1]["rate_mean"]) / float(rows[0]["rate_mean"]) - 1)


@pytest.mark.thorough
def test_its_recoveries_are_read_back_with_the_load_before_them(run: Run) -> None:
    columns = [row for _, row in load_rows(run)]
    assert len(columns) == 4
    loaded = [row for row in columns if row["load_settings"] is not None]
    assert len(loaded) == 2
    assert all(isinstance(row["notpm"], float) and row["notpm"] > 1_000 for row in loaded)
    assert all(row["notpm"] is None for row in columns if row not in loaded)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--limit", "1m", "--window", "1m"], "a load cannot become steady within 1 min 0 s"),
        (["--window", "1s"], "a window of 1.00 s is too short"),
        (["--seconds", "5s"], "a load of 5.00 s says nothing"),
        (["--log-size", "1M"], "mariadb-11.8 cannot have a redo log of 1M"),
        (["--workload", "bulk-update", "--warehouses", "2"], "bulk-update has no warehouses"),
        (["--warehouses", "2", "--dataset", "1G"], "exclude each other"),
        (["--pool", "1M"], "a buffer pool of 1M is too small"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_started(options: list[str], said: str) -> None:
    done = redolab("run", "throughput", *options)
    assert done.returncode == 2
    assert said in done.stderr


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


def test_remarks_say_of_which_series_they_are() -> None:
    """Two series that one server and one storage share: the one not steady has another pool."""
    steady = production_load("run", GIB, 1000)
    instance = replace(steady.image.spec.instance, buffer_pool=GIB)
    other = msgspec.structs.replace(
        steady.image, spec=msgspec.structs.replace(steady.image.spec, instance=instance), steady=False
    )
    steady = replace(steady, image=msgspec.structs.replace(steady.image, steady=True))
    of_other = replace(steady, key=load_key(other.spec), image=other)
    table = throughput_table(series_of(MeasuredLoads([steady, of_other], [])), [], {}).as_markdown()
    assert "! was not steady when its time was up: MariaDB 10.11.19, pool 1G with 1G." in " ".join(table.split())


def under(load: Load, workload: str, pool: int) -> Load:
    """The same load with another workload and another pool."""
    instance = replace(load.image.spec.instance, buffer_pool=pool)
    image = msgspec.structs.replace(
        load.image, spec=msgspec.structs.replace(load.image.spec, workload=workload, instance=instance)
    )
    return replace(load, key=load_key(image.spec), image=image)


def test_every_gain_is_in_the_title_by_a_name_of_no_more_than_it_takes() -> None:
    rates = ((GIB, 1000), (4 * GIB, 1300))
    loads = [production_load(run, size, rate + more) for run, more in (("one", 0), ("two", 4)) for size, rate in rates]
    both = series_of(MeasuredLoads([*loads, *(under(load, "tpcc", GIB) for load in loads)], []))
    said = title(both)
    assert said.startswith("Throughput from 1G to 4G: MariaDB 10.11.19, bulk-update +3")
    assert said.count(", tpcc +3") == 1
    # They differ in their pools too.
    assert [name_of(each, both) for each in both] == ["MariaDB 10.11.19, bulk-update", "MariaDB 10.11.19, tpcc"]
    assert "!" not in throughput_table(both, [], {}).as_markdown()


def test_no_gain_is_shown_of_a_log_measured_in_other_minutes_of_its_load() -> None:
    loads = [production_load(run, size, rate, lasted) for run in ("one", "two") for size, rate, lasted in LATER]
    (one,) = series_of(MeasuredLoads(loads, []))
    assert "throughput gain not resolved (less than 5 % either way)" in answer([one])
    assert "no gain is claimed for 4G, measured in other minutes of its load than 1G" in answer([one])
    assert "+4" not in answer([one]) + title([one, one])
    assert title([one, one]) == "From 1G to 4G of redo log no gain in throughput was resolved in any of 2 loads"
    table = " ".join(throughput_table([one], [], {}).as_markdown().split())
    assert "a gain is computed from equal minutes of the loads alone. Not compared: MariaDB 10.11.19 with 4G" in table
    assert "4G (minutes 9 to 10) and 1G (0 to 1)" in table
    larger, _ = row_dictionaries([one])[::-1]
    assert (larger["log_size"], larger["gain"]) == (4 * GIB, None)


def test_what_a_larger_log_saves_the_device_comes_first() -> None:
    (one,) = series_of(MeasuredLoads([production_load("one", size, rate, lasted) for size, rate, lasted in LATER], []))
    written = (60 * KIB, *[40 * KIB] * (len(one.rows) - 2), 22.3 * KIB)
    rows = [
        replace(row, figures=replace(row.figures, device_per_commit=each))
        for row, each in zip(one.rows, written, strict=True)
    ]
    said = finding([replace(one, rows=rows), one])
    assert said.startswith(
        "A redo log of 4G instead of 1G: the device is sent 22 KiB instead of 60 (MariaDB 10.11.19, run one) for each commit. From 1G to 4G"
    )
    assert "; 22 KiB instead of 60 to the device for each commit; " in answer([replace(one, rows=rows)])
    assert finding([one, one]) == title([one, one])


def test_a_gain_that_may_be_none_is_not_called_one() -> None:
    rates = (("one", GIB, 1000), ("one", 4 * GIB, 1060), ("two", GIB, 1030), ("two", 4 * GIB, 1020))
    (one,) = series_of(MeasuredLoads([production_load(*each) for each in rates], []))
    assert one.gains[4 * GIB].low < 0 < one.gains[4 * GIB].high
    assert "throughput gain not resolved (less than 5 % either way; with 4G +2 % (" in answer([one])
    assert "no more than repeated loads differ" in answer([one])


def test_of_sizes_that_are_compared_a_gain_is_shown_beside_one_that_is_not() -> None:
    rates = ((GIB, 1000, 60), (2 * GIB, 1300, 60), (4 * GIB, 1310, 600))
    loads = [
        production_load(run, size, rate + more, lasted)
        for run, more in (("one", 0), ("two", 4))
        for size, rate, lasted in rates
    ]
    (one,) = series_of(MeasuredLoads(loads, []))
    assert "a redo log of 2G instead of 1G: +30% throughput (" in answer([one])
    assert "no gain is claimed for 4G" in answer([one])
    later = [production_load(run, size, rate, lasted) for run in ("one", "two") for size, rate, lasted in LATER]
    (unresolved,) = series_of(MeasuredLoads(later, []))
    said = title([unresolved, one])
    assert said.startswith("Throughput from 1G to 2G: MariaDB 10.11.19")
    assert " +30 % (" in said
    assert said.endswith("); not resolved in 1 of 2 loads")


def test_too_few_loads_for_an_interval_are_not_called_one_each() -> None:
    loads = [
        production_load("one", GIB, 1000),
        production_load("one", 4 * GIB, 1100),
        production_load("two", GIB, 1010),
    ]
    (found,) = series_of(MeasuredLoads(loads, []))
    assert "+10% throughput (too few loads for an interval)" in answer([found])
