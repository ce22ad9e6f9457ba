"""Errors of `redolab follow` on recorded recoveries, each predicted from those of other runs alone.

`.venv/bin/python -m redolab.crash.recovery.follow_judged` writes provision/recoveries.json.xz, on which `follow` bases
its predictions.
"""

from __future__ import annotations

import itertools
import lzma
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from redolab.crash.recovery.replays import RecordedProcess, Replay, course_of, replays_in
from redolab.grouping import by_key
from redolab.results.committed import FOLLOWED
from redolab.runs.pages import measured_runs
from redolab.watch.following.follow import RECOVERIES
from redolab.watch.following.follower import Follower
from redolab.watch.following.time_left import (
    ANY_KIND,
    Course,
    Done,
    Held,
    IntervalWidening,
    RecordedRecoveries,
    TimeLeft,
    Way,
    time_left,
    widening_for,
)

if TYPE_CHECKING:
    import polars

MARKS = (0.1, 0.25, 0.5, 0.75)
"""Shares of a recovery's time at which the time left is asked for."""
EARLY = 0.2
"""Share of its time up to which little is seen of a recovery."""
_FEWEST_RUNS, _FEWEST_ASKED = 2, 10
"""Runs, and questions asked, that a kind of server needs for an interval of its own."""
RULE_MB_S = 6.0
"""The middle of "4 to 8 MB/s", the rule that is still quoted (docs/published.md)."""


@dataclass(frozen=True, slots=True)
class TimeLeftPrediction:
    """A prediction of `redolab follow` for one recovery, at one mark."""

    replay: Replay
    mark: float
    done: Done
    left: TimeLeft

    @property
    def left_s(self) -> float:
        """Seconds that the recovery still took."""
        return self.replay.ready * (1 - self.mark)

    @property
    def error(self) -> float:
        """(Expected end − true end) / whole time."""
        return (self.left.seconds - self.left_s) / self.replay.ready

    @property
    def inside(self) -> bool:
        """True if the interval holds the time that was really left."""
        return self.left.low <= self.left_s <= self.left.high

    @property
    def straight(self) -> float | None:
        """Error of a straight line: the phase at hand goes on as it did. None where the log shows no share of it."""
        done, share = self.done, 0.0
        if done.total:
            share = (done.applied or 0.0) / done.total if done.in_batch_s > 0 else done.read / done.total
        spent = done.applying_s if done.in_batch_s > 0 else done.reading_s
        if share <= 0 or spent <= 0:
            return None
        return (spent * (1 - min(1.0, share)) / share - self.left_s) / self.replay.ready

    @property
    def rule(self) -> float | None:
        """Error of `RULE_MB_S`; None where the size of the redo is not known."""
        if self.done.total is None:
            return None
        return (max(0.0, self.done.total / (RULE_MB_S * 1e6) - self.done.elapsed) - self.left_s) / self.replay.ready


def judged(replays: Sequence[Replay]) -> tuple[Mapping[Way, Sequence[TimeLeftPrediction]], RecordedRecoveries]:
    """Return each recovery as `redolab follow` would have predicted it at each mark, and the experience from all.

    The intervals are as wide as held for other runs. By process there are only recoveries whose process was sampled.
    """
    courses = tuple(course for each in replays if (course := course_of(each)) is not None)
    unwidened: dict[Way, list[TimeLeftPrediction]] = {way: [] for way in Way}
    for (run, kind), own in itertools.groupby(replays, lambda each: (each.run, each.kind)):
        others = RecordedRecoveries(courses=tuple(each for each in courses if each.run != run), widening={}, held={})
        similar = others.courses_of(kind)
        for replay, way in itertools.product(own, Way):
            unwidened[way] += _predictions(replay, others, similar, way)
    predictions = {way: list(_widened_by_others(rows)) for way, rows in unwidened.items()}
    widening = {way: _widenings(rows) for way, rows in unwidened.items()}
    coverage = {way: _coverage(rows) for way, rows in predictions.items()}
    return predictions, RecordedRecoveries(courses=courses, widening=widening, held=coverage)


def as_frame(predictions: Mapping[Way, Sequence[TimeLeftPrediction]]) -> polars.DataFrame:
    """Return a row for each recovery at each mark.

    `off`: signed error as a share of the whole time; a column says if the interval held. `straight` and `rule` are
    the errors of a straight line and of `RULE_MB_S`, null where these give none.
    """
    import polars as pl

    rows = [
        {
            "way": str(way),
            "recovery": id(each.replay),
            "run": each.replay.run,
            "server": each.replay.server,
            "ready_s": each.replay.ready,
            "mark": each.mark,
            "knows": str(each.left.knows),
            "off": each.error,
            "inside": each.inside,
            "straight": each.straight,
            "rule": each.rule,
        }
        for way, rows in predictions.items()
        for each in rows
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def recoveries_in(predictions: Iterable[TimeLeftPrediction]) -> int:
    """Return the number of predicted recoveries."""
    return len({id(each.replay) for each in predictions})


def _predictions(
    replay: Replay, others: RecordedRecoveries, similar: Sequence[Course], way: Way
) -> Iterator[TimeLeftPrediction]:
    """Yield a recovery at each mark at which something shows, with intervals that are not widened."""
    if way in (Way.PROCESS, Way.PROCESS_ALONE):
        if replay.process is not None:
            yield from _followed(replay, replay.process, others, has_log=way is Way.PROCESS)
        return
    knows_redo = way is Way.FILES
    total = replay.redo if knows_redo and replay.shows_end else None
    moments = [mark * replay.ready for mark in MARKS]
    for mark, now, log in zip(MARKS, moments, replay.logs_at(moments), strict=True):
        done = log.done(now, total, replay.log_size if knows_redo else None)
        yield TimeLeftPrediction(replay, mark, done, time_left(done, similar))


def _followed(
    replay: Replay, process: RecordedProcess, others: RecordedRecoveries, *, has_log: bool
) -> Iterator[TimeLeftPrediction]:
    follower = Follower(others, process, process.started, server=replay.server, has_log=has_log)
    before = float("-inf")
    for mark in MARKS:
        now = process.started + mark * replay.ready
        for after, text in replay.lines if has_log else ():
            if before < (at := process.started + after) <= now:
                follower.hear_line(text, at)
        for look in process.looks:
            if before < look.at <= now:
                follower.look(look.at)
        state, before = follower.state_at(now), now
        if state.left is not None:
            yield TimeLeftPrediction(replay, mark, state.done, state.left)


def _widened_by_others(unwidened: Sequence[TimeLeftPrediction]) -> Iterator[TimeLeftPrediction]:
    """Yield each with an interval as wide as held for servers of its kind in other runs."""
    for run, own in sorted(by_key(unwidened, lambda each: each.replay.run).items()):
        widening = _widenings([each for each in unwidened if each.replay.run != run])
        for each in own:
            yield replace(each, left=each.left.widened(widening.get(each.replay.kind, widening[ANY_KIND])))


def _widenings(unwidened: Sequence[TimeLeftPrediction]) -> dict[str, IntervalWidening]:
    """Return kind of server → how far its intervals must reach; a kind with too few recoveries has none of its own."""
    kinds = {
        kind: own
        for kind, own in sorted(by_key(unwidened, lambda each: each.replay.kind).items())
        if len({each.replay.run for each in own}) >= _FEWEST_RUNS and len(own) >= _FEWEST_ASKED
    }
    return {
        kind: widening_for([(each.left, each.left_s) for each in own])
        for kind, own in {ANY_KIND: unwidened, **kinds}.items()
    }


def _coverage(predictions: Sequence[TimeLeftPrediction]) -> dict[str, Held]:
    late = by_key([each for each in predictions if each.mark > EARLY], lambda each: each.replay.kind)
    return {
        kind: Held(recoveries=recoveries_in(own), asked=len(own), inside=sum(each.inside for each in own))
        for kind, own in sorted(late.items())
    }


if __name__ == "__main__":
    _, made = judged(replays_in(run for folder in FOLLOWED for run in measured_runs(folder)))
    RECOVERIES.write_bytes(lzma.compress(msgspec.json.encode(made)))
