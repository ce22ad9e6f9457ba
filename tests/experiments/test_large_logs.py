"""The page's large logs on a machine of another class: predicted by what others taught, and as that was scaled there."""

from __future__ import annotations

import pytest

from redolab.predict.large_logs import LargeLog, in_words, large_logs
from redolab.results.committed import HOST_B, HOST_C, HOST_D
from redolab.runs.pages import measured_runs
from redolab.runs.store import Run
from redolab.units import GIB


def _calibration(folder: str) -> list[Run]:
    return [run for run in measured_runs(folder) if run.record().experiment == "calibrate"][:1]


def _of_intel(*, calibrated: bool) -> list[Run]:
    return [run for run in measured_runs(HOST_D) if calibrated or run.record().experiment != "calibrate"]


@pytest.fixture(scope="module")
def found() -> list[LargeLog]:
    return large_logs(_calibration(HOST_C), [*_calibration(HOST_B), *_of_intel(calibrated=True)])


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
    alone = large_logs(_calibration(HOST_C), _of_intel(calibrated=False))
    assert alone
    assert all(each.by_own is None for each in alone)
    assert "own small crashes" not in in_words(alone)
