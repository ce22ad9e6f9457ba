"""Servers that fail over, restart and break off while their variables are changed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from redolab.errors import Busy, Interrupted, LabError
from redolab.machine.interrupts import unwinding
from redolab.servers.address import Address
from redolab.slowlog.settings import alone, changing, note, user_server
from redolab.slowlog.settings.alone import alone_on
from redolab.slowlog.settings.changes import Change
from redolab.slowlog.settings.changing import TemporaryChanges, while_changed
from redolab.slowlog.settings.restoring import Messages, put_back
from redolab.slowlog.settings.user_server import Restarted, UserServer
from tests.slowlog.settings.made_server import DEFAULTS, World, fails_over, restarts

CHANGES = [
    Change("slow_query_log_file", "/data/slow.log", "/data/slow.log-full-20261124201607"),
    Change("slow_query_log", "OFF", "ON"),
    Change("long_query_time", "10.000000", "0"),
]


class NoWatchdog:
    pid = 1

    def check(self) -> None:
        pass

    def wait_until(self, deadline: float) -> None:
        pass

    def dismiss(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(changing, "start_watchdog", lambda *_: NoWatchdog())
    monkeypatch.setattr(user_server, "PAUSE", 0.01)
    monkeypatch.setattr(alone, "TO_LEAVE", 0.1)


def change(world: World) -> list[str]:
    """Change the variables for a moment. Return the messages for a person."""
    for_person: list[str] = []
    temporary = TemporaryChanges("capture", CHANGES, 1.0, "20261124201607")
    with while_changed(UserServer(world.address, patience=0.05), temporary, 0, Messages(print, for_person.append)):
        assert world.behind.variables["long_query_time"] == "0"
    return for_person


def put_back_by_its_note(world: World) -> None:
    (path,) = note.all_notes()
    put_back(UserServer(world.address), path, note.read(path), Messages(print, print))
    assert world.behind.variables == DEFAULTS
    assert note.all_notes() == []


def test_the_watchdog_waits_as_long_as_it_was_told_when_the_wall_clock_is_set() -> None:
    """The wall clock is set by two hours; the command reports the end before the deadline."""
    code = (
        "import os, time\n"
        "from redolab.slowlog.settings import watchdog\n"
        "true = time.time\n"
        "time.time = lambda: true() + 7200\n"
        "print(watchdog.is_needed(None, watchdog.Pipe(), os.pipe()[0], time.monotonic() + 60))\n"
    )
    said = subprocess.run([sys.executable, "-c", code], input=b"done\n", capture_output=True, check=True)
    assert said.stdout == b"False\n"


def test_all_is_put_back_in_the_reverse_order() -> None:
    world = World()
    change(world)
    assert world.behind.variables == DEFAULTS
    assert [each.split()[1] for each in world.done[3:]] == [each.split()[1] for each in reversed(world.done[:3])]
    assert note.all_notes() == []


@pytest.mark.parametrize("at", range(6))
def test_a_server_that_takes_its_place_is_never_touched(at: int) -> None:
    world = World(happens={at: fails_over})
    first = world.behind
    with pytest.raises(LabError):
        change(world)
    assert world.behind.variables == {**DEFAULTS, "server_uuid": "two"}
    # The first server is at the address again.
    world.behind = first
    put_back_by_its_note(world)


@pytest.mark.parametrize("at", range(6))
def test_a_server_that_restarts_is_left_as_its_option_file_has_it(at: int) -> None:
    world = World(happens={at: restarts})
    if at < len(CHANGES):
        with pytest.raises(Restarted):
            change(world)
    else:
        assert len(change(world)) == 1
    assert world.behind.variables == DEFAULTS
    assert note.all_notes() == []


@pytest.mark.parametrize("at", range(6))
def test_a_signal_at_any_statement_ends_it_with_all_put_back(at: int) -> None:
    world = World(happens={at: lambda _: os.kill(os.getpid(), signal.SIGTERM)})
    with pytest.raises(Interrupted), unwinding():
        change(world)
    assert world.behind.variables == DEFAULTS
    assert note.all_notes() == []


def test_a_note_stays_while_a_variable_has_our_value_although_the_server_said_yes() -> None:
    world = World(happens={len(CHANGES): lambda world: world.ignored.add("long_query_time")})
    with pytest.raises(LabError) as raised:
        change(world)
    assert world.behind.variables == {**DEFAULTS, "long_query_time": "0"}
    assert [each.partition(";")[0] for each in raised.value.details] == ["SET GLOBAL long_query_time = 10.000000"]
    world.ignored.clear()
    put_back_by_its_note(world)


def write_note(purpose: str, stamp: str) -> Path:
    path = note.new_path(purpose, stamp)
    identity = UserServer(World().address).identity
    note.write(path, note.Note(purpose, identity, Address(), (), 1, 2, None))
    return path


def test_one_command_at_a_time() -> None:
    users_server = UserServer(World().address)
    with alone_on(users_server), pytest.raises(Busy), alone_on(users_server):
        pass
    with alone_on(users_server):
        pass
    path = write_note("capture", "20261124201607")
    with pytest.raises(LabError) as raised, alone_on(users_server):
        pass
    assert str(path) in raised.value.remedy


def test_what_was_begun_elsewhere_is_not_taken_for_the_servers_own() -> None:
    world = World()
    world.behind.variables["slow_query_log_file"] += "-full-20261124201607"
    with pytest.raises(LabError), alone_on(UserServer(world.address)):
        pass


def test_notes_are_taken_the_newest_first() -> None:
    for purpose, stamp in (("rotate", "20261124201601"), ("capture", "20261124201609"), ("rotate", "20261124201605")):
        write_note(purpose, stamp)
    assert [path.name.split("-")[1][-2:] for path in note.all_notes()] == ["09", "05", "01"]
