"""What comes with redolab is asked about machines that it has not seen: its intervals allow for them, and it says so."""

from __future__ import annotations

import math

import pytest

from redolab.predict.asking import model_of
from redolab.predict.calibration import (
    on_its_machine,
    other_machines_of,
    shipped_calibration,
    with_spreads_of,
)
from redolab.predict.question import Question
from redolab.predict.recovery import recovery_at
from redolab.predict.recovery_time.held_out import OF_MACHINES, HeldOut, HeldOutPrediction
from redolab.predict.recovery_time.spreads import spreads_of
from redolab.units import GIB
from tests.predict.examples import calibration, model
from tests.predict.recovery_time.examples import observations


def predicted_elsewhere(machine: str, times: float, kind: HeldOut = HeldOut.MACHINE) -> list[HeldOutPrediction]:
    """Recoveries on a machine on which all take so many times as long as predicted."""
    return [
        HeldOutPrediction(kind, each, each.ready / times, each.ready, machine)
        for each in observations("mysql-9", noise=0.05)
    ]


def test_each_machine_counts_once_however_many_recoveries_it_has() -> None:
    many, few = predicted_elsewhere("slow", 2.0), predicted_elsewhere("alike", 1.0)[:3]
    spread = spreads_of([*many, *few]).pages_given[HeldOut.MACHINE]
    assert spread.count == 2
    assert spread.deviation == pytest.approx(math.log(2) / math.sqrt(2))
    limited = predicted_elsewhere("slow", 1.2, HeldOut.LIMITED)
    slow, alike = other_machines_of([*many, *limited, *few])
    assert slow.times == {HeldOut.MACHINE: pytest.approx(2.0), HeldOut.LIMITED: pytest.approx(1.2)}
    assert (alike.machine, alike.recoveries) == ("alike", 3)
    assert alike.times == {HeldOut.MACHINE: pytest.approx(1.0)}


def test_a_calibration_of_ones_own_allows_for_no_other_machine() -> None:
    shipped = shipped_calibration()
    assert set(OF_MACHINES) <= shipped.spreads.kinds
    own = with_spreads_of(calibration(), shipped)
    assert not set(OF_MACHINES) & own.spreads.kinds
    assert model("mysql-9", known=own).extrapolations == ()


@pytest.mark.parametrize("storage", ["local", "gp3-3000"])
def test_what_comes_with_redolab_holds_the_times_of_the_machines_that_it_did_not_learn_from(storage: str) -> None:
    shipped = shipped_calibration()
    question = Question(server="mysql-9", storage=storage, pool=8 * GIB, workload="bulk-update")
    yours, ours = model_of(question, shipped, storage), model_of(question, on_its_machine(shipped), storage)
    way = HeldOut.MACHINE if storage == "local" else HeldOut.LIMITED
    assert way in yours.extrapolations
    found, on_ours = recovery_at(yours, GIB), recovery_at(ours, GIB)
    assert found.seconds == on_ours.seconds
    slowest = max(each.times[way] for each in shipped.other_machines if way in each.times)
    assert found.ninety[1] > max(slowest * found.seconds, on_ours.ninety[1])
    assert len(yours.warnings) == len(ours.warnings) + 1


def test_another_storage_of_the_same_calibration_has_its_own_error_on_other_machines() -> None:
    question, known = Question(server="mysql-9", storage="local", pool=GIB), shipped_calibration()
    here, there = (model_of(question, known, storage) for storage in ("local", "gp3-3000"))
    assert HeldOut.LIMITED in there.extrapolations
    assert HeldOut.MACHINE not in there.extrapolations
    assert HeldOut.MACHINE in here.extrapolations
