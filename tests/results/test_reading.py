"""Who reads runs starts nothing: what `load_runs` imports, and what experiments name without importing it."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from redolab.project import PROJECT
from redolab.runs.experiment_names import experiment_names
from redolab.runs.factors import factors_of
from redolab.runs.loading import load_experiment


def forbidden() -> list[str]:
    contracts = tomllib.loads((PROJECT.root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (found,) = [each for each in contracts if "redolab.results" in each.get("source_modules", [])]
    # The declaration of experiments that crash servers lies beside their bench, and imports none of it.
    return [
        "redolab.crash.bench.crash_bench" if each == "redolab.crash.bench" else each
        for each in found["forbidden_modules"]
    ]


def test_reading_runs_imports_nothing_that_acts() -> None:
    measured = {name: PROJECT.measured / name for name in experiment_names()}
    measured |= dict.fromkeys(("calibrate", "survey"), PROJECT.measured / "model")
    folders = {name: str(folder) for name, folder in measured.items() if folder.exists()}
    # Those without a committed run are imported, too.
    program = (
        "import sys, redolab; from redolab.runs.loading import load_experiment; "
        f"[load_experiment(each) for each in {list(measured)!r}]; "
        f"print(*(redolab.load_runs(*each).height for each in {list(folders.items())!r})); "
        "print(*sys.modules, sep='\\n')"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    heights, *imported = said.split("\n")
    assert all(int(height) > 0 for height in heights.split())
    assert "redolab.runs.frames" in imported
    assert not set(forbidden()) & set(imported)


@pytest.mark.parametrize("experiment", experiment_names())
def test_an_experiment_has_factors_and_a_plan(experiment: str) -> None:
    declared = load_experiment(experiment)
    assert factors_of(declared.factors_type)
    # Every default is one that its parser takes.
    assert declared.factors_type().in_words()
    assert declared.plan_type is not None
    assert declared.question
