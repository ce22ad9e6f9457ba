"""Captures on real servers, ended by signals, limits, restarts and lost connections."""

from __future__ import annotations

import itertools
import os
import re
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
from tests.slowlog.servers import CHOSEN, UsersServer, slowlog, users_server

pytestmark = pytest.mark.server

_EVERY_SEVENTH = 7
"""Steps of a capture that a quick test ends it at; a thorough one ends it at all of them, on all servers."""
_STEPS = ("found", "setting", "flushing", "sleeping", "restoring")
"""First words of the steps, as the source's own tool says them (data/published/query-logs.toml)."""
_TO_PUT_BACK = 20.0


def notes(state: Path) -> list[Path]:
    return list(state.glob("*.json"))


def started(server: UsersServer, seconds: int, *arguments: str, stderr: int) -> subprocess.Popen[str]:
    """Start a capture that prints its steps."""
    options = [*server.arguments, "-s", str(seconds), "-v", "--min-free", "1%", *arguments]
    command = [sys.executable, "-m", "redolab", "slowlog", "capture", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, start_new_session=True)


def sleeping(server: UsersServer, *arguments: str) -> subprocess.Popen[str]:
    """Start a capture of a minute, and wait until it sleeps."""
    process = started(server, 60, *arguments, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("sleeping"):
            return process
    raise AssertionError(f"the capture never slept: {process.wait()}")


def ended_at(server: UsersServer, step: int, number: signal.Signals) -> str | None:
    """Send a capture a signal at its n-th step, from 0 on. Return the step; None if the capture has fewer."""
    with started(server, 1, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        for seen, line in enumerate(process.stdout):
            if seen == step:
                process.send_signal(number)
                return line.strip()
    assert process.returncode == 0
    return None


def check_put_back_after(server: UsersServer, number: signal.Signals, state: Path, every: int) -> int:
    """End captures at every n-th step; check that each leaves the server as it was. Return the number of captures."""
    before = server.variables()
    for captures in itertools.count():
        step = ended_at(server, captures * every, number)
        if step is None:
            return captures
        deadline = time.monotonic() + _TO_PUT_BACK
        while notes(state) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert notes(state) == [], step
        assert server.variables() == before, step
    raise AssertionError


def killed_with_its_watchdog(process: subprocess.Popen[str], state: Path) -> None:
    (path,) = notes(state)
    os.kill(msgspec.json.decode(path.read_bytes(), type=Note).watchdog, signal.SIGKILL)
    process.kill()
    process.communicate()


@pytest.fixture(params=["mariadb-11.8", "mysql-9"])
def server(request: pytest.FixtureRequest, lab: Lab, tmp_path: Path, state: Path) -> Iterator[UsersServer]:
    with users_server(lab.server(request.param), tmp_path / "server") as running:
        yield running


def test_every_statement_is_captured_and_everything_put_back(server: UsersServer, state: Path, tmp_path: Path) -> None:
    before = server.variables()
    process = sleeping(server)
    with server.instance.connections.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 'captured'")
        cursor.execute("DO 1")
        # At once: at its low priority the command may not have begun to sleep.
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=30)
    # Neither the command's own connection counts nor its watchdog's.
    assert re.findall(r"opened meanwhile: (\d+)", said) == ["1"]
    assert process.returncode == 130
    assert "SIGTERM" in said
    assert "-full-" in said.splitlines()[-1]
    assert server.variables() == before
    assert notes(state) == []
    (log,) = (tmp_path / "server/data").glob("*-full-*")
    text = log.read_text()
    assert "SELECT 'captured'" in text
    assert "DO 1" in text
    assert "SET GLOBAL" not in text

    assert check_put_back_after(server, signal.SIGKILL, state, _EVERY_SEVENTH) >= 2


def test_what_a_note_and_a_new_connection_put_back(lab: Lab, state: Path, tmp_path: Path) -> None:
    with users_server(lab.server("mariadb-10.11"), tmp_path / "server") as server:
        before = server.variables()
        _put_back_by_its_note(server, before, state)
        _put_back_by_a_new_connection(server, before)


def _put_back_by_its_note(server: UsersServer, before: dict[str, str], state: Path) -> None:
    killed_with_its_watchdog(sleeping(server), state)
    assert server.variables() != before
    server.do("SET GLOBAL min_examined_row_limit = 7")
    done = slowlog("restore")
    assert done.returncode == 0, done.stderr
    assert "min_examined_row_limit" in done.stdout
    server.do("SET GLOBAL min_examined_row_limit = 100")
    assert server.variables() == before
    assert notes(state) == []


def _put_back_by_a_new_connection(server: UsersServer, before: dict[str, str]) -> None:
    process = sleeping(server)
    with server.instance.connections.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT id FROM information_schema.processlist WHERE user = 'root' AND id <> CONNECTION_ID()")
        for (other,) in cursor.fetchall():
            cursor.execute(f"KILL {other}")
    assert process.stdout is not None
    assert any("connected again" in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
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
        assert [step for step, _ in itertools.groupby(steps)] == [
            "found",
            "setting",
            "flushing",
            "sleeping",
            "restoring",
            "flushing",
        ]
        assert server.variables() == before

        event = slowlog("capture", *server.arguments, "--event")
        assert event.returncode == 2
        assert "event_scheduler" in event.stderr

        server.do("CREATE USER poor@localhost", "GRANT PROCESS ON *.* TO poor@localhost")
        refused = slowlog("capture", "--socket", str(server.socket), "--user", "poor")
        assert refused.returncode == 1
        assert all(privilege in refused.stderr for privilege in ("SUPER", "SYSTEM_VARIABLES_ADMIN", "RELOAD"))
        assert len(refused.stderr.splitlines()) == 1
        assert server.variables() == before

        # The server puts back by itself when nothing else is left, and says nothing of it to replicas.
        server.do("SET GLOBAL event_scheduler = ON")
        killed_with_its_watchdog(sleeping(server, "--event"), state)
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
        killed_with_its_watchdog(sleeping(server), state)
        server.instance.shut_down(60)
    time.sleep(1)
    (path,) = notes(state)
    note = msgspec.json.decode(path.read_bytes(), type=Note)
    # Two starts within seconds of each other cannot be told apart: have the first look like one an hour ago.
    early = msgspec.structs.replace(note.identity, started=note.identity.started - 3600)
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(note, identity=early)))
    with users_server(lab.server("mariadb-10.11"), folder, CHOSEN, made=True) as server:
        before = server.variables()
        done = slowlog("restore")
        assert done.returncode == 0, done.stderr
        assert server.variables() == before
        assert notes(state) == []


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("name", server_catalogue().names())
def test_a_capture_that_is_ended_at_any_step_leaves_the_server_as_it_was(
    lab: Lab, state: Path, tmp_path: Path, name: str, number: signal.Signals
) -> None:
    """SIGKILL is sent at every step, the other signals at every third."""
    with users_server(lab.server(name), tmp_path / "server") as server:
        captures = check_put_back_after(server, number, state, 1 if number is signal.SIGKILL else 3)
    assert captures > len(CHOSEN) / 2


def test_a_log_that_could_not_be_put_back_is_left_as_it_is(lab: Lab, tmp_path: Path, state: Path) -> None:
    """The option file may name a device as the log's file, SET GLOBAL may not."""
    settings = {"slow_query_log": "0", "slow_query_log_file": "/dev/stderr"}
    with users_server(lab.server("mariadb-11.8"), tmp_path / "server", settings) as server:
        before = server.variables()
        done = slowlog("capture", *server.arguments, "-s", "1")
        assert done.returncode == 2, done.stdout + done.stderr
        assert "/dev/stderr" in done.stderr
        assert server.variables() == before
    assert notes(state) == []
