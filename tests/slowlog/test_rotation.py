"""Rotating the slow query log, of real servers and as files alone."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from redolab.errors import InvalidInput, LabError
from redolab.lab import Lab
from redolab.project import PROJECT
from redolab.slowlog.log_file import LogFile
from redolab.slowlog.rotation import rename_log
from tests.slowlog.servers import slowlog, users_server
from tests.thorough import mostly_thorough

LOGGED = {"slow_query_log": "1", "long_query_time": "0"}


def old_and_new(data: Path) -> tuple[Path, Path]:
    """Return the logs of a server that was rotated once."""
    new, old = sorted(data.glob("*slow.log*"), key=lambda path: len(path.name))
    return old, new


@pytest.mark.server
@pytest.mark.parametrize("name", mostly_thorough(["mysql-5.7", "mysql-9"]))
def test_nothing_is_lost_and_everything_put_back(lab: Lab, name: str, tmp_path: Path, state: Path) -> None:
    with users_server(lab.server(name), tmp_path / "server", LOGGED) as server:
        before = server.variables()
        server.do("SELECT 'before'")
        with server.instance.connections.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 'connected before'")
            done = slowlog("rotate", *server.arguments, "--wait", "100ms", "-v")
            assert done.returncode == 0, done.stderr
            cursor.execute("SELECT 'after, connected'")
        # A statement is logged after its answer, before the connection's next one.
        server.do("SELECT 'after'", "DO 1")
        assert server.variables() == before
        assert list(state.glob("*.json")) == []
        old, new = old_and_new(tmp_path / "server/data")
        assert "SELECT 'before'" in old.read_text()
        assert "SELECT 'after" not in old.read_text()
        assert "SELECT 'after'" in new.read_text()
        assert "SELECT 'after, connected'" in new.read_text()
        assert "SET GLOBAL" not in old.read_text() + new.read_text()
        assert old.name.rsplit("-", 1)[1].isdigit()

        # As logrotate has it: it renames, and this opens anew.
        printed = slowlog("rotate", *server.arguments, "--logrotate").stdout
        directives = [line.strip() for line in printed.splitlines() if not line.startswith("#")]
        assert not any(line.startswith(("copytruncate", "shred")) for line in directives)
        assert {"rotate 14", "compress", "delaycompress"} <= set(directives)
        # The docs show it in full, for the log of a Debian package.
        shown = (PROJECT.root / "docs/query-logs/rotate.md").read_text().split("```\n")
        assert any(_alike(each) == _alike(printed) for each in shown)
        command = directives[directives.index("postrotate") + 1]
        assert "slowlog rotate --renamed" in command
        new.rename(new.with_name("renamed"))
        renamed = subprocess.run(f"{command} --wait 0s", shell=True, capture_output=True, text=True, check=False)
        assert renamed.returncode == 0, renamed.stderr
        assert new.exists()

        server.do("SET GLOBAL slow_query_log = OFF")
        off = slowlog("rotate", *server.arguments)
        assert (off.returncode, len(off.stderr.splitlines())) == (2, 1)


def _alike(configuration: str) -> str:
    """Return a configuration for logrotate without the values that depend on the server."""
    lines = [line.strip() for line in configuration.splitlines()]
    return "\n".join("of the server" if line.startswith(('"', "create", "su ", "setsid")) else line for line in lines)


@pytest.mark.server
def test_without_a_pause_logging_is_never_changed_and_reload_is_enough(lab: Lab, tmp_path: Path, state: Path) -> None:
    """An account that may not SET GLOBAL rotates: no variable is set, no note is written, no watchdog starts."""
    with users_server(lab.server("mysql-9"), tmp_path / "server", LOGGED) as server:
        server.do("CREATE USER rotates@localhost")
        arguments = ["--socket", str(server.socket), "--user", "rotates"]
        refused = slowlog("rotate", *arguments)
        assert (refused.returncode, "RELOAD" in refused.stderr) == (1, True)
        assert len(list((tmp_path / "server/data").glob("*slow.log*"))) == 1

        server.do("GRANT RELOAD ON *.* TO rotates@localhost", "SELECT 'before'")
        done = slowlog("rotate", *arguments, "-v")
        assert done.returncode == 0, done.stderr
        assert not list(state.glob("rotate-*"))
        # A statement is logged after its answer, before the connection's next one.
        server.do("SELECT 'after'", "DO 1")
        old, new = old_and_new(tmp_path / "server/data")
        assert "SELECT 'before'" in old.read_text()
        assert "SELECT 'after'" in new.read_text()
        assert "SET GLOBAL" not in done.stdout + old.read_text() + new.read_text()


@pytest.mark.parametrize("name", ["slow.log", "slow[1].log", "slow*.log"])
def test_only_the_log_itself_is_synced_whatever_its_name_and_whatever_lies_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    log = tmp_path / name
    old = tmp_path / f"{name}-20261127000000"
    old.write_text("SELECT 1;\n")
    log.touch()
    # Another command's capture, and a log that a pattern would take for this one.
    for beside in (f"{name}-full-20261127000001", "slow1.log-20261127000002", "slow2.log"):
        (tmp_path / beside).write_text("SELECT 2;\n")
    (tmp_path / f"{name}.1").symlink_to("gone")
    synced = []
    monkeypatch.setattr("os.fdatasync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    LogFile(str(log), log).sync()
    assert synced == [old.stat().st_ino]


def test_a_log_that_goes_meanwhile_ends_no_capture(tmp_path: Path) -> None:
    """Another process makes and removes files all the time, as logrotate does."""
    log = tmp_path / "slow.log"
    rotates = (
        "import os, sys\n"
        "while True:\n"
        "    for number in range(20):\n"
        "        with open(f'{sys.argv[1]}.{number}', 'w') as file:\n"
        "            file.write('SELECT 1;')\n"
        "        os.unlink(f'{sys.argv[1]}.{number}')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", rotates, str(log)])
    try:
        until = time.monotonic() + 2
        while time.monotonic() < until:
            LogFile(str(log), log).sync()
    finally:
        process.kill()
        process.wait()


def test_a_server_that_goes_is_an_error_of_the_labs(tmp_path: Path) -> None:
    gone = tmp_path / "gone" / "slow.log"
    with pytest.raises(LabError) as raised:
        LogFile(str(gone), gone).free_share()
    assert str(gone) in raised.value.problem


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_the_new_log_has_the_owner_of_the_old_one(tmp_path: Path) -> None:
    """Without the file a server that may not make one would switch its log off silently."""
    log, old = tmp_path / "slow.log", tmp_path / "slow.log-1"
    log.write_text("SELECT 1;\n")
    os.chown(log, 12_345, 12_346)
    log.chmod(0o4640)
    rename_log(log, old)
    assert old.read_text() == "SELECT 1;\n"
    made = log.stat()
    assert (made.st_size, made.st_uid, made.st_gid, stat.S_IMODE(made.st_mode)) == (0, 12_345, 12_346, 0o640)


def test_a_log_stays_in_its_place_where_no_new_one_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, old = tmp_path / "slow.log", tmp_path / "slow.log-1"
    log.write_text("SELECT 1;\n")

    def full(path: Path, *_: int) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", full)
        with pytest.raises(OSError, match=str(log)):
            rename_log(log, old)
    assert log.read_text() == "SELECT 1;\n"
    assert not old.exists()


def test_a_link_that_was_put_in_the_logs_place_is_not_rotated(tmp_path: Path) -> None:
    target, log = tmp_path / "target", tmp_path / "slow.log"
    target.touch()
    log.symlink_to(target)
    with pytest.raises(InvalidInput):
        rename_log(log, tmp_path / "slow.log-1")
    assert log.is_symlink()
