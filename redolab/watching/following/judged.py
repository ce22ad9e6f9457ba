"""How far off the time left was, of recoveries that were recorded and of which nothing was known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from redolab.models.time_left import Course, Done, Experience, Knows, TimeLeft, time_left, tracks_of, widening_for
from redolab.timeline.stamps import records
from redolab.watching.following.follower import Follower
from redolab.watching.following.log_tail import Said
from redolab.watching.following.looks import RecordedProcess
from redolab.watching.following.replayed import Replay, course_of

MARKS = (0.1, 0.25, 0.5, 0.75)
"""Shares of a recovery's time at which is asked how long still."""
RULE_MB_S = 6.0
"""The middle of "4 to 8 MB/s", the rule that is still quoted (docs/published.md)."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A recovery that is asked about at one mark."""

    replay: Replay
    mark: float
    done: Done
    left: TimeLeft
    """As expected from the recoveries of other runs."""
    true: float
    """Seconds."""

    @property
    def off(self) -> float:
        """(Expected end − true end) / whole time."""
        return (self.left.seconds - self.true) / self.replay.ready

    @property
    def inside(self) -> bool:
        """Whether the truth is in the interval."""
        return self.left.low <= self.true <= self.left.high

    @property
    def straight(self) -> float | None:
        """Off, of a straight line through the share that the log shows of the phase at hand; None where it shows none."""
        return self._off(straight_line(self.done))

    @property
    def rule(self) -> float | None:
        """Off, of `RULE_MB_S`; None where the size of the redo is not known."""
        total = self.done.total
        return self._off(None if total is None else max(0.0, total / (RULE_MB_S * 1e6) - self.done.elapsed))

    def _off(self, left: float | None) -> float | None:
        return None if left is None else (left - self.true) / self.replay.ready


def straight_line(done: Done) -> float | None:
    """Seconds left of the phase at hand, if it goes on as it did; None where no share of it is shown."""
    share = 0.0
    if done.total:
        share = (done.applied or 0.0) / done.total if done.in_batch_s > 0 else done.read / done.total
    spent = done.applying_s if done.in_batch_s > 0 else done.reading_s
    return None if share <= 0 or spent <= 0 else spent * (1 - min(1.0, share)) / share


@dataclass(frozen=True, slots=True)
class Judgement:
    """All recoveries at each mark, by what is at hand; each is expected from recoveries of other runs alone."""

    by_files: Sequence[Asked]
    """By the log and the redo log files."""
    by_log: Sequence[Asked]
    """By the log alone."""
    by_process: Sequence[Asked]
    """By log, redo log files and process, of those whose process was looked at."""
    without_log: Sequence[Asked]
    """By redo log files and process, as of a server that logs nothing before it is ready."""
    experience: Experience
    """What all of them tell of others."""


def judged(replays: Sequence[Replay]) -> Judgement:
    """Each recovery as `redolab follow` would have expected it, its interval widened by what held for other runs.

    A recovery of which nothing shows at a mark is not asked there.
    """
    courses = tuple(course for each in replays if (course := course_of(each)) is not None)
    files, log = ([asked for each in replays for asked in _asked(each, courses, knows)] for knows in (True, False))
    narrow = [*files, *log]
    runs = list(dict.fromkeys(each.run for each in replays))
    widening = {run: _widening([asked for asked in narrow if asked.replay.run != run]) for run in runs}

    def followed(*, has_log: bool) -> list[Asked]:
        return [
            asked
            for each in replays
            if each.process is not None
            for asked in _followed(each, each.process, _without(courses, widening[each.run], each.run), has_log=has_log)
        ]

    return Judgement(
        by_files=[_widened(each, widening[each.replay.run]) for each in files],
        by_log=[_widened(each, widening[each.replay.run]) for each in log],
        by_process=followed(has_log=True),
        without_log=followed(has_log=False),
        experience=Experience(courses=courses, widening=_widening(narrow)),
    )


def _without(courses: Sequence[Course], widening: dict[Knows, float], run: str) -> Experience:
    return Experience(courses=tuple(each for each in courses if each.run != run), widening=widening)


def _followed(replay: Replay, process: RecordedProcess, known: Experience, *, has_log: bool) -> list[Asked]:
    follower = Follower(known, process, process.started, server=replay.server, has_log=has_log)
    lines = iter(replay.lines if has_log else ())
    looks = iter(process.looks)
    line, look = next(lines, None), next(looks, None)
    found = []
    for mark in MARKS:
        passed = mark * replay.ready
        now = process.started + passed
        while line is not None and line[0] <= passed:
            for record in records(line[1]):
                follower.hear(Said(record, process.started + line[0]))
            line = next(lines, None)
        while look is not None and look.at <= now:
            follower.look(look.at)
            look = next(looks, None)
        stands = follower.stands(now)
        if stands.left is not None:
            found.append(Asked(replay, mark, stands.done, stands.left, replay.ready - passed))
    return found


def _asked(replay: Replay, courses: Sequence[Course], knows_redo: bool) -> list[Asked]:
    tracks = tracks_of([each for each in courses if each.run != replay.run], replay.kind)
    found = []
    for mark in MARKS:
        now = mark * replay.ready
        total = replay.redo if knows_redo and replay.shows_end else None
        done = replay.log_at(now).done(now, total, replay.log_size if knows_redo else None)
        found.append(Asked(replay, mark, done, time_left(done, tracks, {}), replay.ready - now))
    return found


def _widening(asked: Sequence[Asked]) -> dict[Knows, float]:
    return {
        knows: widening_for([(each.left, each.true) for each in asked if each.left.knows is knows])
        for knows in sorted({each.left.knows for each in asked})
    }


def _widened(asked: Asked, widening: dict[Knows, float]) -> Asked:
    return replace(asked, left=asked.left.widened(widening.get(asked.left.knows, 1.0)))
