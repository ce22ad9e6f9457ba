"""Programs, files, copies and clocks of this machine."""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from redolab.clock import now
from redolab.disks.loop import make_file_system, mounted
from redolab.errorlog.files import arrivals_of, read_stamped_log
from redolab.errors import CommandFailed, DiskFull, LabError
from redolab.machine import copies, files, processes
from redolab.machine.description import cpu_name
from redolab.machine.neighbours import neighbours
from redolab.machine.processes import Command, ProcessIdentity
from redolab.units import MIB


def test_a_program_is_run_to_its_end_and_one_that_fails_or_is_missing_is_an_error() -> None:
    output = processes.run(Command(["sh", "-c", "cat; echo $WORD >&2; pwd"], Path("/usr"), {"WORD": "said"}, b"fed\n"))
    assert (output.status, output.out, output.err) == (0, "fed\n/usr\n", "said\n")
    assert processes.run(Command(["sh", "-c", "exit 3"]), check=False).status == 3
    with pytest.raises(CommandFailed) as error:
        processes.run(Command(["sh", "-c", "echo why; exit 3"]))
    assert error.value.details == ("why",)
    with pytest.raises(CommandFailed):
        processes.run(Command(["no-such-program"]))


def test_lines_are_stamped_as_they_arrive_and_stamps_are_kept_beside_the_log(tmp_path: Path) -> None:
    began, log = now().monotonic, tmp_path / "log"
    words = Command(["sh", "-c", "echo one; sleep 0.3; printf 'two\\nrest'"])
    process = processes.start(words, log, arrivals=arrivals_of(log))
    lines = list(process.lines(began + 30))
    assert process.wait(5) == 0
    assert log.read_bytes() == b"one\ntwo\nrest"
    for read in (lines, list(read_stamped_log(log))):
        assert [line.text for line in read] == ["one", "two", "rest"]
        arrivals = [line.arrival for line in read if line.arrival is not None]
        assert arrivals == sorted(arrivals)
        assert arrivals[1] - arrivals[0] == pytest.approx(0.3, abs=0.15)
    assert began < (lines[0].arrival or 0.0)


def test_waiting_for_lines_ends_at_its_deadline(tmp_path: Path) -> None:
    process = processes.start(Command(["sleep", "60"]), tmp_path / "log")
    began = now().monotonic
    assert list(process.lines(began + 0.1)) == []
    assert now().monotonic - began < 5
    assert process.stop() == -signal.SIGTERM


def test_stop_kills_what_does_not_listen(tmp_path: Path) -> None:
    process = processes.start(
        Command(["sh", "-c", "trap '' TERM; echo set; while :; do sleep 0.05; done"]), tmp_path / "log"
    )
    assert next(process.lines(now().monotonic + 10)).text == "set"
    assert process.stop(seconds=0.2) == -signal.SIGKILL
    assert process.stop() == -signal.SIGKILL


def test_only_exactly_the_known_process_is_killed(tmp_path: Path) -> None:
    process = processes.start(Command(["sleep", "60"]), tmp_path / "log")
    known = process.identity
    another = ProcessIdentity(known.pid, known.started - 100)
    assert not processes.kill(another)
    assert processes.kill(known)
    assert process.wait(5) == -signal.SIGKILL
    assert not processes.kill(known)


def test_an_interrupted_write_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    files.write_whole(tmp_path / "file", b"first")
    monkeypatch.setattr("os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_whole(tmp_path / "file", b"second")
    assert files.names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"first"


def test_a_copy_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed):
        copies.copy_folder(tmp_path / "nowhere", tmp_path / "to")
    assert not (tmp_path / "to").exists()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system in memory that holds 8 MiB."""
    if not processes.is_root():
        pytest.skip("mounting a small file system needs root")
    folder = tmp_path / "small"
    folder.mkdir()
    processes.run(Command(["mount", "-t", "tmpfs", "-o", "size=8M", "tmpfs", str(folder)]))
    yield folder
    processes.run(Command(["umount", str(folder)]))


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A folder of 32 MiB."""
    files.write_whole(tmp_path / "large/file", os.urandom(32 * MIB))
    return tmp_path / "large"


def test_a_full_disk_is_named(small: Path, large: Path) -> None:
    with pytest.raises(DiskFull):
        copies.copy_folder(large, small / "copy")
    with pytest.raises(DiskFull):
        files.write_whole(small / "file", bytes(32 * MIB))
    assert files.names(small) == []


def test_a_copy_that_does_not_reach_the_disk_is_none(small: Path, large: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    # Its file has no room for what the page cache takes.
    make_file_system(small / "disk", 64 * MIB, ["mkfs.ext4", "-q", "-F", "-O", "^has_journal"])
    with mounted(small / "disk", disk, direct=False), pytest.raises(LabError):
        copies.copy_folder(large, disk / "copy")


@pytest.mark.parametrize(
    ("cpuinfo", "name"),
    [
        ("processor\t: 0\nmodel\t\t: 106\nmodel name\t: Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz\n",
         "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz"),
        ("processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\n"
         "processor\t: 1\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
         "aarch64, CPU implementer 0x41, CPU part 0xd0c, QEMU virt"),
        ("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n",
         "aarch64, CPU implementer 0x41, CPU part 0xd40, QEMU virt"),
        ("", "aarch64, QEMU virt"),
    ],
)  # fmt: skip
def test_cpus_without_a_model_name_are_told_apart(cpuinfo: str, name: str) -> None:
    assert cpu_name(cpuinfo, "aarch64", "QEMU virt") == name


def test_a_program_that_takes_too_long_goes_with_all_that_it_started() -> None:
    with pytest.raises(CommandFailed):
        processes.run(Command(["sh", "-c", "sleep 4242.5 & sleep 4242.5"]), seconds=0.3)
    deadline = time.monotonic() + 5
    while any("4242.5" in (each.info["cmdline"] or []) for each in psutil.process_iter(["cmdline"])):
        assert time.monotonic() < deadline, "what it had started outlived it"
        time.sleep(0.02)


def test_a_program_that_the_lab_may_not_kill_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that `sudo` runs belong to root."""

    def refused(_group: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr("redolab.machine.processes.os.killpg", refused)
    began = time.monotonic()
    with pytest.raises(CommandFailed):
        processes.run(Command(["sleep", "1"]), seconds=0.1)
    assert time.monotonic() - began >= 1


def test_a_line_that_the_lab_put_into_a_log_has_no_arrival(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\n[redolab left out 9 lines that say what stands above already]\ntwo\n")
    arrivals_of(log).write_text("0.5\n\n0.7\n")
    assert [line.arrival for line in read_stamped_log(log)] == [0.5, None, 0.7]


def test_processor_time_is_told_of_the_busiest_thread_too(tmp_path: Path) -> None:
    code = "import threading, time\ndef spin():\n  end = time.thread_time() + 0.4\n  while time.thread_time() < end: pass\n"
    code += "each = [threading.Thread(target=spin) for _ in range(2)]\n[t.start() for t in each]\n[t.join() for t in each]\n"
    code += "print('spun', flush=True); spin(); print('again', flush=True); time.sleep(60)"
    process = processes.start(Command([sys.executable, "-c", code]), tmp_path / "log")
    assert [line.text for line in itertools.islice(process.lines(now().monotonic + 60), 2)] == ["spun", "again"]
    use = processes.cpu_use(process.identity)
    process.stop()
    assert use is not None
    assert use.busiest_thread is not None
    # Two threads that have ended count for the whole, and not for the busiest that there is.
    assert use.seconds >= 1.1
    assert 0.35 <= use.busiest_thread <= use.seconds - 0.7
    assert processes.cpu_use(process.identity) is None


def test_memory_that_was_given_back_still_counts_for_the_peak(tmp_path: Path) -> None:
    code = f"block = bytearray({64 * MIB}); del block; print('freed', flush=True); import time; time.sleep(60)"
    process = processes.start(Command([sys.executable, "-c", code]), tmp_path / "log")
    assert [line.text for line in itertools.islice(process.lines(now().monotonic + 60), 1)] == ["freed"]
    peak = processes.peak_memory(process.identity)
    process.stop()
    assert peak is not None
    assert 64 * MIB < peak < 256 * MIB
    assert processes.peak_memory(process.identity) is None


@pytest.mark.parametrize(("name", "is_one"), [("clickhouse-server", True), ("ora_pmon_XE", True), ("mysqldump", False)])
def test_database_servers_of_others_are_seen(name: str, is_one: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    process = SimpleNamespace(pid=7, info={"name": name, "ppid": 1})
    monkeypatch.setattr("psutil.process_iter", lambda _: [process])
    assert [each.pid for each in neighbours()] == [7] * is_one
