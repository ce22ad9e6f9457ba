"""Completion in a shell, by the protocol that shells speak: what is there is offered, nothing is made, nothing is complained of."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.command import redolab


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """A user's own things, none of which is there yet."""
    return {f"REDOLAB_{name}": str(tmp_path / name) for name in ("LAB", "RUNS", "SERVERS", "MACHINES", "STORAGE")}


def completed(line: str, environment: Mapping[str, str]) -> list[str]:
    """What bash is offered at the end of a line; nothing else may be said, and nothing made."""
    words = line.split(" ")
    asked = {"_REDOLAB_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    there = _left(environment)
    done = redolab(environment={**environment, **asked})
    assert (done.returncode, done.stderr) == (0, "")
    assert _left(environment) == there
    found = [each.partition(",") for each in done.stdout.splitlines() if each]
    assert {kind for kind, _, _ in found} <= {"plain"}
    return [value for _, _, value in found]


def _left(environment: Mapping[str, str]) -> list[str]:
    folder = Path(environment["REDOLAB_LAB"]).parent
    return sorted(str(path) for path in folder.rglob("*"))


def test_verbs_experiments_and_options_are_completed(environment: Mapping[str, str]) -> None:
    assert completed("redolab sh", environment) == ["show"]
    assert completed("redolab run rec", environment) == ["recovery"]
    assert completed("redolab run recovery --log", environment) == ["--log-size"]
    assert completed("redolab completion z", environment) == ["zsh"]


def test_a_broken_or_unknown_experiment_has_no_completions_and_no_errors(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    assert completed("redolab nonsense x", environment) == []
    assert completed("redolab run nonsense --x", environment) == []
    broken = tmp_path / "experiments/broken"
    broken.mkdir(parents=True)
    (broken / "experiment.py").write_text("class Factors(Factors:\n")
    own = {**environment, "REDOLAB_EXPERIMENTS": str(broken.parent)}
    assert completed("redolab run bro", own) == ["broken"]
    assert completed("redolab run broken --x", own) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_given_its_script(shell: str) -> None:
    done = redolab("completion", shell)
    assert done.returncode == 0
    assert f"_REDOLAB_COMPLETE={shell}_complete" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True)


def test_bash_completes_with_its_script(environment: Mapping[str, str], tmp_path: Path) -> None:
    redolab_here = Path(sys.executable).with_name("redolab")
    script = (
        f'eval "$({redolab_here} completion bash)"; COMP_WORDS=({redolab_here} run rec); '
        f'COMP_CWORD=2; _redolab_completion {redolab_here}; echo "${{COMPREPLY[@]}}"'
    )
    own = {**os.environ, **environment}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path, env=own)
    assert (done.stdout, done.stderr) == ("recovery\n", "")
