"""Runs of format 1, as an earlier version of the lab left them: read, shown, reported; and every column is documented."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import matplotlib.pyplot as plt
import polars
import pytest

import redolab
from redolab.project import PROJECT
from redolab.runs.store import RunStore
from tests.command import redolab as command

FORMAT_1 = Path(__file__).parent / "format1"
DOCUMENTED = PROJECT.root / "docs/run-data.md"


def test_recoveries_of_format_1_have_the_figures_that_were_shown_then() -> None:
    frame = redolab.load_runs(folder=FORMAT_1)
    assert frame.height == 24
    median = frame.filter(server="mariadb-10.11", storage="cloud-ssd", buffer_pool_bytes=128 << 20)["ready_s"].median()
    assert median == pytest.approx(17.04, abs=0.005)
    mysql = frame.filter(server="mysql-9", storage="native", buffer_pool_bytes=384 << 20)
    assert sorted(round(each, 2) for each in mysql["ready_s"]) == [5.07, 5.28, 5.43]
    assert mysql["dirty_pages"].unique().to_list() == [14_936]
    assert mysql["sync_flush_point_bytes"].unique().to_list() > [400 << 20]
    # The phase that was called ready then.
    phases = mysql.select("start_s", "discover_s", "scan_s", "apply_s", "open_s", "accept_s").sum_horizontal()
    assert phases.to_list() == pytest.approx(mysql["ready_s"].to_list(), abs=0.01)
    assert frame["took_s"].null_count() == 0
    assert frame["busiest_thread_s"].null_count() == frame.height
    assert frame.filter(storage="cloud-ssd")["fio_queued_reads_per_s"].max() == pytest.approx(3000, rel=0.02)


def test_inflation_of_format_1() -> None:
    frame = redolab.load_runs("inflation", FORMAT_1)
    first = frame.filter(
        server="mysql-5.6", trx_commit=1, threads=1, row_bytes=100, rows_per_transaction=1, binary_log=False
    )
    ratio = (first["os_log_written_bytes"] / first["lsn_bytes"]).median()
    assert ratio == pytest.approx(3.54, abs=0.005)


def test_they_are_listed_shown_and_reported_and_not_rewritten(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(FORMAT_1, runs)
    environment = {"REDOLAB_RUNS": str(runs)}
    listed = command("runs", environment=environment).stdout
    for run in RunStore(runs).all():
        kept = (run.folder / "run.json").read_bytes()
        assert run.name in listed
        shown = command("report", run.name, environment=environment)
        assert shown.returncode == 0, shown.stderr
        assert "could not be drawn" not in shown.stdout
        assert (run.folder / "run.json").read_bytes() == kept
        assert command("show", run.name, environment=environment).returncode == 0
        resumed = command("run", run.record().experiment, "--resume", run.name, environment=environment)
        assert resumed.returncode == 2
    table = polars.read_csv(next(runs.glob("*-recovery/table.csv")))
    assert table.filter(server="mariadb-10.11", storage="native")["ready_median_s"].round(2).sort().to_list() == [
        2.26,
        2.94,
    ]
    assert table["bound_by"].null_count() == table.height


def test_a_run_that_cannot_be_read_is_named_and_left_out(tmp_path: Path) -> None:
    shutil.copytree(FORMAT_1, tmp_path / "runs")
    (broken,) = (tmp_path / "runs").glob("*-recovery")
    with (broken / "trials.jsonl").open("a") as file:
        file.write('{"image": 1}\n')
    with pytest.warns(UserWarning, match=f"left out: the run {broken.name} cannot be read"):
        assert redolab.load_runs(folder=tmp_path / "runs").height == 0


def test_a_run_of_format_1_that_was_killed_stays_as_it_is(tmp_path: Path) -> None:
    shutil.copytree(FORMAT_1, tmp_path / "runs")
    (run,) = (tmp_path / "runs").glob("*-recovery")
    record = (run / "run.json").read_text().replace('"complete"', '"running"')
    (run / "run.json").write_text(record)
    assert RunStore(tmp_path / "runs").clear_unfinished() == []
    assert (run / "run.json").read_text() == record
    assert redolab.load_runs(folder=tmp_path / "runs").height == 24


def test_rubbish_in_a_run_is_named(tmp_path: Path) -> None:
    shutil.copytree(FORMAT_1, tmp_path / "runs")
    (run,) = (tmp_path / "runs").glob("*-inflation")
    with (run / "trials.jsonl").open("ab") as file:
        file.write(b"\0\0\0\n")
    with pytest.warns(UserWarning, match=f"left out: the run {run.name} cannot be read"):
        redolab.load_runs("inflation", tmp_path / "runs")


@pytest.mark.parametrize(
    ("experiment", "heading"),
    [("recovery", "Columns of recoveries"), ("inflation", "Columns of the inflation experiment")],
)
def test_every_column_is_documented_and_nothing_else(experiment: str, heading: str) -> None:
    columns = redolab.load_runs(experiment, FORMAT_1).columns
    assert sorted(columns) == sorted([*_documented("Columns of all experiments"), *_documented(heading)])


def _documented(heading: str) -> list[str]:
    section = DOCUMENTED.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| ")][2:]
    return [name for row in rows for name in re.findall(r"\w+", row)]


def test_the_example_for_notebooks_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDOLAB_RUNS", str(FORMAT_1))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENTED.read_text(), re.DOTALL)
    (example,) = [block for block in blocks if "plt.plot" in block]
    exec(example, {})
    labels = [line.get_label() for line in plt.gca().lines]
    plt.close("all")
    assert sorted(map(str, labels)) == [
        "mariadb-10.11, cloud-ssd", "mariadb-10.11, native", "mysql-9, cloud-ssd", "mysql-9, native",
    ]  # fmt: skip
