"""A server that is followed in this process: by lines of its log, and by looks that are made up."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from redolab.crash.recovery.looks import Beginning
from redolab.crash.recovery.replays import RecordedProcess
from redolab.errorlog.watch import STUCK_AFTER
from redolab.watch.following.advice import Advice
from redolab.watch.following.binary_log_course import BinaryLogFile
from redolab.watch.following.follow import experience
from redolab.watch.following.follow_view import for_programs, rows
from redolab.watch.following.follower import Followed, Follower, State
from redolab.watch.following.server_process import Look
from redolab.watch.following.service import StartLimit

LOOK = Look(at=1.0, sequential=0, mapped=0, called=0, read=1 << 20, written=0, cpu_seconds=0.1, listens=False)
STARTS = [
    "2026-11-21T09:00:00.000000Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld (mysqld 9.7.4) starting as process 77",
    "2026-11-21T09:00:01.000000Z 1 [Note] [MY-012550] [InnoDB] Doing recovery: scanned up to log sequence number 900",
]
COMPLAINS = (
    "2026-11-21T09:00:05.000000Z 1 [Warning] [MY-012092] [InnoDB] "
    "Difficult to find free blocks in the buffer pool (21 search iterations)!"
)


def while_it_complains(follower: Follower) -> Iterator[Followed]:
    """Yield the states in which a server has complained each second from second 5 to 89."""
    for second in range(5, 90):
        follower.hear_line(COMPLAINS, second)
        yield follower.state_at(second + 0.5)


def test_one_that_is_blocked_is_found_in_a_minute_also_by_its_log_alone() -> None:
    """The log of results/stuck.md: complaints without end, and nothing else."""
    follower = Follower(experience(), None, 0.0)
    for second, line in enumerate(STARTS):
        follower.hear_line(line, second)
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
    follower.hear_line(COMPLAINS, 5.0)
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
    follower.hear_line("2026-11-21 10:00:00 0 [Note] InnoDB: Starting crash recovery from checkpoint LSN=900", 1.0)
    words = follower.state_at(1.0).advised.words
    assert any("mariadb.service" in each for each in words) == is_warned


def test_while_the_binary_log_is_read_the_time_left_is_that_of_its_file() -> None:
    first = msgspec.structs.replace(LOOK, binary_log=BinaryLogFile(position=100, size=1000))
    looks = [first, msgspec.structs.replace(first, at=3.0, binary_log=BinaryLogFile(position=400, size=1000))]
    process = RecordedProcess(Beginning(name="mysqld", started=0.0, redo=None), looks)
    follower = Follower(experience(), process, 0.0, server="mysql-9")
    for each in looks:
        follower.look(each.at)
    follower.hear_line(
        "2026-11-21T09:00:01.000000Z 1 [Note] [MY-012551] [InnoDB] Database was not shutdown normally!", 1.0
    )
    state = follower.state_at(3.0)
    assert state.state is State.RECOVERING
    assert state.left is None
    shown = for_programs(state, 0.0)
    assert (shown["binary_log_read"], shown["binary_log"], shown["binary_log_left_s"]) == (400, 1000, 4.0)
    assert dict(rows(state, 0.0))["left"] == "at least 4.00 s more"
