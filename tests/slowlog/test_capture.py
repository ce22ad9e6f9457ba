"""Captures on real servers, and whatever may end one."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from redolab.errors import InvalidInput
from redolab.lab import Lab
from redolab.progress import Progress
from redolab.servers.address import Address
from redolab.servers.catalogue import server_catalogue
from redolab.slowlog.capture import CaptureLimits, capture, in_words
from redolab.slowlog.settings.note import Note
from tests.command import redolab
from tests.slowlog.killing import killed_at_every_step
from tests.slowlog.servers import CHOSEN, UsersServer, users_server

_SOME = 7
"""Every so many of the steps of a capture: a thorough test ends it at all of them, on all servers."""

_STEPS = ("found", "setting", "flushing", "sleeping", "restoring")
"""As the source's own tool says them (data/published/query-logs.toml)."""


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the notes are."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def slowlog(*arguments: str) -> subprocess.CompletedProcess[str]:
    return redolab("slowlog", *arguments, seconds=60)


def notes(state: Path) -> list[Path]:
    return list(state.glob("redolab/slowlog/*.json"))


def begun(server: UsersServer, *arguments: str) -> subprocess.Popen[str]:
    """A capture of a minute that is sleeping."""
    command = [sys.executable, "-m", "redolab", "slowlog", "capture", *server.arguments, "-s", "60", "-v", *arguments]
    process = subprocess.Popen(
        [*command, "--min-free", "1%"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("sleeping"):
            return process
    raise AssertionError(f"it never slept: {process.wait()}")


def killed_with_its_guardian(process: subprocess.Popen[str], state: Path) -> None:
    (path,) = notes(state)
    os.kill(msgspec.json.decode(path.read_bytes(), type=Note).guardian, signal.SIGKILL)
    process.kill()
    process.communicate()


@pytest.fixture(params=["mariadb-11.8", "mysql-9"])
def server(request: pytest.FixtureRequest, lab: Lab, tmp_path: Path, state: Path) -> Iterator[UsersServer]:
    with users_server(lab.server(request.param), tmp_path / "server") as running:
        yield running


def test_every_statement_is_captured_and_everything_put_back(server: UsersServer, state: Path, tmp_path: Path) -> None:
    before = server.variables()
    process = begun(server)
    with server.instance.connections.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 'a query of a new connection'")
        cursor.execute("DO 1")
        # At once: at its low priority the command may not have begun to sleep.
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=30)
    # Neither the command's connection nor its guardian's.
    assert "connections opened meanwhile: 1;" in said
    assert process.returncode == 130
    assert "SIGTERM" in said
    assert "-full-" in said.splitlines()[-1]
    assert server.variables() == before
    assert notes(state) == []
    (log,) = (tmp_path / "server/data").glob("*-full-*")
    text = log.read_text()
    assert "SELECT 'a query of a new connection'" in text
    assert "DO 1" in text
    assert "SET GLOBAL" not in text

    steps, different = killed_at_every_step(server, signal.SIGKILL, state, _SOME)
    assert len(steps) >= 2
    assert different == []


def test_what_a_note_and_a_new_connection_put_back(lab: Lab, state: Path, tmp_path: Path) -> None:
    with users_server(lab.server("mariadb-10.11"), tmp_path / "server") as server:
        before = server.variables()
        _put_back_by_its_note(server, before, state)
        _put_back_by_a_new_connection(server, before)


def _put_back_by_its_note(server: UsersServer, before: dict[str, str], state: Path) -> None:
    killed_with_its_guardian(begun(server), state)
    assert server.variables() != before
    server.do("SET GLOBAL min_examined_row_limit = 7")
    done = slowlog("restore")
    assert done.returncode == 0, done.stderr
    assert "min_examined_row_limit" in done.stdout
    assert "1 put back" in done.stdout
    server.do("SET GLOBAL min_examined_row_limit = 100")
    assert server.variables() == before
    assert notes(state) == []


def _put_back_by_a_new_connection(server: UsersServer, before: dict[str, str]) -> None:
    process = begun(server)
    with server.instance.connections.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> CONNECTION_ID()")
        others = [row[0] for row in cursor.fetchall()]
        for other in others:
            cursor.execute(f"KILL {other}")
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if "connected again" in line:
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert "connected again" in said
    assert server.variables() == before


def test_it_stops_at_a_size_and_before_the_disk_is_full(lab: Lab, state: Path, tmp_path: Path) -> None:
    with users_server(lab.server("mariadb-10.11"), tmp_path / "server", {}) as server:
        before = server.variables()
        full = slowlog("capture", *server.arguments, "--min-free", "100%")
        assert full.returncode == 2
        assert "--min-free" in full.stderr
        done = slowlog("capture", *server.arguments, "-s", "30", "--max-size", "300", "--min-free", "1%", "-v")
        assert done.returncode == 0, done.stderr
        assert "--max-size" in done.stdout
        steps = [line.split()[0] for line in done.stdout.splitlines() if line.startswith(_STEPS)]
        in_order = [step for step, _ in itertools.groupby(steps)]
        assert in_order == ["found", "setting", "flushing", "sleeping", "restoring", "flushing"]
        assert server.variables() == before

        event = slowlog("capture", *server.arguments, "--event")
        assert event.returncode == 2
        assert "event_scheduler is OFF" in event.stderr

        server.do("CREATE USER poor@localhost", "GRANT PROCESS ON *.* TO poor@localhost")
        refused = slowlog("capture", "--socket", str(server.socket), "--user", "poor")
        assert refused.returncode == 1
        assert "SUPER or SYSTEM_VARIABLES_ADMIN, RELOAD" in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
        assert server.variables() == before

        # The server puts back by itself when nothing else is left, and says nothing of it to replicas.
        server.do("SET GLOBAL event_scheduler = ON")
        killed_with_its_guardian(begun(server, "--event"), state)
        with server.instance.connections.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT event_name, event_definition FROM information_schema.events")
            ((name, definition),) = cursor.fetchall()
            # What it does at its time, now.
            cursor.execute("CREATE DATABASE app")
            cursor.execute(f"CREATE PROCEDURE app.fired() {definition}")
            cursor.execute("CALL app.fired()")
            cursor.execute(f"DROP EVENT mysql.{name}")
            cursor.execute("SET GLOBAL event_scheduler = OFF")
        assert server.variables() == before


def test_from_afar_it_must_be_told_how_long_and_estimates(
    lab: Lab, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = Progress(Console(quiet=True))
    with users_server(lab.server("mariadb-10.11"), tmp_path / "server", {}) as server:
        before = server.variables()
        address = Address(socket=str(server.socket), user="root")
        here = capture(progress, address, CaptureLimits(0.5, least_free=0.01), lambda _: None)
        assert here.mode == Path(here.to_read).stat().st_mode & 0o777
        assert f"{here.mode:04o}" in " ".join(in_words(here))
        monkeypatch.setattr("redolab.slowlog.capture.log_on_this_machine", lambda *_: None)
        with pytest.raises(InvalidInput):
            capture(progress, address, CaptureLimits(None), lambda _: None)
        captured = capture(progress, address, CaptureLimits(1.2), lambda _: None)
        assert captured.size_is_estimate
        stopped = capture(progress, address, CaptureLimits(30.0, most=1), lambda _: server.do("DO 1"))
        assert "--max-size" in stopped.stopped
        assert server.variables() == before


def test_after_a_restart_nothing_is_changed(lab: Lab, state: Path, tmp_path: Path) -> None:
    folder = tmp_path / "server"
    with users_server(lab.server("mariadb-10.11"), folder) as server:
        killed_with_its_guardian(begun(server), state)
        server.instance.shut_down(60)
    time.sleep(1)
    (path,) = notes(state)
    note = msgspec.json.decode(path.read_bytes(), type=Note)
    # As if it had been an hour ago: two starts within seconds of each other are told apart by nothing else.
    early = msgspec.structs.replace(note.identity, started=note.identity.started - 3600)
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(note, identity=early)))
    with users_server(lab.server("mariadb-10.11"), folder, CHOSEN, made=True) as server:
        before = server.variables()
        done = slowlog("restore")
        assert done.returncode == 0, done.stderr
        assert "the server was restarted" in done.stdout
        assert server.variables() == before
        assert notes(state) == []


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("name", server_catalogue().names())
def test_a_capture_that_is_ended_at_any_step_leaves_the_server_as_it_was(
    lab: Lab, state: Path, tmp_path: Path, name: str, number: signal.Signals
) -> None:
    """Send each signal that the command can catch, at every third step."""
    with users_server(lab.server(name), tmp_path / "server") as server:
        steps, different = killed_at_every_step(server, number, state, 1 if number is signal.SIGKILL else 3)
    assert len(steps) > len(CHOSEN) / 2
    assert different == []


def test_a_log_that_could_not_be_put_back_is_left_as_it_is(lab: Lab, tmp_path: Path, state: Path) -> None:
    """A start takes a device as the log's file, SET GLOBAL does not."""
    settings = {"slow_query_log": "0", "slow_query_log_file": "/dev/stderr"}
    with users_server(lab.server("mariadb-11.8"), tmp_path / "server", settings) as server:
        before = server.variables()
        done = slowlog("capture", *server.arguments, "-s", "1")
        assert done.returncode == 2, done.stdout + done.stderr
        assert "/dev/stderr" in done.stderr
        assert server.variables() == before
    assert notes(state) == []
