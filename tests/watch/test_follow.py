"""A real recovery that is followed by its process and its redo log files, and `redolab follow` on real logs."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from redolab.crash.image_store import ImageStore
from redolab.crash.recovery.looks import begun, looked_at, looks_of
from redolab.crash.recovery.replays import RecordedProcess, Replay, replays_of
from redolab.errorlog.kinds import Phase
from redolab.lab import Lab
from redolab.machine import copies
from redolab.project import PROJECT
from redolab.runs.pages import measured_runs
from redolab.servers.dialects import Purpose
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.watch.following.follow import experience
from redolab.watch.following.follower import Followed, Follower, State
from redolab.watch.following.redo_files import redo_to_recover
from redolab.watch.following.time_left import Way
from tests.command import redolab
from tests.counters.live.watched import fresh, running
from tests.small_crash import small_crash
from tests.thorough import mostly_thorough
from tests.watch.test_follower import STARTS


def recorded(server: str, longer_than: float = 0.0) -> Replay:
    """Return a committed recovery of that server."""
    found = (each for run in measured_runs("following") for each in replays_of(run))
    return next(each for each in found if each.server == server and each.ready > longer_than)


@pytest.mark.server
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


@pytest.mark.server
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


def test_a_server_that_gave_up_is_a_finding() -> None:
    gives_up = [
        "2026-11-21T09:00:02.000000Z 1 [ERROR] [MY-010334] [Server] Failed to initialize DD Storage Engine",
        "2026-11-21T09:00:03.000000Z 0 [ERROR] [MY-010119] [Server] Aborting",
    ]
    done = followed([*STARTS, *gives_up], "--json")
    assert done.returncode == 3
    assert last_object(done.stdout)["state"] == "ended"
