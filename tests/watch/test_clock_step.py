"""The wall clock is set while a recovery is followed, as chrony does after a boot: its states do not change."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import localtime, monotonic, struct_time

import msgspec
import pytest

from redolab.clock import process_start
from redolab.crash.recovery.looks import Beginning
from redolab.crash.recovery.replays import RecordedProcess, Replay, replays_of
from redolab.runs.pages import measured_runs
from redolab.watch.following import follow, log_tail
from redolab.watch.following.follower import Followed, Follower
from redolab.watch.following.log_tail import LogTail

_BOOTED = 500.0
"""Seconds since boot when the server began."""
_DAY = 1_800_000_000.0
"""Wall time then."""
_LOOK = 1.0
"""Seconds from look to look."""


@dataclass
class Clocks:
    """A machine's clocks and a log that grows, for code that knows them as the module `time`."""

    log: Path
    replay: Replay
    step: float
    """Seconds by which the wall clock is set at two fifths of the recovery."""
    passed: float = 0.0
    written: int = 0

    def monotonic(self) -> float:
        return _BOOTED + self.passed

    def time(self) -> float:
        return _DAY + self.passed + (self.step if self.passed > 0.4 * self.replay.ready else 0.0)

    def localtime(self, seconds: float) -> struct_time:
        return localtime(seconds)

    def sleep(self, _seconds: float) -> None:
        self.passed += _LOOK
        due = [text for at, text in self.replay.lines if at <= self.passed]
        with self.log.open("a") as file:
            file.writelines(f"{text}\n" for text in due[self.written :])
        self.written = len(due)


def processes(replay: Replay) -> RecordedProcess:
    """The process of a recorded recovery, as if it had begun at `_BOOTED`."""
    assert replay.process is not None
    shift = _BOOTED - replay.process.started
    beginning = Beginning(name=replay.process.name, started=_BOOTED, redo=replay.process.redo())
    return RecordedProcess(
        beginning, [msgspec.structs.replace(each, at=each.at + shift) for each in replay.process.looks]
    )


def followed(
    replay: Replay, step: float, log: Path, monkeypatch: pytest.MonkeyPatch, *, by_process: bool, by_log: bool
) -> Iterator[tuple[Followed, float]]:
    """Yield the states of a recovery until it is ready, with the wall time of each."""
    experience = follow.experience()
    known = msgspec.structs.replace(experience, courses=experience.courses[::20])
    log.write_text("")
    clocks = Clocks(log, replay, step)
    for module in (follow, log_tail):
        monkeypatch.setattr(module, "time", clocks)
    monkeypatch.setattr("redolab.clock.time", clocks)
    process = processes(replay) if by_process else None
    follower = Follower(known, process, _BOOTED, server=replay.server, has_log=by_log)
    # A process is named, so that none is looked for.
    request = follow.FollowRequest(log=log, pid=1, address=None, server=replay.server, waits=False)
    for state, instant in follow.states(follower, LogTail(log) if by_log else None, request):
        if clocks.passed > replay.ready:
            return
        yield state, instant.wall


@pytest.mark.parametrize(("by_process", "by_log"), [(True, True), (False, True), (True, False)])
def test_a_clock_that_is_set_changes_nothing_but_the_time_of_day(
    by_process: bool, by_log: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = [each for run in measured_runs("following") for each in replays_of(run)]
    replay = next(each for each in recorded if each.server == "mysql-9" and each.process is not None)
    without, ahead, back = (
        list(followed(replay, step, tmp_path / f"{step}.log", monkeypatch, by_process=by_process, by_log=by_log))
        for step in (0.0, 70.0, -70.0)
    )
    assert len(without) >= replay.ready / _LOOK - 1
    assert any(state.left is not None for state, _ in without)
    for stepped, step in ((ahead, 70.0), (back, -70.0)):
        assert [state for state, _ in stepped] == [state for state, _ in without]
        assert stepped[-1][1] - without[-1][1] == step


def test_the_start_of_a_process_is_on_the_monotonic_clock() -> None:
    """Of this one, which began in between: to a tick of the kernel's."""
    before = monotonic()
    with subprocess.Popen(["sleep", "60"]) as process:
        after = monotonic()
        started = process_start(process.pid)
        process.kill()
    assert before - 0.02 <= started <= after + 0.02
