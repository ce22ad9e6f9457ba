"""The recoveries that `redolab follow` compares one with."""

from __future__ import annotations

import msgspec
import pytest

from redolab.crash.records.recovery import Outcome
from redolab.crash.recovery.follow_judged import judged
from redolab.crash.recovery.replays import SHORTEST, replays_in
from redolab.project import PROJECT
from redolab.results.committed import BINARY_LOG, FOLLOWED, FULL_16G, HOST_F, HOST_G, HOST_I, MEMORY, READ_THREADS
from redolab.runs.pages import measured_runs
from redolab.watch.following.follow import experience
from redolab.watch.following.time_left import ANY_KIND, IntervalWidening, Way

LONG = 600.0
"""Seconds from which on a recovery is a long one."""


@pytest.mark.thorough
@pytest.mark.timeout(1200)
def test_they_are_what_the_committed_runs_give() -> None:
    """Judge each recovery at each mark by all others of its kind."""
    replays = replays_in(run for folder in FOLLOWED for run in measured_runs(folder))
    (_, made), shipped = judged(replays), experience()
    assert made.courses == shipped.courses
    assert made.held == shipped.held
    assert made.widening.keys() == shipped.widening.keys()
    for way, by_kind in made.widening.items():
        # Quantiles of logarithms, which processors round in the last place.
        assert rounded(by_kind) == rounded(shipped.widening[way])


def rounded(by_kind: dict[str, IntervalWidening]) -> dict[str, tuple[float, float]]:
    return {kind: (round(each.factor, 6), round(each.reach, 6)) for kind, each in by_kind.items()}


def test_each_kind_of_server_has_intervals_of_its_own() -> None:
    """Whichever way it is followed; what held for MySQL 9 is not taken for MariaDB 10.5."""
    shipped = experience()
    kinds = {each.kind for each in shipped.courses}
    for way in Way:
        assert shipped.widening[way].keys() == {ANY_KIND, *kinds}
        assert shipped.held[way].keys() == kinds
        assert shipped.widening_of(way, "MariaDB 10.2") != shipped.widening_of(way, "MySQL 9")
        assert shipped.widening_of(way, None) == shipped.widening_of(way, "another") is not None


def test_every_folder_with_recoveries_of_such_length_is_judged() -> None:
    """Those over ten minutes are among them."""
    found = dict[str, list[float]]()
    for path in PROJECT.measured.glob("*/*/trials.jsonl"):
        for line in path.read_text().splitlines():
            trial = msgspec.json.decode(line)["trial"]
            if trial.get("outcome") == Outcome.READY and (trial.get("seconds_to_ready") or 0) >= SHORTEST:
                found.setdefault(path.parents[1].name, []).append(trial["seconds_to_ready"])
    # Some recoveries of these folders were timed beside other work.
    assert found.keys() - {READ_THREADS, HOST_F, HOST_G, HOST_I, MEMORY, BINARY_LOG, FULL_16G} <= set(FOLLOWED)
    long = sum(seconds >= LONG for folder in found.keys() & set(FOLLOWED) for seconds in found[folder])
    assert long > 0
    assert sum(each.ready >= LONG for each in experience().courses) == long
