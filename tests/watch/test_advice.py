"""Advice on a recovery, to wait or to restart; its words are in `advice.txt`.

.venv/bin/python -m tests.watch.test_advice

writes the words anew: read the difference before committing it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.errorlog.watch import STUCK_AFTER
from redolab.watch.following.advice import Advice, Advised, Standstill, advised, advised_of_unknown
from redolab.watch.following.service import StartLimit, limit_shown, seconds_of, unit_in
from redolab.watch.following.time_left import Knows, TimeLeft

WORDS = Path(__file__).with_name("advice.txt")
LEFT = TimeLeft(seconds=120.0, low=60.0, high=240.0, least=30.0, most=600.0, share=0.7, knows=Knows.APPLYING_SHARE)


def advice(quiet: float | None, blocked: float = 0.0, *, kills_after: float | None = None) -> Advised:
    """Return the advice after 300 s; `quiet` None: the process is not seen."""
    standstill = Standstill(quiet=quiet, blocked=blocked, sees_process=quiet is not None)
    return advised(300.0, LEFT, standstill, None if kills_after is None else StartLimit("mysql.service", kills_after))


CASES = {
    "progress": (advice(0.5), Advice.WAIT),
    "no progress for less than a minute": (advice(STUCK_AFTER - 1, STUCK_AFTER), Advice.WAIT),
    "no progress can be seen": (advice(None), Advice.WAIT),
    "complaints for less than a minute": (advice(None, STUCK_AFTER - 1), Advice.WAIT),
    "complaints for a minute": (advice(None, STUCK_AFTER), Advice.RESTART),
    "complaints and no read for a minute": (advice(STUCK_AFTER, STUCK_AFTER), Advice.RESTART),
    "neither complaints nor a read for a minute": (advice(STUCK_AFTER), Advice.LOOK),
    "complaints of a server whose start is not seen": (
        advised_of_unknown(Standstill(quiet=None, blocked=STUCK_AFTER, sees_process=False)),
        Advice.LOOK,
    ),
    "killed before the recovery may end": (advice(0.5, kills_after=500.0), Advice.WAIT),
    "killed before the recovery will end": (advice(0.5, kills_after=400.0), Advice.WAIT),
    "killed at any moment": (advice(0.5, kills_after=299.0), Advice.WAIT),
    "killed later than the recovery ends": (advice(0.5, kills_after=900.0), Advice.WAIT),
}


def words() -> str:
    return "\n".join("\n    ".join([case, *given.words]) + "\n" for case, (given, _) in CASES.items())


@pytest.mark.parametrize("case", CASES)
def test_only_a_server_without_progress_is_to_be_restarted_or_looked_at(case: str) -> None:
    given, expected = CASES[case]
    assert given.advice is expected


def test_advice_has_the_words_of_its_file() -> None:
    assert words() == WORDS.read_text()


@pytest.mark.parametrize(
    ("shown", "seconds", "is_fixed"),
    [
        ("ActiveState=activating MainPID=77 TimeoutStartUSec=10min", 600.0, False),
        ("ActiveState=activating MainPID=77 TimeoutStartUSec=infinity", None, False),
        # Started already, or the unit of that name on another machine, as in a container.
        ("ActiveState=active MainPID=77 TimeoutStartUSec=10min", None, False),
        ("ActiveState=inactive MainPID=0 TimeoutStartUSec=90s", None, False),
        # A Galera node recovers below the shell that `ExecStartPre` runs, before the unit has a main process.
        ("ActiveState=activating SubState=start-pre MainPID=0 ControlPID=70 TimeoutStartUSec=15min", 900.0, True),
        ("ActiveState=activating SubState=start-pre MainPID=0 ControlPID=69 TimeoutStartUSec=15min", None, False),
        ("ActiveState=activating SubState=start MainPID=77 ControlPID=70 TimeoutStartUSec=15min", 900.0, False),
    ],
)
def test_a_limit_holds_for_the_process_that_is_being_started(shown: str, seconds: float | None, is_fixed: bool) -> None:
    limit = None if seconds is None else StartLimit("mysql.service", seconds, is_fixed)
    assert limit_shown("mysql.service", shown.replace(" ", "\n"), 77, [71, 70, 1]) == limit


@pytest.mark.parametrize(
    ("span", "seconds"), [("1min 30s", 90.0), ("10min 500ms", 600.5), ("1h 40min", 6000.0), ("infinity", None)]
)
def test_spans_are_read_as_systemd_prints_them(span: str, seconds: float | None) -> None:
    assert seconds_of(span) == seconds


@pytest.mark.parametrize(
    ("cgroup", "unit"),
    [
        ("0::/system.slice/mysql.service\n", "mysql.service"),
        ("12:pids:/system.slice/mariadb@one.service\n1:name=systemd:/system.slice/x\n", "mariadb@one.service"),
        ("0::/system.slice/docker-3f1.scope\n", None),
    ],
)
def test_the_unit_of_a_server_is_in_its_control_group(cgroup: str, unit: str | None) -> None:
    assert unit_in(cgroup) == unit


if __name__ == "__main__":
    WORDS.write_text(words())
