"""Facts about a server from /proc: asked about a process that has a server's name, and files and a socket as one."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from redolab.errors import InvalidInput
from redolab.watch.following.binary_log_course import BinaryLogFile
from redolab.watch.following.server_process import ServerProcess, option_in, resident_redo, servers_here

PAGES = 64
AS_A_SERVER = f"""
import ctypes, mmap, socket, sys
ctypes.CDLL(None).prctl(15, b"mysqld", 0, 0, 0)
redo = open("ib_logfile0", "r+b")
held = mmap.mmap(redo.fileno(), 0)
read = sum(held[page * mmap.PAGESIZE] for page in range({PAGES}))
logged = open("binlog.000007", "rb")
aria = open("aria_log.00000001", "rb")
logged.seek(100)
at = socket.socket(socket.AF_UNIX)
at.bind("mysqld.sock")
for line in sys.stdin:
    at.listen()
    print("listens", file=sys.stderr, flush=True)
"""


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@contextmanager
def a_server(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process called mysqld at work in a folder, which listens once it is told to. Its log is `error.log`."""
    (folder / "ib_logfile0").write_bytes(bytes(PAGES * 4096))
    (folder / "binlog.000007").write_bytes(bytes(1000))
    (folder / "aria_log.00000001").write_bytes(bytes(2000))
    command = [sys.executable, "-c", AS_A_SERVER, f"--log_error={folder / 'named.log'}"]
    with (
        (folder / "error.log").open("w") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log, text=True, cwd=folder) as process,
    ):
        wait_until((folder / "mysqld.sock").exists)
        yield process
        process.kill()


def test_a_server_is_seen_by_its_files_its_reads_and_its_socket(tmp_path: Path) -> None:
    with a_server(tmp_path) as process:
        seen = ServerProcess(process.pid)
        known = psutil.Process(process.pid)
        assert seen.name == known.name() == "mysqld"
        assert seen.redo_folder.resolve() == tmp_path
        assert seen.writes_to(tmp_path / "error.log")
        assert seen.error_log is not None
        assert seen.error_log.resolve() == tmp_path / "error.log"
        (tmp_path / "named.log").touch()
        assert seen.error_log.name == "named.log"
        assert process.pid in [each.pid for each in servers_here()]

        first = seen.look(1.0)
        assert first is not None
        times = known.cpu_times()
        assert first.cpu_seconds == pytest.approx(times.user + times.system, abs=0.1)
        assert first.mapped == PAGES * 4096
        assert first.called is not None
        assert first.binary_log == BinaryLogFile(position=100, size=1000)
        assert not first.listens
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        wait_until(lambda: (look := seen.look(2.0)) is not None and look.listens)

        process.kill()
        # Nobody has asked for its exit status yet: it is a zombie.
        wait_until(lambda: not seen.is_running)
        assert seen.look(3.0) is None
    with pytest.raises(InvalidInput):
        ServerProcess(process.pid)


def test_only_redo_log_files_in_memory_count() -> None:
    smaps = (
        "7f00-7f10 rw-s 00000000 08:01 12 /var/lib/mysql/ib_logfile0\nSize: 64 kB\nRss: 48 kB\nVmFlags: rd wr\n"
        "7f10-7f20 r--p 00000000 08:01 13 /usr/lib/libc.so.6\nRss: 100 kB\n"
        "7f20-7f30 rw-s 00000000 08:01 14 /var/lib/mysql/#innodb_redo/#ib_redo7\nRss: 16 kB\n"
        "7f30-7f40 rw-s 00000000 08:01 15 /var/lib/mysql/ib_logfile1 (deleted)\nRss: 16 kB\n"
    )
    assert resident_redo(smaps) == 64 * 1024


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (["--log-error=/a", "--log_error=/b"], "/b"),
        (["--log-error=/a", "--log-error", "/b", "--port=1"], "/b"),
        (["--log_error=/a=b", "--log-error-verbosity=3"], "/a=b"),
        (["--log-error=/a", "--log-error"], None),
        (["--log-error=/a", "--log-error", "--port=1"], None),
        (["mysqld", "--port=1"], None),
    ],
)
def test_an_option_of_a_server_is_what_the_server_takes_it_for(arguments: Sequence[str], value: str | None) -> None:
    assert option_in(arguments, "log-error") == value
