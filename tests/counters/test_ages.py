"""Where the checkpoint age was in samples."""

from __future__ import annotations

from redolab.counters.ages import checkpoint_ages, limit_in
from redolab.servers.redo_counters import Sample


def _samples(ages: list[int | None], limit: int | None = None) -> list[Sample]:
    return [
        Sample(monotonic=float(place), wall=None, checkpoint_age=age, hard_limit=limit)
        for place, age in enumerate(ages)
    ]


def test_quantiles_go_from_the_least_to_the_most() -> None:
    found = checkpoint_ages(_samples([*range(1000), None]))
    assert len(found) == 101
    assert (found[0], found[50], found[-1]) == (0, 499, 999)
    assert list(found) == sorted(found)


def test_few_samples_are_all_there_is() -> None:
    assert checkpoint_ages(_samples([30, 10, 20])) == (10, 20, 30)
    assert checkpoint_ages(_samples([None, None])) == ()
    assert checkpoint_ages([]) == ()


def test_ages_of_a_log_that_was_resized_are_shares_of_the_last_size() -> None:
    assert checkpoint_ages([*_samples([50, 90], 100), *_samples([80], 800)]) == (80, 400, 720)


def test_the_limit_is_the_last_that_was_told() -> None:
    assert limit_in([*_samples([1], 100), *_samples([1], 200), *_samples([1])]) == 200
    assert limit_in(_samples([1])) is None
