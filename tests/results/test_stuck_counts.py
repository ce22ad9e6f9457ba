"""Recoveries in several batches, and those that got stuck, by the number of read threads."""

from __future__ import annotations

import msgspec

from redolab.crash.records.recovery import Outcome, RecoveryTrial
from redolab.predict.observations import stuck_counts
from redolab.predict.recovery_time.stuck import StuckCount, StuckCounts
from redolab.results.alike import Keyed
from redolab.units import GIB
from tests.examples import MACHINE, image, keyed, record, trial


def _recovery(
    settings: str, outcome: Outcome, batches: int = 2, *, cpus: int = 2, crash: str = "one", pool: int = GIB
) -> Keyed:
    done = trial()
    assert done.timeline is not None
    made: RecoveryTrial = msgspec.structs.replace(
        done,
        image=crash,
        buffer_pool=pool,
        server="mysql-9",
        version="9.7.4-2",
        settings=settings,
        outcome=outcome,
        timeline=msgspec.structs.replace(done.timeline, batches=batches),
    )
    return keyed(record(made), machine=msgspec.structs.replace(MACHINE, cores=cpus))


_STUCK, _READY = Outcome.STUCK, Outcome.READY


def test_each_crash_counts_once_and_other_settings_and_single_batches_do_not() -> None:
    recoveries = [
        *[_recovery("", _STUCK, batches=1)] * 3,
        _recovery("innodb_read_io_threads=4", _READY),
        _recovery("", _READY, crash="two"),
        _recovery("innodb_read_io_threads=4", _READY, batches=1),
        _recovery("innodb_doublewrite=0", _STUCK),
        _recovery("innodb_read_io_threads=4+innodb_doublewrite=0", _STUCK),
    ]
    workload = image().spec.workload
    found = stuck_counts(recoveries, "mysql-9", [workload, "another"])
    assert found == StuckCounts({workload: StuckCount(3, 5, 2, 0.75)})
    assert stuck_counts(recoveries, "mysql-8.0", [workload]) == StuckCounts()


def test_more_threads_are_told_only_by_crashes_and_pools_that_got_stuck_with_fewer() -> None:
    recoveries = [
        _recovery("", _STUCK),
        _recovery("", _READY, crash="two"),
        # The default on 64 CPUs, and what was set.
        _recovery("", _READY, cpus=64),
        _recovery("innodb_read_io_threads=64", _READY),
        _recovery("innodb_read_io_threads=16", _READY, pool=2 * GIB),
        _recovery("innodb_read_io_threads=16", _READY, crash="two"),
        _recovery("innodb_read_io_threads=8", _READY, crash="two"),
    ]
    workload = image().spec.workload
    assert stuck_counts(recoveries, "mysql-9", [workload]) == StuckCounts(
        {workload: StuckCount(1, 2, 2, 1.0)}, {16: StuckCount(0, 2, 1, 0.0)}
    )
