"""One lab at a time: on one machine, and on one folder from wherever it is seen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redolab.errors import Busy
from redolab.machine.lock import alone, is_locked, locked
from redolab.project import PROJECT

HOLD = """
import signal
import sys
from pathlib import Path
from redolab.machine.lock import locked
# A shell starts what runs in its background with SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
with locked(Path(sys.argv[1])):
    print("inside", flush=True)
    sys.stdin.readline()
"""
TRY = "from pathlib import Path; from redolab.machine.lock import alone\nwith alone(Path({folder!r})): print('got it')"


def other_lab(folder: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """A lab of another process that wants a folder."""
    command = [*before, sys.executable, "-c", TRY.format(folder=str(folder))]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=PROJECT.root)


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """While in it: another process that wants a lock, and keeps it until it is told to leave."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=PROJECT.root
    ) as process:
        # One that waits opens the file after the one that was started before it.
        wait_until_asking(process, path)
        try:
            yield process
        finally:
            process.kill()


def is_inside(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    return process.stdout.readline() == "inside\n"


def wait_until_asking(process: subprocess.Popen[str], path: Path) -> None:
    deadline = time.monotonic() + 20
    while not any(has_open(each, path) for each in Path(f"/proc/{process.pid}/fd").iterdir()):
        assert time.monotonic() < deadline, "it has not opened the file"
        time.sleep(0.01)


def has_open(descriptor: Path, path: Path) -> bool:
    try:
        return descriptor.readlink() == path
    except FileNotFoundError:
        return False


def leave(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    process.wait(10)


def test_a_second_lab_on_the_machine_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    with alone(tmp_path / "one"):
        refused = other_lab(tmp_path / "another")
        assert f"(process {os.getpid()})" in refused.stderr
    assert other_lab(tmp_path / "another").stdout == "got it\n"


def test_a_second_lab_on_a_folder_is_refused_in_another_network_namespace_too(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("a network namespace of one's own needs root")
    with alone(tmp_path):
        refused = other_lab(tmp_path, "unshare", "--net")
        assert f"(process {os.getpid()} on " in refused.stderr
        assert str(tmp_path) in refused.stderr
        assert other_lab(tmp_path / "another", "unshare", "--net").stdout == "got it\n"
    assert other_lab(tmp_path, "unshare", "--net").stdout == "got it\n"


def test_of_three_processes_one_has_the_lock_also_when_its_holder_removes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with holder(path) as first, holder(path) as second:
        assert is_inside(first)
        path.unlink()
        leave(first)
        assert is_inside(second)
        with pytest.raises(BlockingIOError), locked(path, patience=0.2):
            pass
        leave(second)
        with locked(path, patience=0):
            pass


def test_one_that_stops_waiting_leaves_the_lock_to_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with holder(path) as first, holder(path) as second:
        assert is_inside(first)
        second.send_signal(signal.SIGINT)
        second.wait(10)
        assert is_locked(path)
        with pytest.raises(BlockingIOError), locked(path, patience=0):
            pass


def test_within_one_process_too(tmp_path: Path) -> None:
    with alone(tmp_path), pytest.raises(Busy), alone(tmp_path):
        pass
