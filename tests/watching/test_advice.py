"""Wait or restart: in words, by what is seen."""

from __future__ import annotations

import pytest

from redolab.models.time_left import Knows, TimeLeft
from redolab.records.recovery import STUCK_AFTER
from redolab.timeline.phase import Phase
from redolab.watching.following.advice import Advice, Advised, advised
from redolab.watching.following.service import StartLimit, seconds_of, unit_in

LEFT = TimeLeft(seconds=120.0, low=60.0, high=240.0, share=0.7, knows=Knows.APPLYING_SHARE)


def told(
    *,
    phase: Phase = Phase.APPLY,
    quiet: float | None = 0.5,
    blocked: bool = False,
    limit: StartLimit | None = None,
    is_extended: bool = False,
) -> Advised:
    return advised(
        phase=phase,
        elapsed=300.0,
        left=LEFT,
        quiet=quiet,
        stuck_after=STUCK_AFTER,
        blocked=blocked,
        limit=limit,
        is_extended=is_extended,
    )


def test_a_restart_loses_what_was_done() -> None:
    said = told()
    assert said.advice is Advice.WAIT
    assert said.words == ("wait: a restart begins again at the checkpoint, and loses 5 min 0 s of 7 min 0 s",)


def test_one_that_is_blocked_has_a_way_out() -> None:
    said = told(quiet=STUCK_AFTER, blocked=True)
    assert said.advice is Advice.RESTART
    assert any("innodb_read_io_threads = 64" in each for each in said.words)
    assert any("do not delete redo log files" in each for each in said.words)
    assert told(quiet=STUCK_AFTER - 1, blocked=True).advice is Advice.WAIT


def test_one_that_is_silent_is_looked_at_first() -> None:
    assert told(quiet=STUCK_AFTER).advice is Advice.LOOK
    assert told(quiet=None).advice is Advice.WAIT


def test_a_unit_that_kills_it_is_named() -> None:
    said = told(limit=StartLimit("mysql.service", 400.0))
    assert "systemd will kill it in 1 min 40 s" in said.words[1]
    assert "systemd may kill it" in told(limit=StartLimit("mysql.service", 500.0)).words[1]
    assert len(told(limit=StartLimit("mysql.service", 900.0)).words) == 1
    assert len(told(limit=StartLimit("mariadb.service", 400.0), is_extended=True).words) == 1


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
