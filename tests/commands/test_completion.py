"""Completion in a shell, by the protocol that shells speak: what is there is offered, nothing is made, nothing is complained of."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from redolab.project import PROJECT
from redolab.runs.declared import declared_factors
from redolab.runs.experiment import load_experiment
from redolab.runs.experiment_folders import experiment_names
from redolab.runs.factors import factors_of
from redolab.runs.pages import pages
from redolab.servers.catalogue import server_catalogue
from redolab.states.images import ImageStore
from redolab.storage.catalogue import storage_catalogue
from redolab.upkeep import known_names
from redolab.workloads.catalogue import workload_catalogue
from tests.command import redolab

TOY = Path(__file__).parents[1] / "toy"


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """A user's own things, none of which is there yet."""
    names = {
        "LAB": "lab",
        "RUNS": "runs",
        "SERVERS": "servers.json",
        "MACHINES": "machines.json",
        "STORAGE": "own.toml",
    }
    return {f"REDOLAB_{name}": str(tmp_path / path) for name, path in names.items()}


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


def test_verbs_experiments_and_names_are_completed(environment: Mapping[str, str]) -> None:
    assert completed("redolab sh", environment) == ["show"]
    assert completed("redolab run rec", environment) == ["recovery"]
    assert completed("redolab make-experiment inf", environment) == ["inflation"]
    assert completed("redolab results st", environment) == ["storage", "stuck"]
    assert completed("redolab storage check native h", environment) == ["hdd", "hdd-raid10"]
    assert completed("redolab server fetch mysql-5", environment) == ["mysql-5.5", "mysql-5.6", "mysql-5.7"]
    assert completed("redolab predict --workload bulk", environment) == ["bulk-update"]
    assert completed("redolab completion z", environment) == ["zsh"]


def test_options_of_an_experiment_and_their_values_are_completed(environment: Mapping[str, str]) -> None:
    assert completed("redolab run recovery --log", environment) == ["--log-size"]
    assert completed("redolab run recovery --server mysql-8", environment) == ["mysql-8.0"]
    # Of a list only its last part is open, and nothing is offered twice.
    assert completed("redolab run recovery --server mysql-9,mariadb-11.8,mariadb-11", environment) == [
        "mysql-9,mariadb-11.8,mariadb-11.4"
    ]
    assert "cloud-ssd,hdd" in completed("redolab run recovery --plan --storage cloud-ssd,", environment)
    assert completed("redolab run survey --machine v", environment) == ["vagrant"]


def test_what_the_user_has_is_completed(environment: Mapping[str, str]) -> None:
    assert completed("redolab show ", environment) == []
    for name in ("20260101-100000-recovery", "20260102-100000-stuck"):
        run = Path(environment["REDOLAB_RUNS"]) / name
        run.mkdir(parents=True)
        (run / "run.json").write_text("{}")
    (run.parent / "20260103-not-a-run").mkdir()
    images = Path(environment["REDOLAB_LAB"]) / "storage/native/images"
    (images / "mysql-9-1G").mkdir(parents=True)
    Path(environment["REDOLAB_SERVERS"]).write_text('{"mine": {}}')
    Path(environment["REDOLAB_MACHINES"]).write_text('["ssh:db-spare"]')
    Path(environment["REDOLAB_STORAGE"]).write_text("[mydisk]\n")

    assert completed("redolab show ", environment) == ["latest", "20260102-100000-stuck", "20260101-100000-recovery"]
    assert completed("redolab fit 20260102-100000-stuck 2", environment) == ["20260101-100000-recovery"]
    assert completed("redolab run recovery --resume 20260102", environment) == ["20260102-100000-stuck"]
    assert completed("redolab recover my", environment) == ["mysql-9-1G"]
    assert completed("redolab rm my", environment) == ["mysql-9-1G"]
    assert completed("redolab server rm ", environment) == ["mine"]
    assert completed("redolab run recovery --server mi", environment) == ["mine"]
    assert completed("redolab storage check my", environment) == ["mydisk"]
    assert completed("redolab attach ", environment) == ["ssh:db-spare"]


def test_what_is_broken_or_unknown_has_no_completions_and_no_errors(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    for name in ("SERVERS", "MACHINES", "STORAGE"):
        Path(environment[f"REDOLAB_{name}"]).write_text("{ half")
    assert completed("redolab server rm ", environment) == []
    assert completed("redolab attach ", environment) == []
    assert "native" in completed("redolab storage check ", environment)
    assert completed("redolab nonsense x", environment) == []
    assert completed("redolab run nonsense --x", environment) == []
    broken = tmp_path / "experiments/broken"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("class Factors(Factors:\n")
    own = {**environment, "REDOLAB_EXPERIMENTS": str(broken.parent)}
    assert completed("redolab run bro", own) == ["broken"]
    assert completed("redolab run broken --x", own) == []


def test_it_is_quick(environment: Mapping[str, str]) -> None:
    """In time of the processor, as tests run two at a time."""

    def spent() -> float:
        used = os.times()
        return used.children_user + used.children_system

    took = []
    for _ in range(3):
        before = spent()
        completed("redolab run recovery --server mysql-", environment)
        took.append(spent() - before)
    assert min(took) < 0.6


def test_the_source_of_every_experiment_declares_what_the_experiment_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDOLAB_EXPERIMENTS", str(TOY))
    for name in experiment_names():
        declared = {(each.name, each.switch) for each in declared_factors(name)}
        assert declared == {(each.name, each.switch) for each in factors_of(load_experiment(name).factors())}, name


def test_the_names_are_those_that_the_catalogues_have(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REDOLAB_SERVERS", str(tmp_path / "servers.json"))
    monkeypatch.setenv("REDOLAB_STORAGE", str(tmp_path / "storage.toml"))
    monkeypatch.setenv("REDOLAB_LAB", str(tmp_path / "lab"))
    assert known_names.servers() == server_catalogue().names()
    assert known_names.storages() == storage_catalogue().names()
    assert known_names.workloads() == workload_catalogue().names()
    assert known_names.pages() == sorted(pages())
    folder = ImageStore(PROJECT.lab / "storage/native").folder("kept")
    folder.mkdir(parents=True)
    assert known_names.images() == ["kept"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_given_its_script(shell: str) -> None:
    done = redolab("completion", shell)
    assert done.returncode == 0
    assert f"_REDOLAB_COMPLETE={shell}_complete" in done.stdout
    assert 'string split ","' not in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True)


def test_bash_completes_with_its_script(environment: Mapping[str, str], tmp_path: Path) -> None:
    redolab_here = Path(sys.executable).with_name("redolab")
    script = (
        f'eval "$({redolab_here} completion bash)"; COMP_WORDS=({redolab_here} run recovery --server mysql-9,mysql-8); '
        f'COMP_CWORD=4; _redolab_completion {redolab_here}; echo "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, **environment},
    )
    assert (done.stdout, done.stderr) == ("mysql-9,mysql-8.0\n", "")


def test_an_unknown_shell_is_refused_in_a_line() -> None:
    done = redolab("completion", "tcsh")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "redolab: Invalid value for 'SHELL': 'tcsh' is not one of 'bash', 'zsh', 'fish'.\n"
