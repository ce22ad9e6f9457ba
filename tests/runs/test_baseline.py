"""Changes against a baseline, of trials whose truth is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from redolab.runs.baseline import changed_in_words, compared_with_baseline
from redolab.runs.default_report import Configuration
from redolab.runs.schema import TrialRecord
from redolab.runs.trial_results import Result

BASELINE = {"log": "none", "place": ""}


class Rate(msgspec.Struct, frozen=True):
    """A trial."""

    per_second: float


def configuration(log: str, rates: dict[str, float], clients: str = "16") -> Configuration:
    factors = {"server": "MySQL 9.7.4", "clients": clients, "log": log, "place": "disk" if log == "all" else ""}
    return of_trials(factors, {block: Rate(rate) for block, rate in rates.items()})


def of_trials(
    factors: Mapping[str, str], trials: Mapping[str, Any], group: Any = None, step: Any = None
) -> Configuration:
    """A configuration of one trial in each of these blocks."""
    results: list[Result[Any, Any, Any]] = [
        Result(
            group=group,
            step=step,
            repeat=1,
            block=block,
            trial=trial,
            machine="local",
            record=TrialRecord(position=0, trial=trial),
        )
        for block, trial in trials.items()
    ]
    return Configuration(factors, results)


# The second block is twice as fast: a machine's drift passes for no change.
SPEEDS = {"run 1": 1000.0, "run 2": 2000.0, "run 3": 1100.0}
FOUND = [
    configuration("none", SPEEDS),
    configuration("all", {block: speed * (0.81 + 0.01 * place) for place, (block, speed) in enumerate(SPEEDS.items())}),
    configuration("table", {block: 0.5 * speed for block, speed in SPEEDS.items()}),
    configuration("none", dict.fromkeys(SPEEDS, 10.0), clients="1"),
    configuration("table", {"run 4": 5.0}, clients="1"),
]


def test_changes_are_those_in_the_same_blocks_and_of_the_same_cell() -> None:
    none, every, table, _, lonely = (each.change for each in compared_with_baseline(FOUND, "per_second", BASELINE))
    assert none is lonely is None
    assert table is not None
    assert table.change == pytest.approx(-0.5, abs=0.01)
    assert every is not None
    assert every.change == pytest.approx(-0.18, abs=0.005)
    assert every.low < -0.18 < every.high < -0.1


def test_a_sentence_has_the_widest_interval_and_none_where_none_is_told() -> None:
    found = [each for each in compared_with_baseline(FOUND, "per_second", BASELINE) if each.change is not None]
    assert changed_in_words(found).startswith("-50 to -18 % (95 %: -5")
    assert changed_in_words(found).endswith("significant in 2 of 2)")
    once = [configuration("none", {"run 1": 100.0}), configuration("all", {"run 1": 75.0})]
    assert changed_in_words(compared_with_baseline(once, "per_second", BASELINE)) == "-25 %"
