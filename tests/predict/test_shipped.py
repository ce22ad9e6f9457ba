"""The calibration that comes with redolab is what the committed recoveries give, and the report's calculator agrees with it."""

from __future__ import annotations

import msgspec
import pytest

from redolab.predict.calibrated_elsewhere import fit_committed, with_counts_of
from redolab.predict.calibration import shipped_calibration
from redolab.predict.fitting import FittedRuns
from redolab.predict.prediction_errors import ALL_SERVERS, error_rows, strata
from redolab.predict.recovery_time.fit import CrashCondition
from redolab.predict.recovery_time.held_out import HeldOut
from redolab.predict.recovery_time.stuck import StuckCount, StuckCounts
from redolab.results.committed import (
    committed_recoveries,
    other_committed_recoveries,
    recoveries_by_read_threads,
)
from redolab.units import GIB

pytestmark = pytest.mark.slow

_BY_CRASH_TOO = (HeldOut.RUN, HeldOut.MACHINE, HeldOut.LIMITED, HeldOut.CALIBRATED)


@pytest.fixture(scope="module")
def fitted() -> FittedRuns:
    return fit_committed()


def test_it_is_what_the_committed_runs_give(fitted: FittedRuns) -> None:
    shipped, again = shipped_calibration(), fitted.calibration
    assert set(shipped.servers) == set(again.servers)
    assert shipped.runs == again.runs
    for there, here in zip(shipped.other_machines, again.other_machines, strict=True):
        assert (there.machine, there.recoveries) == (here.machine, here.recoveries)
        # The last digit depends on the processor.
        assert there.times == pytest.approx(dict(here.times))
    for name, server in shipped.servers.items():
        of_tables = dict(again.servers[name].seconds_per_table_on)
        assert dict(server.seconds_per_table_on) == pytest.approx(of_tables, rel=1e-3)
        counts = again.servers[name].in_several_batches
        assert server.in_several_batches == counts, f"'redolab fit -o provision/calibration.json' ({name})"
        for workload, learnt in server.workloads.items():
            rates = again.servers[name].workloads[workload].rates
            assert learnt.rates == pytest.approx(dict(rates), rel=1e-3), (
                f"'redolab fit -o provision/calibration.json' ({name})"
            )
        assert server.binary_log_mb_s == pytest.approx(again.servers[name].binary_log_mb_s)
        assert server.binary_log_again_mb_s == pytest.approx(again.servers[name].binary_log_again_mb_s)
        rates = {storage: rate.rows_per_s for storage, rate in server.rollback_on.items()}
        assert rates == pytest.approx({name: each.rows_per_s for name, each in again.servers[name].rollback_on.items()})
        assert server.prepared_on.keys() == again.servers[name].prepared_on.keys()
        for storage, of_rows in server.prepared_on.items():
            fitted_rates = {each.most_rows: each.rows_per_s for each in again.servers[name].prepared_on[storage]}
            assert {each.most_rows: each.rows_per_s for each in of_rows} == pytest.approx(fitted_rates)
    for pages_given in (True, False):
        known = again.spreads.of(pages_given=pages_given)
        for kind, spread in shipped.spreads.of(pages_given=pages_given).items():
            assert known[kind].deviation == pytest.approx(spread.deviation, rel=1e-3)
    for kind, spread in shipped.rollback_spreads.items():
        assert again.rollback_spreads[kind].deviation == pytest.approx(spread.deviation, rel=1e-3)


def test_recoveries_with_several_read_threads_count_among_those_that_may_get_stuck() -> None:
    calibration = shipped_calibration()
    (workload,) = {name for name in calibration.servers["mysql-9"].workloads if name == "oltp_write_only"}
    without = {
        name: msgspec.structs.replace(server, in_several_batches=StuckCounts())
        for name, server in calibration.servers.items()
    }
    found = with_counts_of(msgspec.structs.replace(calibration, servers=without), recoveries_by_read_threads())
    of_it = found.servers["mysql-9"].in_several_batches
    # 11 of 12 pools with the smaller log, and with the larger 4 after one crash and 10 after another.
    assert of_it == StuckCounts({workload: StuckCount(10, 25, 3, 2 / 11 + 8 / 10)}, of_it.more_threads)
    assert {least: (each.stuck, each.crashes) for least, each in of_it.more_threads.items()} == {8: (1, 2), 16: (0, 2)}
    assert found.servers["mariadb-10.11"].in_several_batches == StuckCounts()


def test_machines_that_calibrated_themselves_are_judged_by_that(fitted: FittedRuns) -> None:
    calibrated = [each for each in fitted.judged if each.held_out is HeldOut.CALIBRATED]
    larger = [each for each in fitted.judged if each.held_out is HeldOut.CALIBRATED_LARGER]
    runs = [*committed_recoveries(), *other_committed_recoveries()]
    by_calibration = {run.name for run in runs if run.record().experiment == "calibrate"}
    machines = {each.machine.partition(" with ")[0] for each in [*calibrated, *larger]}
    assert machines == {"host A", "host B", "host C", "host D"}
    assert not by_calibration & {each.observation.run for each in [*calibrated, *larger]}
    assert all(each.observation.log_size <= GIB for each in calibrated)
    assert {each.observation.log_size for each in larger} == {2 * GIB, 4 * GIB, 8 * GIB}
    shipped = shipped_calibration().spreads.by_redo
    assert shipped[HeldOut.CALIBRATED_LARGER].at(3).deviation < shipped[HeldOut.LOG_SIZE].at(3).deviation


def test_strata_have_every_recovery_once(fitted: FittedRuns) -> None:
    rows = {row.held_out: row for row in error_rows(fitted.judged) if row.server == ALL_SERVERS}
    found = {(row.held_out, row.server): row for row in strata(list(rows.values()))}

    def recoveries(kind: HeldOut, *names: str) -> int:
        return sum(len(found[kind, name].given.of) for name in names if (kind, name) in found)

    everything = len(rows[HeldOut.RUN].given.of)
    assert recoveries(HeldOut.RUN, "virtual disk", "model of a disk") == everything
    assert recoveries(HeldOut.RUN, "log up to 512M", "log of 1G", "larger log") == everything
    for kind in _BY_CRASH_TOO:
        assert recoveries(kind, *CrashCondition) == len(rows[kind].given.of)
