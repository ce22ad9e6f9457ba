"""Nonsense is one clear line and starts nothing: through `redolab run` and through `make experiment`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from redolab.errors import InvalidInput
from redolab.project import PROJECT
from redolab.runs.loading import load_experiment
from redolab.runs.session import MAKE_VARIABLES, given_to_make
from tests.command import redolab


def make(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--no-print-directory", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=PROJECT.root, env=environment)


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (["recovery", "LOGSIZE=8Q"], "'8Q'"),
        (["recovery", "LOGSISE=8G"], "LOGSISE="),
        (["recovery", "REPEAT=0"], "'0'"),
        (["recovery", "LOGSIZE=$(touch hacked)"], "LOGSIZE="),
        (["coffee"], "'coffee'"),
    ],
)
def test_make_refuses_nonsense(words: list[str], refused: str) -> None:
    done = make("experiment", *words)
    assert done.returncode != 0
    said, *of_make = done.stderr.splitlines()
    assert said.startswith("redolab: ")
    assert refused in said
    assert all(line.startswith("make: ") for line in of_make)
    assert not (PROJECT.root / "hacked").exists()


def test_variables_of_make_are_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAKE_VARIABLES, r"LOGSIZE=8G SERVER=a,b KILLAT=75\%")
    given = given_to_make(load_experiment("recovery").factors_type)
    assert given == {"log_size": "8G", "server": "a,b", "kill_at": "75%"}


@pytest.mark.parametrize("name", ["durability", "production"])
def test_an_experiment_that_repeats_nothing_refuses_the_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MAKE_VARIABLES, "REPEAT=2")
    with pytest.raises(InvalidInput) as refused:
        given_to_make(load_experiment(name).factors_type)
    assert refused.value.problem.startswith("REPEAT=")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("import redolab.nonsense\n", "ModuleNotFoundError: No module named 'redolab.nonsense', line 1 of {file}"),
        ("QUESTION = 'how high?'\n", "TypeError: it declares 0 experiments, and not one"),
        ("raise SystemExit(0)\n", "SystemExit: 0, line 1 of {file}"),
        (
            "import dice\n\n\nclass Mine(dice.Dice):\n    repeat = {}['sides']\n",
            "KeyError: 'sides', line 5 of {file}",
        ),
    ],
    ids=["import", "nothing declared", "exits", "raises"],
)
def test_a_broken_experiment_of_the_users_own_is_named_and_hides_no_other(
    content: str, why: str, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    shutil.copy(PROJECT.root / "tests/toy/dice.py", tmp_path)
    file = tmp_path / "mine/experiment.py"
    file.write_text(content)
    own = {"REDOLAB_EXPERIMENTS": str(tmp_path), "PYTHONPATH": f"{PROJECT.root}:{tmp_path}"}
    broken = f"the experiment {file} cannot be loaded ({why.format(file=file)}): mend it"
    listed = redolab("run", "--help", environment=own)
    assert listed.returncode == 0, listed.stderr
    assert broken in listed.stdout.splitlines()
    for name in ("anatomy", "dice", "recovery"):
        assert f"\n  {name} " in listed.stdout
    assert "\n  mine" not in listed.stdout
    assert redolab("run", "dice", "--help", environment=own).returncode == 0
    for verb in (["run", "mine", "--help"], ["make-experiment", "mine"]):
        asked = redolab(*verb, environment=own)
        assert (asked.returncode, asked.stdout, asked.stderr) == (1, "", f"redolab: {broken}\n")
