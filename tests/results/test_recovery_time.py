"""One definition of recovery time, and one of when throughput was back."""

from __future__ import annotations

from msgspec.structs import replace

from redolab.crash.records.recovery import Outcome, WarmTime
from redolab.results.recoveries import median_back
from tests.examples import trial


def test_only_a_recovery_that_ended_well_has_a_recovery_time() -> None:
    measured = trial(3.3)
    assert measured.ready_s == 3.3
    for outcome in set(Outcome) - {Outcome.READY}:
        assert replace(measured, outcome=outcome).ready_s is None, outcome


def followed(back: float | None) -> WarmTime:
    return WarmTime(
        commits_before=100.0, clients_started=1.0, first_commit=2.0, back=back, best_share=0.5, followed=60.0
    )


def test_throughput_that_did_not_come_back_counts_as_never() -> None:
    assert median_back([followed(10.0), followed(20.0), followed(None)]) == 20.0
    assert median_back([followed(10.0), followed(None)]) is None
    assert median_back([followed(10.0), followed(None), followed(None)]) is None
    assert median_back([]) is None
