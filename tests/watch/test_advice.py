"""Wait or restart: in words, by what is seen."""

from __future__ import annotations

import pytest

from redolab.errorlog.watch import STUCK_AFTER
from redolab.watch.following.advice import Advice, Advised, Standstill, advised
from redolab.watch.following.service import StartLimit, limit_shown, seconds_of, unit_in
from redolab.watch.following.time_left import Knows, TimeLeft

LEFT = TimeLeft(seconds=120.0, low=60.0, high=240.0, least=30.0, most=600.0, share=0.7, knows=Knows.APPLYING_SHARE)


def stands(*, quiet: float | None = 0.5, blocked: float = 0.0, sees_process: bool = True) -> Standstill:
    return Standstill(quiet=quiet, blocked=blocked, sees_process=sees_process, stuck_after=STUCK_AFTER)


def told(standstill: Standstill | None = None, limit: StartLimit | None = None) -> Advised:
    return advised(300.0, LEFT, standstill or stands(), limit)


def test_a_restart_loses_what_was_done() -> None:
    said = told()
    assert said.advice is Advice.WAIT
    assert said.words == ("wait: a restart begins again at the checkpoint, and 5 min 0 s of 7 min 0 s are lost",)


def test_one_that_is_blocked_has_a_way_out() -> None:
    said = told(stands(quiet=STUCK_AFTER, blocked=STUCK_AFTER))
    assert said.advice is Advice.RESTART
    assert any("innodb_read_io_threads = 64" in each for each in said.words)
    assert any("do not delete redo log files" in each for each in said.words)


@pytest.mark.parametrize(
    "standstill",
    [
        stands(quiet=STUCK_AFTER - 1, blocked=STUCK_AFTER),
        stands(quiet=None, blocked=STUCK_AFTER - 1, sees_process=False),
        # Nothing shows what it reads.
        stands(quiet=None),
        stands(quiet=None, sees_process=False),
    ],
)
def test_nobody_is_told_to_restart_one_that_may_get_on(standstill: Standstill) -> None:
    assert told(standstill).advice is Advice.WAIT


def test_complaints_alone_are_enough_where_no_process_is_seen() -> None:
    said = told(stands(quiet=None, blocked=STUCK_AFTER, sees_process=False))
    assert said.advice is Advice.RESTART
    assert "has read no page" not in said.words[0]


def test_one_that_is_silent_is_looked_at_first() -> None:
    assert told(stands(quiet=STUCK_AFTER)).advice is Advice.LOOK
    # What it complained of once, it does no more.
    assert told(stands(quiet=STUCK_AFTER, blocked=0.0)).advice is Advice.LOOK


def test_a_unit_that_kills_it_is_named() -> None:
    assert "systemd will kill it in 1 min 40 s" in told(limit=StartLimit("mysql.service", 400.0)).words[1]
    assert "systemd may kill it" in told(limit=StartLimit("mysql.service", 500.0)).words[1]
    assert "systemd will kill it at any moment" in told(limit=StartLimit("mysql.service", 299.0)).words[1]
    assert len(told(limit=StartLimit("mysql.service", 900.0)).words) == 1


@pytest.mark.parametrize(
    ("shown", "limit"),
    [
        ("ActiveState=activating\nMainPID=77\nTimeoutStartUSec=10min\n", StartLimit("mysql.service", 600.0)),
        ("ActiveState=activating\nMainPID=77\nTimeoutStartUSec=infinity\n", None),
        # The limit is over, or of another process: of another machine's unit of that name, as in a container.
        ("ActiveState=active\nMainPID=77\nTimeoutStartUSec=10min\n", None),
        ("ActiveState=inactive\nMainPID=0\nTimeoutStartUSec=1min 30s\n", None),
    ],
)
def test_a_limit_holds_for_the_process_that_is_being_started(shown: str, limit: StartLimit | None) -> None:
    assert limit_shown("mysql.service", shown, 77) == limit


def test_the_limit_of_a_galera_node_is_fixed_while_it_recovers_before_its_start() -> None:
    """The server is a descendant of the shell that `ExecStartPre` runs, and the unit has no main process yet."""
    shown = "ActiveState=activating\nSubState=start-pre\nMainPID=0\nControlPID=70\nTimeoutStartUSec=15min\n"
    assert limit_shown("mariadb.service", shown, 77, [71, 70, 1]) == StartLimit("mariadb.service", 900.0, is_fixed=True)
    assert limit_shown("mariadb.service", shown, 77, [50, 1]) is None
    started = shown.replace("start-pre", "start").replace("MainPID=0", "MainPID=77")
    assert limit_shown("mariadb.service", started, 77, [1]) == StartLimit("mariadb.service", 900.0)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("1min 30s", 90.0),
        ("15min", 900.0),
        ("infinity", None),
        ("10min 500ms", 600.5),
        ("1h 40min", 6000.0),
        ("", None),
    ],
)
def test_spans_are_read_as_systemd_prints_them(said: str, seconds: float | None) -> None:
    assert seconds_of(said) == seconds


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("0::/system.slice/mysql.service\n", "mysql.service"),
        (
            "12:pids:/system.slice/mariadb@one.service\n1:name=systemd:/system.slice/mariadb@one.service\n",
            "mariadb@one.service",
        ),
        ("0::/system.slice/docker-3f1.scope\n", None),
        ("0::/user.slice/user-0.slice/session-1.scope\n", None),
    ],
)
def test_the_unit_of_a_server_is_in_its_control_group(cgroup: str, unit: str | None) -> None:
    assert unit_in(cgroup) == unit
