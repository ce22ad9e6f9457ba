"""Who reads runs starts nothing: what `load_runs` imports, and what experiments name without importing it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from functools import partial

import pytest

from redolab.project import PROJECT
from redolab.runs.experiment import Named, load_experiment
from redolab.runs.experiment_folders import experiment_names


def forbidden() -> list[str]:
    contracts = tomllib.loads((PROJECT.root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (found,) = [each for each in contracts if "redolab.results" in each.get("source_modules", [])]
    modules: list[str] = found["forbidden_modules"]
    return modules


def test_reading_runs_imports_nothing_that_acts() -> None:
    folders = {name: str(PROJECT.measured / name) for name in experiment_names()}
    folders |= dict.fromkeys(("calibrate", "survey"), str(PROJECT.measured / "model"))
    program = (
        "import sys, redolab; "
        f"print(*(redolab.load_runs(*each).height for each in {list(folders.items())!r})); "
        "print(*sys.modules, sep='\\n')"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    heights, *imported = said.split("\n")
    assert all(int(height) > 0 for height in heights.split())
    assert "redolab.runs.frames" in imported
    assert not set(forbidden()) & set(imported)


@pytest.mark.parametrize("experiment", experiment_names())
def test_what_an_experiment_names_is_there(experiment: str) -> None:
    declared = load_experiment(experiment)
    check = declared.check and declared.check.factors
    for each in (declared.plan, declared.bench, declared.report, *declared.pages.values(), *([check] if check else [])):
        assert isinstance(each, Named)
        assert callable(each.found())
    for of_type in (declared.factors, declared.plan_type):
        assert isinstance(of_type, partial)
        assert of_type() is not None
