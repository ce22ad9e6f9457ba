"""Runs as they are read: those of other formats, and those that are damaged, are named; every column is documented."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import redolab
from redolab.project import PROJECT
from redolab.runs.schema import RUN_FORMAT
from redolab.runs.store import RunStore
from tests.command import redolab as command

DOCUMENTED = PROJECT.root / "docs/run-data.md"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A run of recoveries and one of inserts."""
    for page in ("recovery", "inflation"):
        run = sorted((PROJECT.measured / page).iterdir())[0]
        shutil.copytree(run, tmp_path / "runs" / run.name)
    return tmp_path / "runs"


def only(runs: Path, experiment: str) -> Path:
    (run,) = runs.glob(f"*-{experiment}")
    return run


@pytest.mark.parametrize(("format_", "reader"), [(RUN_FORMAT - 1, "an older"), (RUN_FORMAT + 1, "a newer")])
def test_a_run_of_another_format_is_named_and_left_as_it_is(
    runs: Path, format_: int, reader: str, recwarn: pytest.WarningsRecorder
) -> None:
    run = only(runs, "recovery")
    record = (run / "run.json").read_text().replace(f'"format": {RUN_FORMAT}', f'"format": {format_}')
    (run / "run.json").write_text(record.replace('"complete"', '"running"'))
    kept = (run / "run.json").read_bytes()
    assert redolab.load_runs(folder=runs).height == 0
    assert [(run.name in str(each.message), reader in str(each.message)) for each in recwarn] == [(True, True)]
    shown = command("show", run.name, environment={"REDOLAB_RUNS": str(runs)})
    assert (shown.returncode, reader in shown.stderr) == (1, True)
    assert RunStore(runs).clear_unfinished() == []
    assert (run / "run.json").read_bytes() == kept


@pytest.mark.parametrize("rubbish", [b'{"image": 1}\n', b"\0\0\0\n"])
@pytest.mark.parametrize("experiment", ["recovery", "inflation"])
def test_a_run_that_cannot_be_read_is_named_and_left_out(
    runs: Path, experiment: str, rubbish: bytes, recwarn: pytest.WarningsRecorder
) -> None:
    run = only(runs, experiment)
    with (run / "trials.jsonl").open("ab") as file:
        file.write(rubbish)
    assert redolab.load_runs(experiment, runs).height == 0
    assert [run.name in str(each.message) for each in recwarn] == [True]


def test_a_committed_run_is_listed_shown_and_reported_again(runs: Path) -> None:
    environment = {"REDOLAB_RUNS": str(runs)}
    listed = command("runs", environment=environment).stdout
    for run in RunStore(runs).all():
        kept = (run.folder / "run.json").read_bytes()
        assert run.name in listed
        shown = command("report", run.name, environment=environment)
        assert shown.returncode == 0, shown.stderr
        assert (run.folder / "run.json").read_bytes() == kept
        assert command("show", run.name, environment=environment).returncode == 0


_OF_RECOVERIES = ["Columns of recoveries"]


@pytest.mark.parametrize(
    ("experiment", "headings"),
    [
        ("recovery", _OF_RECOVERIES),
        ("throughput", ["Columns of loads", *_OF_RECOVERIES]),
        ("anatomy", ["Columns of the anatomy experiment", *_OF_RECOVERIES]),
        ("settings", ["Columns of loads", "Columns of the settings experiment", *_OF_RECOVERIES]),
        *(
            (name, [f"Columns of the {name} experiment"])
            for name in (
                "inflation",
                "logging-impact",
                "resizing",
                "rotation",
                "slowlog-plugin",
                "binlog-purge",
                "durability",
            )
        ),
    ],
)
def test_every_column_is_documented_and_nothing_else(experiment: str, headings: list[str]) -> None:
    columns = redolab.load_runs(experiment, PROJECT.measured / experiment).columns
    documented = [name for heading in ("Columns of all experiments", *headings) for name in _documented(heading)]
    # The committed loads of resizing are all TPC-C, whose throughput has a column of its own.
    of_other_loads = {"commits_per_second"} if experiment == "resizing" else set()
    assert sorted(columns) == sorted(name for name in documented if name not in of_other_loads)


def _documented(heading: str) -> list[str]:
    section = DOCUMENTED.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| ")][2:]
    return [name for row in rows for name in re.findall(r"\w+", row)]


def test_the_example_for_notebooks_draws(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDOLAB_RUNS", str(runs))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENTED.read_text(), re.DOTALL)
    (example,) = [block for block in blocks if "plt.plot" in block]
    plt.close("all")
    exec(example, {})
    labels = [line.get_label() for line in plt.gca().lines]
    plt.close("all")
    assert labels == ["mariadb-10.11, local"]
