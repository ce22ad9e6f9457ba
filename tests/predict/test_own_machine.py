"""A user's few crashes: the project's rates, scaled to them; and how sure of that it is."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import msgspec
import pytest

from redolab.predict.calibration import Calibration, shipped_calibration
from redolab.predict.fitting import FittedRuns, fit_runs
from redolab.predict.own_machine import on_own_machine
from redolab.predict.recovery_time.held_out import HeldOut
from redolab.predict.recovery_time.spread import Spread
from redolab.predict.recovery_time.spreads import Spreads
from redolab.predict.recovery_time.stuck import StuckCount, StuckCounts
from redolab.results.committed import committed_recoveries

pytestmark = pytest.mark.slow

SERVER = "mysql-9"
_CALIBRATED = "20261127-104848"


@pytest.fixture(scope="module")
def few() -> FittedRuns:
    """Five crashes of each of two servers on two disks, as somebody calibrates."""
    return fit_runs([run for run in committed_recoveries() if run.name.startswith(_CALIBRATED)])


@pytest.fixture(scope="module")
def rest() -> FittedRuns:
    """What other runs measured on that machine and on another of its class."""
    return fit_runs([run for run in committed_recoveries() if not run.name.startswith(_CALIBRATED)], "EPYC")


@pytest.fixture(scope="module")
def made(few: FittedRuns, rest: FittedRuns) -> Calibration:
    return on_own_machine(few, rest.calibration)


def test_workloads_that_were_not_measured_here_are_known_too(few: FittedRuns, made: Calibration) -> None:
    assert "tpcc" not in few.calibration.servers[SERVER].workloads
    learnt = made.servers[SERVER].workloads["tpcc"]
    assert learnt.scaled_by == len([each for each in few.observations if each.server == SERVER])
    assert set(learnt.storages) == {"local", "gp3-3000"}
    assert list(made.servers) == ["mariadb-11.8", SERVER]
    assert made.machine == few.calibration.machine


def test_it_predicts_what_other_runs_measured_better_than_rates_of_its_own(
    few: FittedRuns, rest: FittedRuns, made: Calibration
) -> None:
    own = few.calibration.servers[SERVER].workloads
    others = [each for each in rest.observations if each.server == SERVER and each.workload in own]

    def off(calibration: Calibration) -> float:
        learnt = calibration.servers[SERVER].workloads
        return statistics.median(
            abs(math.log(each.ready / learnt[each.workload].ready(each.crash, each.pool, each.disk))) for each in others
        )

    assert off(made) < off(few.calibration)
    assert off(made) < 0.15


def test_it_is_no_surer_than_its_own_crashes_allow(few: FittedRuns, rest: FittedRuns, made: Calibration) -> None:
    spread = made.spreads.pages_given[HeldOut.CRASH]
    assert spread.count == len({each.crash_name for each in few.observations if each.server == SERVER})
    assert spread.deviation >= rest.calibration.spreads.pages_given[HeldOut.CRASH].deviation
    assert HeldOut.LOG_SIZE in made.spreads.kinds
    # Rates that a few crashes scaled have seen the pools of all that the project measured.
    assert made.spreads.by_redo[HeldOut.POOL] == rest.calibration.spreads.by_redo[HeldOut.POOL]


def test_larger_logs_are_as_unsure_as_where_others_calibrated(few: FittedRuns, rest: FittedRuns) -> None:
    seen = Spread(deviation=0.15, count=12, doubling=0.07)
    spreads = rest.calibration.spreads.each(lambda known: {**known, HeldOut.CALIBRATED_LARGER: seen})
    known = msgspec.structs.replace(rest.calibration, spreads=spreads)
    assert on_own_machine(few, known).spreads.by_redo[HeldOut.LOG_SIZE] == seen


def test_another_version_and_an_unknown_server_keep_their_own_rates(few: FittedRuns, rest: FittedRuns) -> None:
    known = rest.calibration
    other = msgspec.structs.replace(known.servers[SERVER], version="8.4.0")
    for servers in ({SERVER: other}, {"mariadb-10.11": known.servers["mariadb-10.11"]}):
        found = on_own_machine(few, msgspec.structs.replace(known, servers=servers))
        assert _rates(found) == _rates(few.calibration)


def test_enough_crashes_speak_for_themselves(rest: FittedRuns) -> None:
    found = on_own_machine(rest, shipped_calibration())
    assert _rates(found) == _rates(rest.calibration)


def test_recoveries_that_got_stuck_elsewhere_count_for_rates_of_ones_own_too(few: FittedRuns, rest: FittedRuns) -> None:
    """None of a handful says little, and a calibration does not try the pools with which they got stuck."""
    known = rest.calibration
    of_few = few.calibration.servers[SERVER].in_several_batches
    seen = StuckCounts({"tpcc": StuckCount(3, 12, 6, 1.5)}, {16: StuckCount(0, 5, 2, 0.0)})
    relative = msgspec.structs.replace(known.servers[SERVER], version="9.2.0", in_several_batches=seen)
    found = on_own_machine(few, msgspec.structs.replace(known, servers={SERVER: relative}))
    assert found.servers[SERVER].in_several_batches == of_few + seen
    for version in ("8.0.15", "8.4.0"):
        of_another_code = msgspec.structs.replace(relative, version=version)
        found = on_own_machine(few, msgspec.structs.replace(known, servers={SERVER: of_another_code}))
        assert found.servers[SERVER].in_several_batches == of_few
    scaled = on_own_machine(few, known).servers[SERVER]
    assert scaled.workloads["bulk-update"].scaled_by
    assert scaled.in_several_batches == of_few + known.servers[SERVER].in_several_batches


def test_a_calibration_is_no_surer_than_of_the_server_that_keeps_its_own_rates(
    few: FittedRuns, rest: FittedRuns
) -> None:
    unsure = Spread(deviation=0.9, count=4)
    of_two = msgspec.structs.replace(
        few.calibration,
        servers={**few.calibration.servers, "my-percona": few.calibration.servers[SERVER]},
        spreads=few.calibration.spreads.each(lambda known: {**known, HeldOut.CRASH: unsure}),
    )
    found = on_own_machine(replace(few, calibration=of_two), rest.calibration)
    assert found.servers[SERVER].workloads["bulk-update"].scaled_by
    assert not found.servers["my-percona"].workloads["bulk-update"].scaled_by
    assert found.spreads.by_redo[HeldOut.CRASH].deviation >= unsure.deviation


def test_where_nothing_could_be_judged_its_own_crashes_alone_say_how_sure_it_is(
    few: FittedRuns, rest: FittedRuns
) -> None:
    unjudged = replace(few, calibration=msgspec.structs.replace(few.calibration, spreads=Spreads()))
    found = on_own_machine(unjudged, msgspec.structs.replace(rest.calibration, spreads=Spreads()))
    assert found.spreads.kinds == {HeldOut.CRASH}
    assert found.spreads.by_redo[HeldOut.CRASH].deviation > 0


def _rates(calibration: Calibration) -> dict[str, object]:
    return {
        name: (each.memory, each.rates, each.dirty_pages)
        for name, each in calibration.servers[SERVER].workloads.items()
    }
