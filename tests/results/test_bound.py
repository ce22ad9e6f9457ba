from __future__ import annotations

import pytest

from redolab.results.bound import Bound, bound_of


@pytest.mark.parametrize(
    ("cpu", "thread", "busy", "reads", "read_kib", "writes", "bound"),
    [
        (9.0, 8.5, 3.0, 1000, 16, 0, Bound.ONE_CORE),
        (20.0, 9.5, 3.0, 1000, 16, 0, Bound.ALL_CORES),
        # Two thirds of ten seconds on each of two cores is less than the disk was busy.
        (13.0, 5.0, 9.0, 1000, 16, 0, Bound.RANDOM_READS),
        # The sum over all threads is more than the disk's, and still no thread and no core is waited for.
        (7.0, 2.0, 6.0, 1000, 16, 0, Bound.RANDOM_READS),
        (1.0, 1.0, 9.0, 1000, 16, 500, Bound.RANDOM_READS),
        (1.0, 1.0, 9.0, 1000, 256, 500, Bound.SCAN),
        (1.0, 1.0, 9.0, 1000, 16, 5000, Bound.WRITES),
        (1.0, 1.0, 9.0, 0, 0, 5000, Bound.WRITES),
        (6.0, 4.0, 4.0, 1000, 16, 0, Bound.NEITHER),
    ],
)
def test_what_was_busy_most_of_ten_seconds_on_two_cores(
    cpu: float, thread: float, busy: float, reads: int, read_kib: int, writes: int, bound: Bound
) -> None:
    row = {
        "ready_s": 10.0,
        "cpu_s": cpu,
        "busiest_thread_s": thread,
        "cores": 2,
        "device_busy": busy,
        "device_reads": reads,
        "device_read_bytes": reads * read_kib * 1024,
        "device_writes": writes,
    }
    assert bound_of(row) is bound
