"""A real recovery that is followed by its process and its redo log files, and `redolab follow` on real logs."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from redolab.crash.image_store import ImageStore
from redolab.crash.recovery.looks import Beginning, begun, looked_at, looks_of
from redolab.crash.recovery.replays import RecordedProcess, Replay, replays_of
from redolab.errorlog.kinds import Phase
from redolab.errorlog.stamps import records
from redolab.errorlog.watch import STUCK_AFTER
from redolab.lab import Lab
from redolab.machine import copies
from redolab.project import PROJECT
from redolab.runs.pages import measured_runs
from redolab.servers.dialects import Purpose
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.watch.following.advice import Advice
from redolab.watch.following.binary_log_course import BinaryLogFile
from redolab.watch.following.follow import experience
from redolab.watch.following.follow_view import for_programs, rows
from redolab.watch.following.follower import Followed, Follower, State
from redolab.watch.following.log_tail import LoggedRecord
from redolab.watch.following.redo_files import redo_to_recover
from redolab.watch.following.server_process import Look, option_in
from redolab.watch.following.service import StartLimit
from redolab.watch.following.time_left import Way
from tests.command import redolab
from tests.counters.live.watched import fresh, running
from tests.small_crash import small_crash
from tests.thorough import mostly_thorough

pytestmark = pytest.mark.server

LOOK = Look(at=1.0, sequential=0, mapped=0, called=0, read=1 << 20, written=0, cpu_seconds=0.1, listens=False)


def recorded(server: str, longer_than: float = 0.0) -> Replay:
    """Return a committed recovery of that server."""
    found = (each for run in measured_runs("following") for each in replays_of(run))
    return next(each for each in found if each.server == server and each.ready > longer_than)


@pytest.mark.parametrize("name", mostly_thorough(["mysql-5.7", "mysql-9", "mariadb-10.5", "mariadb-11.8"]))
def test_a_recovery_without_a_log(name: str, lab: Lab, home: Path, tmp_path: Path) -> None:
    """By its process alone: how much redo there is, to the byte, that it is read, and that the server takes connections."""
    server, images = lab.server(name), ImageStore(home)
    image = small_crash(lab, server)
    folder = tmp_path / "i"
    prepare_folder(server, folder)
    copies.copy_folder(images.data(image), folder / DATA)
    redo = redo_to_recover(folder / DATA)
    assert redo is not None

    request = replace(image.spec.instance, purpose=Purpose.RECOVER, buffer_pool=64 << 20)
    seen, log = list[Followed](), tmp_path / "error.log"
    with Instance.start(server, folder, request, log) as instance, looked_at(instance.pid, log):
        assert instance.pid is not None
        process = begun(instance.pid, threading.Event())
        assert process is not None
        follower = Follower(experience(), process, time.monotonic(), server=name, has_log=False)
        while not instance.is_ready:
            follower.look(time.monotonic())
            seen.append(follower.state_at(time.monotonic()))
            instance.read_log(0.02)
        deadline = time.monotonic() + 5
        while seen[-1].state is not State.READY and time.monotonic() < deadline:
            follower.look(time.monotonic())
            seen.append(follower.state_at(time.monotonic()))
        recovery = instance.recovery()
        done = redolab("follow", "--pid", str(instance.pid), "--json")
    assert seen[-1].state is State.READY
    assert done.returncode == 0, done.stderr
    assert last_object(done.stdout)["state"] == "ready"

    # The same, as the lab keeps it; what is torn is left out.
    looks_of(log).write_bytes(looks_of(log).read_bytes() + b'{"at":')
    kept = RecordedProcess.of(log)
    assert kept is not None
    assert kept.redo() == redo
    assert [each.at for each in kept.looks] == sorted(each.at for each in kept.looks)
    # MariaDB is ready before the second look.
    assert kept.looks or name.startswith("mariadb")

    assert recovery is not None
    # MariaDB before 10.5 does not say where its checkpoint was.
    assert recovery.checkpoint_lsn in (None, redo.checkpoint)
    # The files end with a block; records at its end that the crash cut off are not recovered.
    assert redo.end is None or recovery.end_lsn is None or 0 <= redo.end - recovery.end_lsn <= 512
    assert (redo.end is None) == (name == "mariadb-11.8")
    recovering = [each for each in seen if each.state is State.RECOVERING]
    assert recovering
    assert all(each.left is not None and each.left.seconds > 0 for each in recovering)
    read = [each.done.read for each in recovering]
    assert read == sorted(read)
    assert read[-1] <= redo.capacity
    if redo.redo is not None:
        assert read[-1] > 0.9 * redo.redo
    assert {each.phase for each in recovering} <= {Phase.SCAN, Phase.APPLY}


def followed(lines: Iterable[str], *options: str) -> subprocess.CompletedProcess[str]:
    return redolab("follow", *options, "-", given="".join(f"{line}\n" for line in lines))


def last_object(output: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def test_a_log_that_ends_within_a_recovery() -> None:
    """The first half of a recorded one. Nothing is started after it that needs the server: the status is 3."""
    replay = recorded("mysql-9", longer_than=30.0)
    done = followed((text for at, text in replay.lines if at < replay.ready / 2), "--json")
    assert done.returncode == 3
    last = last_object(done.stdout)
    assert last["state"] == "recovering"
    assert last["redo_read"] > 0
    assert 0 < last["left_low_s"] < last["left_s"] < last["left_high_s"]
    assert last["advice"] == "wait"


@pytest.mark.parametrize("server", ["mysql-9", "mariadb-10.2"])
def test_it_says_how_often_intervals_held_for_such_servers(server: str) -> None:
    """Once in words, and only where that is much less than eight times in ten; always for programs."""
    replay = recorded(server)
    lines = [text for at, text in replay.lines if at < replay.ready / 2]
    held = experience().held[Way.LOG][replay.kind]
    assert last_object(followed(lines, "--json").stdout)["held"] == msgspec.to_builtins(held)
    words = followed(lines).stdout
    assert words.count(f"({held.recoveries} recoveries)") == (held.inside < 0.7 * held.asked) == (server != "mysql-9")


def test_where_files_are_looked_at_it_says_how_many() -> None:
    """MySQL 9.7 with 20,000 tables on a slow disk: nothing shows for minutes that it recovers."""
    lines = [
        "2026-11-26T19:24:14.099667Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld (mysqld 9.7.4-2) starting as process 2",
        "2026-11-26T19:24:14.714414Z 1 [Note] [MY-012207] [InnoDB] Using 3 threads to scan 20020 tablespace files",
        "2026-11-26T19:24:24.722445Z 0 [Note] [MY-012200] [InnoDB] Thread# 0 - Checked 406/10010 files",
        "2026-11-26T19:24:24.733556Z 0 [Note] [MY-012200] [InnoDB] Thread# 1 - Checked 406/10010 files",
    ]
    last = last_object(followed(lines, "--json").stdout)
    assert (last["state"], last["files_done"], last["files_of"]) == ("starting", 812, 20020)


def test_the_next_start_is_waited_for(tmp_path: Path) -> None:
    """The server of before is stopped, and another recovers: what the log had said is no reason to end."""
    replay = recorded("mysql-9", longer_than=30.0)
    log = tmp_path / "error.log"
    log.write_text(
        "2026-11-21T09:00:00.000000Z 0 [System] [MY-010910] [Server] /usr/sbin/mysqld: Shutdown complete (mysqld 9.7.4).\n"
    )
    command = [sys.executable, "-m", "redolab", "follow", "--wait", "--json", "--every", "0.25s", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT.root) as process:
        assert process.stdout is not None
        said = [json.loads(process.stdout.readline())["state"]]
        with log.open("a") as file:
            for at, text in replay.lines:
                file.write(f"{text}\n")
                file.flush()
                if at > replay.ready / 2 and "recovering" not in said:
                    said += [json.loads(process.stdout.readline())["state"] for _ in range(3)]
        said += [json.loads(line)["state"] for line in process.stdout]
        assert process.wait(20) == 0
    assert list(dict.fromkeys(said)) in (["ended", "recovering", "ready"], ["ended", "starting", "recovering", "ready"])


def test_a_server_that_runs_is_none_that_recovers(lab: Lab, mariadb: InstalledServer, tmp_path: Path) -> None:
    """Its log was rotated since: the line that said ready is gone."""
    folder, log = tmp_path / "i", tmp_path / "error.log"
    fresh(lab, mariadb, folder)
    log.write_text("")
    with running(lab, mariadb, folder) as instance:
        assert instance.pid is not None
        done = redolab("follow", "--pid", str(instance.pid), str(log), "--json")
    assert done.returncode == 0, done.stderr
    states = [json.loads(line)["state"] for line in done.stdout.splitlines()]
    assert set(states) <= {"starting", "ready"}
    assert states[-1] == "ready"


STARTS = [
    "2026-11-21T09:00:00.000000Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld (mysqld 9.7.4) starting as process 77",
    "2026-11-21T09:00:01.000000Z 1 [Note] [MY-012550] [InnoDB] Doing recovery: scanned up to log sequence number 900",
]
COMPLAINS = (
    "2026-11-21T09:00:05.000000Z 1 [Warning] [MY-012092] [InnoDB] "
    "Difficult to find free blocks in the buffer pool (21 search iterations)!"
)


def hear(follower: Follower, line: str, at: float) -> None:
    for record in records(line):
        follower.hear(LoggedRecord(record, at))


def while_it_complains(follower: Follower) -> Iterator[Followed]:
    """Yield the states in which a server has complained each second from second 5 to 89."""
    for second in range(5, 90):
        hear(follower, COMPLAINS, second)
        yield follower.state_at(second + 0.5)


def test_one_that_is_blocked_is_found_in_a_minute_also_by_its_log_alone() -> None:
    """The log of results/stuck.md: complaints without end, and nothing else."""
    follower = Follower(experience(), None, 0.0)
    for second, line in enumerate(STARTS):
        hear(follower, line, second)
    states = list(while_it_complains(follower))
    minute = int(STUCK_AFTER)
    assert {each.advised.advice for each in states[: minute - 1]} == {Advice.WAIT}
    assert {each.advised.advice for each in states[minute + 1 :]} == {Advice.RESTART}
    assert states[5].left is not None
    assert states[-1].left is None


def test_a_server_that_may_be_running_is_not_to_be_killed_for_what_it_says() -> None:
    """Its log was rotated since it started, and under pressure it finds no free block."""
    states = list(while_it_complains(Follower(experience(), None, 0.0)))
    assert {each.state for each in states} == {State.SILENT}
    assert {each.advised.advice for each in states} == {Advice.NONE, Advice.LOOK}


def test_a_log_that_begins_in_the_middle_is_followed_for_as_long_as_it_complains() -> None:
    """A tail as by `kubectl logs --tail`, of a server that is stuck: it is not left before a minute has passed."""
    follower = Follower(experience(), None, 0.0)
    hear(follower, COMPLAINS, 5.0)
    assert follower.complains(6.0)
    assert not follower.complains(600.0)


class InUnit(RecordedProcess):
    """A recorded MariaDB in a unit with a start timeout: systemd does not run here."""

    limit: StartLimit

    def start_limit(self) -> StartLimit | None:
        return self.limit


@pytest.mark.parametrize(("is_fixed", "is_warned"), [(False, False), (True, True)])
def test_a_mariadb_that_asks_systemd_for_time_in_vain_is_warned_of_the_timeout(is_fixed: bool, is_warned: bool) -> None:
    """On a Galera node: `galera_recovery` runs the recovery before the unit's main process is there."""
    process = InUnit(Beginning(name="mariadbd", started=0.0, redo=None), [LOOK])
    process.limit = StartLimit("mariadb.service", 10.0, is_fixed=is_fixed)
    follower = Follower(experience(), process, 0.0, server="mariadb-10.11")
    follower.look(1.0)
    hear(follower, "2026-11-21 10:00:00 0 [Note] InnoDB: Starting crash recovery from checkpoint LSN=900", 1.0)
    words = follower.state_at(1.0).advised.words
    assert any("mariadb.service" in each for each in words) == is_warned


def test_while_the_binary_log_is_read_the_time_left_is_that_of_its_file() -> None:
    first = msgspec.structs.replace(LOOK, binary_log=BinaryLogFile(position=100, size=1000))
    looks = [first, msgspec.structs.replace(first, at=3.0, binary_log=BinaryLogFile(position=400, size=1000))]
    process = RecordedProcess(Beginning(name="mysqld", started=0.0, redo=None), looks)
    follower = Follower(experience(), process, 0.0, server="mysql-9")
    for each in looks:
        follower.look(each.at)
    hear(follower, "2026-11-21T09:00:01.000000Z 1 [Note] [MY-012551] [InnoDB] Database was not shutdown normally!", 1.0)
    state = follower.state_at(3.0)
    assert state.state is State.RECOVERING
    assert state.left is None
    shown = for_programs(state, 0.0)
    assert (shown["binary_log_read"], shown["binary_log"], shown["binary_log_left_s"]) == (400, 1000, 4.0)
    assert dict(rows(state, 0.0))["left"] == "at least 4.00 s more"


def test_a_server_that_gave_up_is_a_finding() -> None:
    gives_up = [
        "2026-11-21T09:00:02.000000Z 1 [ERROR] [MY-010334] [Server] Failed to initialize DD Storage Engine",
        "2026-11-21T09:00:03.000000Z 0 [ERROR] [MY-010119] [Server] Aborting",
    ]
    done = followed([*STARTS, *gives_up], "--json")
    assert done.returncode == 3
    assert last_object(done.stdout)["state"] == "ended"


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
