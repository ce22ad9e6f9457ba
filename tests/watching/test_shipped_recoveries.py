"""The recoveries that `redolab follow` compares one with."""

from __future__ import annotations

from redolab.watching.following.follow import experience
from redolab.watching.following.judged import judged
from redolab.watching.following.replayed import replays


def test_they_are_what_the_committed_runs_give() -> None:
    made, shipped = judged(replays()).experience, experience()
    assert made.courses == shipped.courses
    # Quantiles of logarithms, which processors round in the last place.
    assert {key: round(value, 6) for key, value in made.widening.items()} == {
        key: round(value, 6) for key, value in shipped.widening.items()
    }
