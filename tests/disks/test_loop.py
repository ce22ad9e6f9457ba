from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from redolab.disks.loop import LoopDisk, is_buffered, mounted
from redolab.errors import LabError
from redolab.machine import processes
from redolab.machine.clean_up_journal import Journal
from redolab.machine.facts import RequestQueue
from redolab.machine.processes import Command
from redolab.units import MIB

pytestmark = pytest.mark.server


def loops(folder: Path) -> list[str]:
    """Return the loop devices of files in a folder: other tests may have others."""
    listed = subprocess.run(["losetup", "--all"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if str(folder) in line]


@pytest.fixture
def disk_possible(tmp_path: Path) -> None:
    try:
        with LoopDisk.attached(tmp_path / "trial", 32 * MIB, None):
            pass
    except LabError as error:
        pytest.skip(error.problem)


@pytest.mark.usefixtures("disk_possible")
def test_its_counters_tell_what_reached_it(tmp_path: Path) -> None:
    before = loops(tmp_path)
    with LoopDisk.attached(tmp_path / "disk", 64 * MIB, None) as disk:
        first = disk.device_bytes_written()
        (disk.folder / "file").write_bytes(b"x" * MIB)
        second = disk.device_bytes_written()
        assert MIB <= second - first < MIB + 64 * 1024
        assert disk.device_bytes_written() == second
    assert loops(tmp_path) == before
    assert not (tmp_path / "disk.disk").exists()


@pytest.mark.usefixtures("disk_possible")
def test_what_is_no_file_system_is_refused_with_mounts_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(MIB))
    with pytest.raises(LabError) as refused, mounted(tmp_path / "file", tmp_path / "folder"):
        pass
    assert "wrong fs type" in refused.value.problem
    assert loops(tmp_path) == []


@pytest.mark.usefixtures("disk_possible")
@pytest.mark.alone
def test_a_killed_lab_leaves_no_mount_to_the_next(tmp_path: Path) -> None:
    before = loops(tmp_path)
    journal = Journal(tmp_path / "journal")
    folder = tmp_path / "instance"
    # Entered and never left: as SIGKILL does it.
    left = journal.making(folder, "an instance", mounted=True)
    left.__enter__()
    disk = LoopDisk.attached(folder / "redo", 32 * MIB, None)
    (disk.__enter__().folder / "file").write_text("written")
    assert loops(tmp_path) != before
    assert Journal(tmp_path / "journal").clear() == ["an instance"]
    assert not folder.exists()
    assert loops(tmp_path) == before


@pytest.mark.usefixtures("disk_possible")
def test_a_device_is_treated_like_another_disk(tmp_path: Path) -> None:
    with LoopDisk.attached(tmp_path / "disk", 32 * MIB, None) as disk:
        device = disk.device
        settings = Path("/sys/class/block") / device.name / "queue"

        def found() -> list[str | None]:
            read = [(settings / name).read_text() for name in ("nr_requests", "rotational", "read_ahead_kb")]
            return [device.scheduler(), *read]

        before = found()
        with device.treated_as(RequestQueue(scheduler="mq-deadline", rotational=True, depth=32)):
            assert found() == ["mq-deadline", "64\n", "1\n", "128\n"]
        assert found() == before
        with device.treated_as(RequestQueue(depth=1023)):
            assert found()[:2] == ["none", "128\n"]
        with pytest.raises(LabError), device.treated_as(RequestQueue(scheduler="cfq")):  # type: ignore[arg-type]
            pass
        assert found() == before


def test_without_root_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("redolab.machine.processes.is_root", lambda: False)
    with pytest.raises(LabError), LoopDisk.attached(tmp_path / "disk", 32 * MIB, None):
        pass


@pytest.mark.usefixtures("disk_possible")
def test_a_file_system_without_direct_io_is_noticed(tmp_path: Path) -> None:
    with LoopDisk.attached(tmp_path / "disk", 32 * MIB, None) as disk:
        assert not is_buffered(disk.device)
    memory = tmp_path / "memory"
    memory.mkdir()
    processes.run(Command(["mount", "-t", "ramfs", "ramfs", str(memory)]))
    try:
        with LoopDisk.attached(memory / "disk", 32 * MIB, None) as disk:
            assert is_buffered(disk.device)
    finally:
        processes.run(Command(["umount", str(memory)]))
