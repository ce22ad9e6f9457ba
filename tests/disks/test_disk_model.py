"""The disk model as a program: what is written to it is in the file, whatever disk it is and whatever happens to it."""

from __future__ import annotations

import errno
import mmap
import os
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from redolab.disks.catalogue import storage_catalogue
from redolab.disks.disk_model import DiskModel, built_disk_model
from redolab.disks.profiles import ModelledDisk, SpinningDisk
from redolab.errors import LabError
from redolab.lab import Lab
from redolab.machine import processes
from redolab.project import PROJECT
from redolab.units import MIB
from tests.small_disk import small_disk
from tests.thorough import mostly_thorough

pytestmark = pytest.mark.server

MODELLED = [name for name, profile in storage_catalogue().items() if isinstance(profile, ModelledDisk)]


@pytest.fixture
def program(lab: Lab) -> Path:
    try:
        return built_disk_model(lab)
    except LabError as error:
        pytest.skip(error.problem)


@pytest.fixture
def sanitized(program: Path) -> Path:
    build = PROJECT.lab / "tools" / f"{program.parent.name}-sanitized"
    subprocess.run(
        ["make", "--silent", f"--directory={PROJECT.disk_model}", f"BUILD={build}", f"{build}/diskmodel-sanitized"],
        check=True,
    )
    return build / "diskmodel-sanitized"


@contextmanager
def serving(program: Path, folder: Path, parameters: list[str], size: int = 256 * MIB) -> Iterator[DiskModel]:
    file = folder / "file"
    with file.open("wb") as made:
        made.truncate(size)
    with DiskModel.serving(program, file, folder / "model", parameters, folder / "model.log") as model:
        yield model


@contextmanager
def opened(model: DiskModel) -> Iterator[int]:
    """While in it: the model's disk, open for writes past the page cache."""
    disk = os.open(model.file, os.O_RDWR | os.O_DIRECT)
    try:
        yield disk
    finally:
        os.close(disk)


def page(byte: int = 0, size: int = 4096) -> mmap.mmap:
    """Memory that can be written past the page cache."""
    made = mmap.mmap(-1, size)
    made[:] = bytes([byte]) * size
    return made


def test_its_models_in_virtual_time(program: Path) -> None:
    build = program.parent.with_name(f"{program.parent.name}-tests")
    done = subprocess.run(
        ["make", "--silent", f"--directory={PROJECT.disk_model}", f"BUILD={build}", "test"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", mostly_thorough(MODELLED, {"gp3-3000", "hdd"}))
def test_what_was_answered_is_what_is_in_the_file(name: str, sanitized: Path, lab: Lab, tmp_path: Path) -> None:
    lab.tools.require(["fio"], lab.progress)
    fio = lab.tools.get("fio")
    profile = storage_catalogue().get(name)
    assert isinstance(profile, ModelledDisk)
    # What turns takes milliseconds a page: fewer of them.
    size = "16M" if isinstance(profile, SpinningDisk) else "64M"
    with serving(sanitized, tmp_path, profile.parameters()) as model:
        model.tell("limits on")
        verified = subprocess.run(
            [
                str(fio.program), "--name=verify", f"--filename={model.file}", "--rw=randwrite", "--bsrange=512-64k", "--bs_unaligned=0",
                "--blockalign=512", "--direct=1", "--ioengine=libaio", "--iodepth=16", "--numjobs=3", f"--size={size}",
                f"--offset_increment={size}", "--fsync=64", "--verify=crc32c", "--verify_fatal=1", "--output-format=terse",
            ],
            capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, **fio.environment},
        )  # fmt: skip
        status = model.status()
        model.check_running()
    assert verified.returncode == 0, verified.stdout + verified.stderr + (tmp_path / "model.log").read_text()
    assert status.writes > 1000
    assert status.reads > 500
    assert "ERROR" not in (tmp_path / "model.log").read_text()


def test_latency_and_rate_are_those_that_were_asked_for(program: Path, tmp_path: Path) -> None:
    """The bounds are wide, as the machine may be busy; `benchmarks/disk_model.py` measures the disk model."""
    slow = ["kind=flash", "read=20000000", "write=30000000", "flush=40000000", "depth=1", "read_rate=50000000"]
    with serving(program, tmp_path, slow) as model:
        content = os.urandom(16384)
        descriptor = os.open(model.file, os.O_RDWR | os.O_SYNC)
        began = time.monotonic()
        os.pwrite(descriptor, content, 0)
        quick = time.monotonic() - began
        model.tell("limits on")
        began = time.monotonic()
        os.pwrite(descriptor, content, 65536)
        synced = time.monotonic() - began
        os.close(descriptor)
        status = model.status()
    assert quick < 0.06
    assert 0.07 <= synced < 0.5
    assert status.writes >= 1
    assert status.flushes >= 1
    assert status.latency_ns >= 70_000_000
    assert (tmp_path / "file").read_bytes()[65536 : 65536 + 16384] == content


def test_late_is_what_the_client_waits_longer(program: Path, tmp_path: Path) -> None:
    """A file that takes 25 ms, as a disk of 20 ms whose answers have to leave 10 ms earlier: the client waits 15 ms longer."""
    disk = ["kind=flash", "write=0", "flush=0", "depth=64"]
    (tmp_path / "upper").mkdir()
    with serving(program, tmp_path, [*disk, "read=25000000"]) as lower:
        upper = DiskModel.serving(
            program, lower.file, tmp_path / "upper/model", [*disk, "read=20000000"], tmp_path / "upper/model.log"
        )
        with upper as model:
            model.tell("overhead 10000000")
            lower.tell("limits on")
            model.tell("limits on")
            command = ["dd", f"if={model.file}", "of=/dev/null", "bs=16k", "count=10", "iflag=direct"]
            subprocess.run(command, capture_output=True, check=True)
            status = model.status()
    assert status.reads >= 10
    # Less what the gate takes for its waking on this machine.
    assert status.late_ns > status.reads * 11_000_000


def test_it_takes_no_nonsense(program: Path, tmp_path: Path) -> None:
    with serving(program, tmp_path, ["kind=unlimited"]) as model:
        before = model.status()
        for line in ("limits maybe", "overhead -1", "overhead much", "x" * 100):
            with pytest.raises(LabError):
                model.tell(line)
        assert model.status() == before
        with pytest.raises(PermissionError):
            os.truncate(model.file, 0)
        with pytest.raises(OSError, match="new"):
            (model.file.parent / "new").touch()
    for arguments in ([], ["file"], ["nowhere", "."], [str(tmp_path / "file"), str(tmp_path), "kind=cheese"]):
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode in (1, 2)
        assert done.stderr


def test_killed_it_leaves_errors_and_no_hang(program: Path, tmp_path: Path) -> None:
    with serving(program, tmp_path, ["kind=flash", "read=900000000", "write=0", "flush=0", "depth=1"]) as model:
        model.tell("limits on")
        reading = subprocess.Popen(
            ["dd", f"if={model.file}", "of=/dev/null", "bs=16k", "count=100", "iflag=direct"], stderr=subprocess.PIPE
        )
        time.sleep(0.3)
        processes.kill(model.process.identity, signal.SIGKILL)
        assert reading.wait(10) != 0
        reading.communicate()
        deadline = time.monotonic() + 10
        while model.process.wait(0.05) is None:
            assert time.monotonic() < deadline
        with pytest.raises(LabError):
            model.status()
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()


def test_a_backing_disk_that_is_full_is_an_error_and_not_a_lie(program: Path, tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "8M") as small, serving(program, small, ["kind=unlimited"]) as model:
        done = subprocess.run(
            ["dd", "if=/dev/urandom", f"of={model.file}", "bs=1M", "count=32", "conv=notrunc", "oflag=direct"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode != 0
        assert os.strerror(errno.ENOSPC) in done.stderr
        model.check_running()


@pytest.mark.parametrize(("cache", "kept"), [("any", b"a\0"), ("0", b"ab"), ("4096", b"a\0"), ("4095", b"ab")])
def test_a_power_cut_takes_what_was_not_flushed_as_far_as_the_cache_goes(
    sanitized: Path, tmp_path: Path, cache: str, kept: bytes
) -> None:
    with serving(sanitized, tmp_path, [f"volatile={cache}", "kind=unlimited"]) as model, opened(model) as disk:
        os.pwrite(disk, page(ord("a")), 0)
        os.fsync(disk)
        os.pwrite(disk, page(ord("b")), 4096)
        model.tell("cut")
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            os.pwrite(disk, page(), 0)
    content = (tmp_path / "file").read_bytes()
    assert content[0:1] + content[4096:4097] == kept


def test_what_the_cache_refuses_is_not_recorded(sanitized: Path, tmp_path: Path) -> None:
    recording = tmp_path / "recording"
    recording.mkdir()
    parameters = [f"recording={recording}", "volatile=any", "kind=unlimited"]
    with serving(sanitized, tmp_path, parameters) as model, opened(model) as disk:
        os.pwrite(disk, page(), 0)
        model.tell("cut")
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            os.pwrite(disk, page(), 4096)
    # As diskmodel/record.h has them.
    events = struct.iter_unpack("=5q2i", (recording / "events").read_bytes())
    assert [offset for _, _, offset, _, _, event, _ in events if event == 0] == [0]


def test_what_cannot_be_recorded_is_refused_and_the_power_can_still_be_cut(sanitized: Path, tmp_path: Path) -> None:
    parameters = [f"recording={tmp_path / 'recording'}", "volatile=any", "kind=unlimited"]
    with small_disk(tmp_path / "recording", "64K"), serving(sanitized, tmp_path, parameters) as model:
        with opened(model) as disk, pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            os.pwrite(disk, page(size=256 * 1024), 0)
        model.tell("cut")


def test_without_a_volatile_cache_there_is_no_power_to_cut(program: Path, tmp_path: Path) -> None:
    with serving(program, tmp_path, ["kind=unlimited"]) as model, pytest.raises(LabError):
        model.tell("cut")
