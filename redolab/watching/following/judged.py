"""How far off the time left was, of recoveries that were recorded and of which nothing was known beforehand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from redolab.models.time_left import (
    ANY_KIND,
    Course,
    Done,
    Experience,
    Held,
    TimeLeft,
    Way,
    Widening,
    time_left,
    tracks_of,
    widening_for,
)
from redolab.timeline.stamps import records
from redolab.watching.following.follower import Follower
from redolab.watching.following.log_tail import Said
from redolab.watching.following.looks import RecordedProcess
from redolab.watching.following.replayed import Replay, course_of

MARKS = (0.1, 0.25, 0.5, 0.75)
"""Shares of a recovery's time at which is asked how long still."""
EARLY = 0.2
"""Share of its time up to which little is seen of a recovery."""
_FEWEST_RUNS = 2
_FEWEST_ASKED = 10
"""What a kind of server needs for an interval of its own."""
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

    asked: Mapping[Way, Sequence[Asked]]
    """By process only those whose process was looked at."""
    experience: Experience
    """What all of them tell of others."""


def judged(replays: Sequence[Replay]) -> Judgement:
    """Return each recovery as `redolab follow` would have expected it, its interval as wide as held for other runs.

    A recovery of which nothing shows at a mark is not asked there.
    """
    courses = tuple(course for each in replays if (course := course_of(each)) is not None)
    asked = {way: _widened_by_others(_narrow(replays, courses, way)) for way in Way}
    return Judgement(
        asked={way: [each for each, _ in found] for way, found in asked.items()},
        experience=Experience(
            courses=courses,
            widening={way: _widenings([narrow for _, narrow in found]) for way, found in asked.items() if found},
            held={way: _held([each for each, _ in found]) for way, found in asked.items() if found},
        ),
    )


def _narrow(replays: Sequence[Replay], courses: Sequence[Course], way: Way) -> list[Asked]:
    """Return all recoveries at each mark with intervals that are not widened."""
    if way in (Way.FILES, Way.LOG):
        return [asked for each in replays for asked in _asked(each, courses, way is Way.FILES)]
    return [
        asked
        for each in replays
        if each.process is not None
        for asked in _followed(each, each.process, courses, has_log=way is Way.PROCESS)
    ]


def _widened_by_others(narrow: Sequence[Asked]) -> list[tuple[Asked, Asked]]:
    """Return each with an interval as wide as held for other runs, and as it was."""
    found = []
    for run in dict.fromkeys(each.replay.run for each in narrow):
        by = _widenings([each for each in narrow if each.replay.run != run])
        for each in narrow:
            if each.replay.run == run:
                widening = by.get(each.replay.kind, by.get(ANY_KIND))
                found.append((each if widening is None else replace(each, left=each.left.widened(widening)), each))
    return found


def _widenings(narrow: Sequence[Asked]) -> dict[str, Widening]:
    """Return kind of server → how far its intervals must reach; a kind with too few recoveries has none of its own."""
    found = {} if not narrow else {ANY_KIND: widening_for([(each.left, each.true) for each in narrow])}
    for kind, own in _by_kind(narrow).items():
        if len({each.replay.run for each in own}) >= _FEWEST_RUNS and len(own) >= _FEWEST_ASKED:
            found[kind] = widening_for([(each.left, each.true) for each in own])
    return found


def _held(asked: Sequence[Asked]) -> dict[str, Held]:
    late = _by_kind([each for each in asked if each.mark > EARLY])
    return {
        kind: Held(
            recoveries=len({id(each.replay) for each in own}),
            asked=len(own),
            inside=sum(each.inside for each in own),
        )
        for kind, own in late.items()
    }


def _by_kind(asked: Sequence[Asked]) -> dict[str, list[Asked]]:
    found: dict[str, list[Asked]] = {}
    for each in sorted(asked, key=lambda each: each.replay.kind):
        found.setdefault(each.replay.kind, []).append(each)
    return found


def _followed(replay: Replay, process: RecordedProcess, courses: Sequence[Course], *, has_log: bool) -> list[Asked]:
    known = Experience(courses=tuple(each for each in courses if each.run != replay.run), widening={}, held={})
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
        found.append(Asked(replay, mark, done, time_left(done, tracks), replay.ready - now))
    return found
