"""The throughput experiment on a real server, with small logs; and its arithmetic on made-up loads."""

from __future__ import annotations

import json
import math
import shutil
import statistics
from pathlib import Path

import pytest

from experiments.throughput.report import answer, names, report, sizes_table
from redolab.crash.image_store import ImageStore
from redolab.lab import native_folder
from redolab.project import PROJECT
from redolab.results.loads import found_in
from redolab.results.log_sizes import log_sizes
from redolab.runs.pages import measured_runs
from redolab.runs.schema import Ruling, RunState
from redolab.runs.store import Run
from redolab.servers.dialects import Purpose
from tests.command import UNCHECKED, module_run, nothing_is_left

SMALL, LARGE = 16 * 2**20, 48 * 2**20
run = module_run(
    "throughput", "--server", "mariadb-10.11", "--log-size", "16M,48M", "--warehouses", "1", "--pool", "512M",
    "--window", "8s", "--limit", "22s", "--warmup", "0s", "--seed", "3", *UNCHECKED,
)  # fmt: skip


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
    # All start from the same tables, with the same pool.
    images = [*(load.image for load in found.loads), *(each.image for each in found.worst)]
    assert len({(each.spec.dataset.key, each.spec.instance.buffer_pool) for each in images}) == 1
    assert nothing_is_left()
    assert not set(ImageStore(native_folder(PROJECT.lab)).names()) & {image.name for image in images}


@pytest.mark.thorough
def test_its_figures_are_those_of_the_series(run: Run) -> None:
    for load in found_in([run]).loads:
        figures = load.figures
        last = [report.new_orders_per_second or 0.0 for report in load.reports[-10:]]
        assert figures.rate.mean == pytest.approx(60 * statistics.fmean(last), rel=0.2)
        assert figures.rate.low < figures.rate.mean < figures.rate.high
        assert 0 < (figures.age_share or 0) < 1.05
        assert figures.log_waits is not None
        assert figures.pages_flushed_per_s is not None
        # A commit's redo is some kilobytes, and the device is sent no less than that.
        redo = figures.redo_per_commit_bytes or 0
        assert 1_000 < redo < 50_000
        assert (figures.device_per_commit_bytes or 0) > 0.9 * redo
        assert 0.1 < (figures.load_cpu_share or 0) <= 1.0


@pytest.mark.thorough
def test_the_larger_log_holds_more_redo_and_one_load_each_tells_no_interval(run: Run) -> None:
    ((small, large),) = log_sizes(found_in([run]))
    assert (small.log_size, large.log_size) == (SMALL, LARGE)
    assert 0 < (small.redo or 0) < (large.redo or 0) <= (large.full_redo or 0) / 0.8
    assert large.gain is not None
    assert math.isnan(large.gain.low)
    assert large.gain.change == pytest.approx(large.rate.mean / small.rate.mean - 1)
    assert large.series.plateau is not None
    assert (large.series.plateau.low, large.series.plateau.high) == (SMALL, LARGE)


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
    sizes = [row.log_size for row in log_sizes(found_in([first]))[0]]
    again = of_another_day(first, tmp_path / "again", cpu)
    (one,) = log_sizes(found_in([first, again]))
    assert {row.n for row in one} == {2}
    assert one[0].series.repeated
    elsewhere = of_another_day(first, tmp_path / "elsewhere", "another processor")
    two = log_sizes(found_in([first, elsewhere]))
    assert [each[0].machine for each in two] == ["local", "local (2)"]
    assert all([row.log_size for row in each] == sizes for each in two)
    assert len(set(names(two))) == 2
    assert "local (2)" in sizes_table(two, {}).as_markdown()
    assert all(len(answer(each).split()) <= 30 for each in ([one], two))


def test_a_run_has_an_answer_in_a_sentence_a_row_for_each_size_and_two_plots(tmp_path: Path) -> None:
    for run in measured_runs("throughput"):
        made = report(run)
        assert len(made.answer.split()) <= 30
        assert len(made.rows["table"]) == len(made.tables[0].cells)
        assert made.tables[0].width <= 140
    for plot in made.plots:
        plot.save(tmp_path)
    assert {path.name for path in tmp_path.glob("*.svg")} == {"trade.svg", "loads.svg"}
