"""Whole loads beside what was planned for them, on a committed run of loads that were crashed at random moments."""

from __future__ import annotations

import math

import msgspec
import pytest

from redolab.predict.calibration import Calibration, shipped_calibration
from redolab.predict.judged_predictions import JudgedStratum, judged_recoveries, strata
from redolab.predict.judging_tables import planned_table
from redolab.results.alike import keyed_recoveries
from redolab.runs.pages import measured_runs


@pytest.fixture(scope="module")
def loads() -> list[JudgedStratum]:
    return _loads(shipped_calibration())


def _loads(calibration: Calibration) -> list[JudgedStratum]:
    run = measured_runs("production")[0]
    return strata(judged_recoveries(keyed_recoveries([run]), calibration), calibration)


def test_a_load_whose_like_is_known_is_planned_by_its_ages(loads: list[JudgedStratum]) -> None:
    assert len(loads) == 4
    for load in loads:
        assert load.planned is not None
        assert load.planned.half_s < load.planned.ninety_five_s
        # The calibration has learned from these very loads: it knows what half of them took.
        assert load.planned_ratio is not None
        assert abs(math.log(load.planned_ratio)) < 0.35
        late = [each for each in load.recoveries if (each.ready or math.inf) > load.planned.ninety_five_s]
        assert load.above_planned == len(late)


def test_a_load_of_no_known_kind_is_not_planned() -> None:
    shipped = shipped_calibration()
    servers = {
        name: msgspec.structs.replace(
            server,
            workloads={each: msgspec.structs.replace(of, moments={}) for each, of in server.workloads.items()},
        )
        for name, server in shipped.servers.items()
    }
    loads = _loads(msgspec.structs.replace(shipped, servers=servers))
    assert [load.planned for load in loads] == [None] * len(loads)
    text = planned_table(loads).as_text()
    assert "–" in text
