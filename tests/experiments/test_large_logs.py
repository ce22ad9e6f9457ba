"""Predictions of large logs on a machine of another class: by the calibrations of others, and scaled by its own."""

from __future__ import annotations

import pytest

from redolab.predict.large_logs import LargeLog, in_words, large_logs
from redolab.results.committed import HOST_B, HOST_C, HOST_D
from redolab.runs.pages import measured_runs
from redolab.runs.store import Run
from redolab.units import GIB


def _calibrations(folder: str) -> list[Run]:
    return [run for run in measured_runs(folder) if run.record().experiment == "calibrate"]


@pytest.fixture(scope="module")
def found() -> list[LargeLog]:
    return large_logs(_calibrations(HOST_C)[:1], [*_calibrations(HOST_B)[:1], *measured_runs(HOST_D)])


def test_both_predictions_are_of_the_same_recoveries_of_large_logs(found: list[LargeLog]) -> None:
    assert len(found) >= 8
    assert {each.by_others.keyed.trial.log_size for each in found} >= {4 * GIB, 8 * GIB}
    for each in found:
        assert each.by_own is not None
        assert each.by_own.keyed == each.by_others.keyed
        assert each.by_others.predicted is not None
        assert each.by_own.predicted is not None
        # Another machine is a step for which the interval allows; its own calibration has none.
        low, high = each.by_others.predicted.ninety
        own_low, own_high = each.by_own.predicted.ninety
        assert high / low != pytest.approx(own_high / own_low)


def test_without_its_calibration_only_others_predict_it() -> None:
    uncalibrated = [run for run in measured_runs(HOST_D) if run.record().experiment != "calibrate"]
    alone = large_logs(_calibrations(HOST_C)[:1], uncalibrated)
    assert alone
    assert all(each.by_own is None for each in alone)
    assert "own small crashes" not in in_words(alone)
