"""The experiment that CONTRIBUTING.md shows is a whole one: it is listed, measures, and prints its table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from redolab.project import PROJECT
from redolab.runs.schema import RunState
from tests.command import run_of

pytestmark = pytest.mark.server


def test_it_measures_and_prints_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = re.findall(r"```python\n(.*?)```", (PROJECT.root / "CONTRIBUTING.md").read_text(), re.DOTALL)
    (experiment,) = [each for each in code if "(Experiment[" in each]
    (tmp_path / "restarts.py").write_text(experiment)
    monkeypatch.setenv("REDOLAB_EXPERIMENTS", str(tmp_path))
    asked = ("--server", "mariadb-10.11", "--count", "10,20", "--repeat", "2", "--log-size", "64M")
    with run_of("restarts", *asked) as run:
        assert run.record().state is RunState.COMPLETE
        assert run.trial_count() == 4
        assert {path.suffix for path in run.folder.glob("table.*")} == {".csv", ".md", ".parquet", ".txt"}
        assert (run.folder / "table.txt").read_text().splitlines()[0] in (run.folder / "said").read_text()
        assert (run.folder / "plots/seconds.png").exists()
