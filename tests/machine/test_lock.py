"""One lab at a time: on one machine, and on one folder from wherever it is seen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from redolab.errors import Busy
from redolab.machine.lock import alone, is_taken, taken
from redolab.project import PROJECT

TRY = "from pathlib import Path; from redolab.machine.lock import alone\nwith alone(Path({folder!r})): print('got it')"


def other_lab(folder: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """A lab of another process that wants a folder."""
    command = [*before, sys.executable, "-c", TRY.format(folder=str(folder))]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=PROJECT.root)


def test_a_second_lab_on_the_machine_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    with alone(tmp_path / "one"):
        refused = other_lab(tmp_path / "another")
        assert f"another redolab run (process {os.getpid()}) has this machine" in refused.stderr
    assert other_lab(tmp_path / "another").stdout == "got it\n"


def test_a_second_lab_on_a_folder_is_refused_in_another_network_namespace_too(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("a network namespace of one's own needs root")
    with alone(tmp_path):
        refused = other_lab(tmp_path, "unshare", "--net")
        assert f"another redolab run (process {os.getpid()} on " in refused.stderr
        assert f"has the lab in {tmp_path}" in refused.stderr
        assert other_lab(tmp_path / "another", "unshare", "--net").stdout == "got it\n"
    assert other_lab(tmp_path, "unshare", "--net").stdout == "got it\n"


def test_what_is_taken_is_known_until_its_holder_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert not is_taken(path)
    with taken(path):
        assert is_taken(path)
    assert not is_taken(path)
    # As a SIGKILL of its holder leaves it.
    path.touch()
    assert not is_taken(path)


def test_within_one_process_too(tmp_path: Path) -> None:
    with alone(tmp_path), pytest.raises(Busy), alone(tmp_path):
        pass
