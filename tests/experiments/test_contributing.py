"""The experiment that CONTRIBUTING.md shows is a whole one: it is listed, measures, and prints its table."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redolab.project import PROJECT
from redolab.runs.schema import RunState
from redolab.runs.store import RunStore
from tests.command import nothing_is_left, redolab


@pytest.fixture
def own(tmp_path: Path) -> dict[str, str]:
    """A folder of experiments with that one alone."""
    (code,) = [
        part.partition("```")[0]
        for part in (PROJECT.root / "CONTRIBUTING.md").read_text().split("```python\n")[1:]
        if "(Experiment[" in part
    ]
    (tmp_path / "restarts.py").write_text(code)
    return {**os.environ, "REDOLAB_EXPERIMENTS": str(tmp_path)}


def test_it_measures_and_prints_its_table(own: dict[str, str]) -> None:
    done = redolab(
        "run", "restarts", "--server", "mariadb-10.11", "--count", "10,20", "--repeat", "2", "--log-size", "64M", environment=own
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (run,) = [each for each in RunStore().all() if each.name.endswith("-restarts")]
    try:
        assert run.record().state is RunState.COMPLETE
        assert run.trial_count() == 4
        for words in ("Time of all queries: ", "time of all queries, s", "n=2 each", "seconds.png"):
            assert words in done.stdout, words
        assert {path.name for path in run.folder.glob("table.*")} == {
            "table.csv",
            "table.md",
            "table.parquet",
            "table.txt",
        }
    finally:
        RunStore().remove(run)
    assert nothing_is_left()
