"""A real server as the lab runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pymysql
import pytest

from redolab.errors import ServerFailed
from redolab.lab import Lab
from redolab.machine import files, processes
from redolab.machine.device import BlockDevice
from redolab.servers.dialects import SOCKET, InstanceRequest, Purpose, Setting
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, OPTIONS, Instance, prepare_folder
from redolab.servers.sandbox import SERVER_USER
from redolab.units import MIB
from tests.command import unpacked

pytestmark = pytest.mark.server

REQUEST = InstanceRequest(purpose=Purpose.RECOVER, log_size=16 * MIB, buffer_pool=64 * MIB)


@pytest.fixture(scope="module")
def initialised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a server that nobody has started."""
    made = tmp_path_factory.mktemp("initialised") / "instance"
    initialise(unpacked(), made, REQUEST)
    return made


@pytest.fixture
def folder(initialised: Path, tmp_path: Path) -> Path:
    """A copy of it, for each test."""
    made = tmp_path / "instance"
    subprocess.run(["cp", "--archive", initialised, made], check=True)
    return made


def start(server: InstalledServer, folder: Path) -> Instance:
    return Instance.start(server, folder, REQUEST, folder / "error.log")


def server_process(folder: Path) -> psutil.Process:
    """The server whose sandbox, two processes above it, has this folder."""
    (sandbox,) = [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(folder) in (process.info["cmdline"] or []) and process.ppid() == psutil.Process().pid
    ]
    (found,) = [process for process in sandbox.children(recursive=True) if process.name() == "mariadbd"]
    return found


def test_it_is_private_unprivileged_and_as_asked(lab: Lab, mariadb: InstalledServer, folder: Path) -> None:
    with start(mariadb, folder) as instance:
        instance.wait_ready(60)
        process = server_process(folder)
        assert process.uids().real == (SERVER_USER if processes.is_root() else psutil.Process().uids().real)
        assert process.net_connections("inet") == []
        assert (folder / SOCKET).is_socket()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / DATA).stat().st_mode & 0o777 == 0o700
        with instance.connections.connect() as connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT @@innodb_log_file_size, @@innodb_buffer_pool_size, @@skip_networking, @@innodb_doublewrite"
            )
            assert cursor.fetchone() == (16 * MIB, 64 * MIB, 1, 1)
            if BlockDevice.under(folder) is not None:
                # It writes its log past the page cache where it finds out how large the disk's blocks are.
                cursor.execute("SELECT @@innodb_log_file_buffering")
                assert cursor.fetchone() == (0,)

        # A sample holds together.
        with instance.connections.connect() as connection:
            first = instance.sample(connection)
            with connection.cursor() as cursor:
                cursor.execute("CREATE DATABASE d")
                cursor.execute("USE d")
                cursor.execute("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(100)) ENGINE=InnoDB")
                cursor.execute("INSERT INTO t SELECT seq, REPEAT('x', 100) FROM seq_1_to_10000")
            second = instance.sample(connection)
    assert first.lsn is not None
    assert second.lsn is not None
    assert second.lsn > first.lsn + 1_000_000
    assert second.checkpoint_age == second.lsn - (second.checkpoint_lsn or 0)
    assert second.hard_limit is not None
    assert second.sync_flush_point == second.hard_limit
    assert (second.dirty_pages or 0) > (first.dirty_pages or 0)
    assert second.monotonic > first.monotonic


def test_a_clean_stop_needs_no_recovery_and_a_kill_does(lab: Lab, mariadb: InstalledServer, folder: Path) -> None:
    with start(mariadb, folder) as instance:
        instance.wait_ready(60)
        instance.shut_down(60)
    with start(mariadb, folder) as again:
        again.wait_ready(60)
        assert again.recovery() is None
        with again.connections.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE mysql.t (a INT PRIMARY KEY) ENGINE=InnoDB")
            cursor.execute("INSERT INTO mysql.t VALUES (1)")
        process = server_process(folder)
        again.kill()
        assert not process.is_running()
    with start(mariadb, folder) as killed:
        killed.wait_ready(60)
        recovery = killed.recovery()
    assert recovery is not None
    assert recovery.clock == "arrival"
    assert recovery.seconds_to_ready is not None
    assert (recovery.redo_bytes or 0) > 0


def test_a_server_that_does_not_start_shows_its_last_lines(lab: Lab, mariadb: InstalledServer, folder: Path) -> None:
    (folder / DATA / "ibdata1").write_bytes(b"not a tablespace" * 100_000)
    with start(mariadb, folder) as instance, pytest.raises(ServerFailed) as error:
        instance.wait_ready(60)
    assert any("ibdata1" in line or "InnoDB" in line for line in error.value.details)


def test_a_server_that_ends_by_itself_is_noticed(lab: Lab, mariadb: InstalledServer, folder: Path) -> None:
    with start(mariadb, folder) as instance:
        instance.wait_ready(60)
        instance.check_running()
        process = server_process(folder)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        with pytest.raises(ServerFailed):
            instance.kill()


def test_a_deep_folder_that_only_the_lab_may_enter_is_no_obstacle(
    lab: Lab, mariadb: InstalledServer, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    deep = closed / ("d" * 100) / "instance"
    initialise(mariadb, deep, REQUEST)
    with start(mariadb, deep) as instance:
        instance.wait_ready(60)
        instance.connections.connect().close()


def test_a_server_that_listens_and_never_greets_does_not_hold_the_lab_up(
    mariadb: InstalledServer, folder: Path
) -> None:
    with start(mariadb, folder) as instance:
        instance.wait_ready(60)
        process = server_process(folder)
        process.suspend()
        try:
            began = time.monotonic()
            with pytest.raises(pymysql.err.OperationalError):
                instance.connections.connect(0.5)
            assert time.monotonic() - began < 5
        finally:
            process.resume()
        # What bounded the greeting bounds no statement.
        with instance.connections.connect(0.5) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT SLEEP(1)")


def test_settings_can_be_overridden_and_a_setting_stands_once(mariadb: InstalledServer, folder: Path) -> None:
    request = replace(
        REQUEST,
        purpose=Purpose.PRODUCTION,
        overrides=(
            Setting("innodb-io-capacity", "333", "a test"),
            Setting("max_connections", "77", "a test"),
        ),
    )
    with Instance.start(mariadb, folder, request, folder / "error.log") as instance:
        instance.wait_ready(60)
        with instance.connections.connect() as connection:
            used = instance.used(connection)
    assert (used.variables["innodb_io_capacity"], used.variables["max_connections"]) == ("333", "77")
    assert used.variables["innodb_adaptive_flushing"] == "ON"
    names = [line.partition(" = ")[0] for line in (folder / OPTIONS).read_text().splitlines()]
    assert [name for name in names if name.replace("-", "_") == "innodb_io_capacity"] == ["innodb-io-capacity"]


def test_what_a_server_leaves_in_its_folder_leads_the_lab_nowhere(
    lab: Lab, mariadb: InstalledServer, folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    (folder / f".{OPTIONS}.{os.getpid()}").symlink_to(outside / "written")
    prepare_folder(mariadb, folder, REQUEST)
    assert not (outside / "written").exists()
    files.remove(folder / DATA)
    (folder / DATA).symlink_to(outside)
    before = outside.stat()
    with pytest.raises(ServerFailed):
        prepare_folder(mariadb, folder, REQUEST)
    after = outside.stat()
    assert (after.st_uid, after.st_mode) == (before.st_uid, before.st_mode)
