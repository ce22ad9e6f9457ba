"""The recorder on a real disk: what it kept makes the disk again, bit by bit, and every flush is there."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from redolab.disks.disk_model import DiskModel, built_disk_model
from redolab.disks.file_systems import MADE_BY
from redolab.disks.loop import make_file_system, mounted
from redolab.errors import LabError
from redolab.lab import Lab
from redolab.machine import processes
from redolab.machine.processes import Command
from redolab.powercut.images import disk_image, share_blocks
from redolab.powercut.recorded import CHECKS, cut_room
from redolab.powercut.recording import DiskEvent, Recording, read_recording
from redolab.powercut.states import History, PowerCut, Survivors
from redolab.units import MIB
from tests.powercut.tracing import traced

pytestmark = pytest.mark.server

_SYNCED = 200
_SIZE = 512 * MIB
_SECTOR = 512
_SECTORS = _SIZE // _SECTOR


@pytest.fixture
def room(lab: Lab) -> Iterator[Path]:
    if not processes.is_root():
        pytest.skip("mounts need root")
    with cut_room(lab) as made:
        yield made


@contextmanager
def recorded(lab: Lab, room: Path, file_system: str, *, volatile: bool = True) -> Iterator[Path]:
    """While in it: a mounted disk that is recorded."""
    make_file_system(room / "disk", _SIZE, MADE_BY[file_system])
    share_blocks(room / "disk", room / "base")
    (room / "recording").mkdir()
    serving = DiskModel.serving(
        built_disk_model(lab), room / "disk", room / "model", [f"recording={room / 'recording'}"], room / "log"
    )
    with serving as model, mounted(model.file, room / "mounted") as device, device.as_volatile(volatile):
        yield room / "mounted"


def _change(folder: Path) -> None:
    """Writes of every kind: buffered, synced, past the page cache, over one another, removed, punched out."""
    for number in range(20):
        (folder / f"file-{number}").write_bytes(os.urandom(300_000))
    with (folder / "file-3").open("r+b") as file:
        for place in range(0, 200_000, 7000):
            file.seek(place)
            file.write(os.urandom(5000))
            file.flush()
            os.fdatasync(file.fileno())
    for number in range(5, 15):
        (folder / f"file-{number}").unlink()
    processes.run(Command(["fallocate", "--punch-hole", "--offset=4096", "--length=65536", str(folder / "file-1")]))
    processes.run(Command(["sync", "--file-system", str(folder)]))
    processes.run(Command(["fstrim", str(folder)]), check=False)


@pytest.mark.parametrize("file_system", list(CHECKS))
def test_all_that_was_kept_makes_the_disk_again(lab: Lab, room: Path, file_system: str) -> None:
    with recorded(lab, room, file_system) as folder:
        _change(folder)
    recording = read_recording(room / "recording")
    history = History(recording)
    cut = PowerCut(place=recording.places, survivors=Survivors.ALL)
    with disk_image(history, history.state(cut), room / "base", room / "recording", room / "made") as made:
        assert _same(made, room / "disk")
    # Cleanly unmounted, so that nothing that the file system asked for is at risk but what it never flushed.
    assert len(recording.changes) > 50
    assert not recording.failed.any()


def _same(one: Path, other: Path) -> bool:
    return subprocess.run(["cmp", "--silent", str(one), str(other)], check=False).returncode == 0


def test_states_in_the_middle_mount_and_are_whole_file_systems(lab: Lab, room: Path) -> None:
    with recorded(lab, room, "xfs") as folder:
        _change(folder)
    recording = read_recording(room / "recording")
    history = History(recording)
    hashes = set()
    for number, kind in enumerate(Survivors):
        if kind is Survivors.TORN:
            continue
        cut = PowerCut(place=recording.places * (number + 1) // 8, survivors=kind, seed=number)
        state = history.state(cut)
        hashes.add(state.hash)
        with disk_image(history, state, room / "base", room / "recording", room / "made") as made:
            with mounted(made, room / "state", "noatime,nouuid", direct=False):
                assert (room / "state").is_dir()
            # After the journal was replayed, by the mount.
            checked = subprocess.run(["xfs_repair", "-n", str(made)], check=False, capture_output=True, text=True)
            assert checked.returncode == 0, checked.stderr
    assert len(hashes) > 3


@pytest.mark.parametrize("file_system", list(CHECKS))
def test_what_the_kernel_sent_to_the_device_is_what_was_kept(lab: Lab, room: Path, file_system: str) -> None:
    (room / "tracing").mkdir()
    with traced(room / "tracing") as trace, recorded(lab, room, file_system) as folder:
        device = f"{os.major(folder.stat().st_dev)}:{os.minor(folder.stat().st_dev)}"
        _change(folder)
    recording = read_recording(room / "recording")
    sent = [each for each in trace.issued if each.device == device]
    assert len(sent) > 50
    # A request may reach the disk in parts: compared is how often each sector was written, and how often zeroed or trimmed.
    for events in ({DiskEvent.WRITE}, {DiskEvent.ZERO, DiskEvent.TRIM}):
        of_kernel, kept = np.zeros(_SECTORS, dtype=int), np.zeros(_SECTORS, dtype=int)
        for each in sent:
            if each.event in events:
                of_kernel[each.first : each.first + each.count] += 1
        for number in recording.changes.tolist():
            if recording.event[number] in events:
                first = recording.offset[number] // _SECTOR
                kept[first : first + recording.length[number] // _SECTOR] += 1
        assert (of_kernel != kept).sum() == 0
        assert of_kernel.sum() > 0
    # The loop device syncs its file once as it is attached (`loop_configure()`), before there is a device to send anything to.
    attached = int(recording.event[0] == DiskEvent.FLUSH)
    assert sum(each.event is DiskEvent.FLUSH for each in sent) == _flushes(recording) - attached


def _flushes(recording: Recording) -> int:
    return int((recording.event == DiskEvent.FLUSH).sum())


@pytest.mark.parametrize("flag", [0, os.O_DSYNC])
def test_every_synced_write_has_its_flush(lab: Lab, room: Path, flag: int) -> None:
    with recorded(lab, room, "xfs") as folder:
        (folder / "file").write_bytes(bytes(MIB))
        processes.run(Command(["sync", "--file-system", str(folder)]))
        before = _now()
        file = os.open(folder / "file", os.O_WRONLY | flag)
        for number in range(_SYNCED):
            os.pwrite(file, os.urandom(4096), 4096 * number)
            if not flag:
                os.fdatasync(file)
        os.close(file)
        after = _now()
    recording = read_recording(room / "recording")
    between = [
        number for number in recording.flushes.tolist() if before <= recording.times[recording.asked[number]] <= after
    ]
    assert len(between) >= _SYNCED
    assert _flushes(recording) >= len(between)


def test_a_disk_without_a_volatile_cache_is_sent_no_flush_and_the_next_one_is(lab: Lab, room: Path) -> None:
    found = []
    for number, volatile in enumerate((False, True)):
        part = room / str(number)
        part.mkdir()
        with recorded(lab, part, "xfs", volatile=volatile) as folder:
            before = _now()
            for place in range(20):
                (folder / f"file-{place}").write_bytes(os.urandom(4096))
                processes.run(Command(["sync", str(folder / f"file-{place}")]))
            after = _now()
        recording = read_recording(part / "recording")
        asked = recording.times[recording.asked[recording.flushes]]
        found.append(int(((asked >= before) & (asked <= after)).sum()))
    assert found[0] == 0
    assert found[1] >= 20


def _now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def test_a_recording_that_ends_too_soon_is_refused(tmp_path: Path) -> None:
    (tmp_path / "events").write_bytes(b"x" * 100)
    (tmp_path / "data").write_bytes(b"")
    with pytest.raises(LabError):
        read_recording(tmp_path)
    with pytest.raises(LabError):
        read_recording(tmp_path / "none")
