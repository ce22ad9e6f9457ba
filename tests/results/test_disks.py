"""What the model takes a disk for, where several runs on one machine had fio look at it."""

from __future__ import annotations

import statistics

from redolab.disks.profiles import HOME
from redolab.predict.observations import known_disks
from redolab.results.alike import Keys, keyed_recoveries
from redolab.results.committed import HOST_D
from redolab.results.storages import storages_of
from redolab.runs.pages import measured_runs


def test_a_disk_is_the_median_of_what_fio_found_and_not_what_it_met_in_a_busy_minute() -> None:
    runs = measured_runs(HOST_D)
    latencies = [
        record.check.got.write.latency_us
        for run in runs
        for record in storages_of(run).records
        if record.storage == HOME and record.check is not None
    ]
    usual = statistics.median(latencies)
    assert max(latencies) > 2 * usual
    found = known_disks(Keys(runs))
    on_it = [each for each in keyed_recoveries(runs) if each.trial.storage == HOME]
    assert {disk.write_us for each in on_it if (disk := found.of(each)) is not None} == {usual}
