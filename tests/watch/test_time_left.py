"""The time left of a recovery: in worlds whose recoveries are drawn, so that the truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from redolab.units import GIB
from redolab.watch.following.time_left import (
    POINTS,
    Course,
    Done,
    IntervalWidening,
    Knows,
    RecordedRecoveries,
    TimeLeft,
    time_left,
    widening_for,
)

KIND = "MySQL 9"


@dataclass(frozen=True)
class Drawn:
    """A recovery that reads all of its redo, applies it in one batch, and takes a second to open; times in seconds."""

    redo: float
    reading: float
    applying: float

    @property
    def ready(self) -> float:
        return self.reading + self.applying + 1.0

    def done(self, now: float, *, total: bool = True, shows: bool = True) -> Done:
        read = min(1.0, now / self.reading)
        in_batch = min(max(0.0, now - self.reading), self.applying)
        is_over = in_batch >= self.applying
        share = in_batch / self.applying
        return Done(
            elapsed=now,
            total=self.redo if total else None,
            read=read * self.redo,
            applied=share * self.redo if shows else None,
            complete=self.redo if is_over else 0.0,
            reading_s=min(now, self.reading),
            applying_s=in_batch,
            unseen_s=0.0 if shows or is_over else in_batch,
            in_batch_s=0.0 if is_over else in_batch,
        )

    def course(self) -> Course:
        moments = [(number + 0.5) / POINTS * self.ready for number in range(POINTS)]
        shown = [self.done(each) for each in moments]
        blind = [self.done(each, shows=False) for each in moments]
        return Course(
            run="run",
            server="mysql-9",
            kind=KIND,
            redo=round(self.redo),
            ready=self.ready,
            read=tuple(each.read / self.redo for each in shown),
            applied=tuple((each.applied or 0.0) / self.redo for each in shown),
            complete=tuple(each.complete / self.redo for each in shown),
            reading=tuple(each.reading_s for each in shown),
            applying=tuple(each.applying_s for each in shown),
            unseen=tuple(each.unseen_s for each in shown),
            in_batch=tuple(each.in_batch_s for each in blind),
            pages_a_mib=(0,) * POINTS,
            all_reading=self.reading,
            all_applying=self.applying,
        )


def drawn(number: int, seed: int, *, slower: float = 1.0, turn: float = 1.0) -> list[Drawn]:
    """Recoveries on disks of all kinds: applying takes about twice as long as reading, more or less so by each."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        redo = float(random.uniform(0.2, 4)) * GIB
        speed = float(np.exp(random.normal(0, 0.5)))
        reading = slower * redo / GIB * 10 * speed
        found.append(Drawn(redo, reading, reading * turn * 2 * float(np.exp(random.normal(0, 0.3)))))
    return found


def courses_like(recoveries: Sequence[Drawn], kind: str | None) -> Sequence[Course]:
    courses = tuple(each.course() for each in recoveries)
    return RecordedRecoveries(courses=courses, widening={}, held={}).courses_of(kind)


COURSES = courses_like(drawn(150, 1), KIND)


@pytest.mark.parametrize("mark", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("shows", [True, False])
def test_the_truth_is_in_the_interval_eight_times_in_ten(mark: float, shows: bool) -> None:
    """With what was seen of others, widened by what held for them: on recoveries that no estimate has seen."""

    def asked(each: Drawn) -> Done:
        return each.done(mark * each.ready, shows=shows)

    earlier = [(time_left(asked(each), COURSES), (1 - mark) * each.ready) for each in drawn(120, 2)]
    widening = widening_for(earlier)
    judged = [
        (time_left(asked(each), COURSES, widening), (1 - mark) * each.ready, each.ready) for each in drawn(120, 3)
    ]
    inside = sum(left.low <= true <= left.high for left, true, _ in judged) / len(judged)
    off = sorted(abs(left.seconds - true) / ready for left, true, ready in judged)

    assert 0.68 <= inside <= 0.92
    assert off[len(off) // 2] <= 0.15


def test_a_disk_that_is_five_times_slower_is_seen_by_its_speed() -> None:
    judged = []
    for each in drawn(40, 4, slower=5.0):
        now = 0.5 * each.ready
        judged.append((time_left(each.done(now), COURSES).seconds - 0.5 * each.ready) / each.ready)
    assert abs(sorted(judged)[20]) < 0.15


def test_applying_that_shows_its_share_is_believed_more_than_others() -> None:
    """One that applies six times as long as others: at half of its apply it is known, at a tenth not yet."""
    slow = drawn(1, 5, turn=6.0)[0]
    now = slow.reading + 0.5 * slow.applying
    left = time_left(slow.done(now), COURSES)
    true = slow.ready - now
    assert left.knows is Knows.APPLYING_SHARE
    assert abs(left.seconds - true) / slow.ready < 0.15

    blind = time_left(slow.done(now, shows=False), COURSES)
    assert blind.knows is Knows.APPLYING
    assert blind.seconds < left.seconds


def test_a_size_that_is_not_known_makes_it_less_sure() -> None:
    each = drawn(1, 6)[0]
    now = 0.2 * each.reading
    knows, does_not = (time_left(each.done(now, total=total), COURSES) for total in (True, False))
    assert (knows.knows, does_not.knows) == (Knows.READING_OF, Knows.READING)
    assert does_not.high / does_not.low > knows.high / knows.low


def test_what_the_log_holds_bounds_what_is_not_known() -> None:
    """Nothing is read yet: of a log of 256M no recovery like those of 4G is expected."""
    small = Done(elapsed=1.0, most=GIB / 4)
    any_size = Done(elapsed=1.0)
    assert time_left(small, COURSES).seconds < time_left(any_size, COURSES).seconds


def test_there_is_always_something_left_and_the_ends_lie_around_it() -> None:
    """Before anything was read, at the end, and for one that takes longer than any other did."""
    each = drawn(1, 7)[0]
    for now in (0.0, each.ready - 0.01, 5 * each.ready):
        left = time_left(each.done(now), COURSES, IntervalWidening(factor=1.3, reach=0.0))
        assert 0 < left.low < left.seconds < left.high
        assert 0 <= left.share < 1


def test_other_servers_are_asked_where_a_kind_is_unknown() -> None:
    known = drawn(8, 8)
    assert len(courses_like(known, "MariaDB 10.6")) == len(courses_like(known, None)) == 8


def test_an_interval_reaches_as_far_as_true_times_were_and_no_further() -> None:
    """Beyond all recoveries that are known, where others like it were beyond them too."""
    left = TimeLeft(seconds=10.0, low=9.0, high=11.0, least=8.0, most=12.0, share=0.5, knows=Knows.READING)
    narrow = left.widened(IntervalWidening(factor=50.0, reach=0.0))
    assert (narrow.low, narrow.high) == (8.0, 12.0)
    wide = left.widened(IntervalWidening(factor=50.0, reach=1.0))
    assert wide.low == pytest.approx(10 / np.e)
    assert wide.high == pytest.approx(10 * np.e)
