from __future__ import annotations

import pytest

from redolab.models.bound import Bound, bound_by


@pytest.mark.parametrize(
    ("cpu", "busy", "reads", "read_kib", "writes", "bound"),
    [
        (9.0, 3.0, 1000, 16, 0, Bound.CPU),
        (1.0, 9.0, 1000, 16, 500, Bound.RANDOM_READS),
        (1.0, 9.0, 1000, 256, 500, Bound.SCAN),
        (1.0, 9.0, 1000, 16, 5000, Bound.WRITES),
        (1.0, 9.0, 0, 0, 5000, Bound.WRITES),
        (2.0, 4.0, 1000, 16, 0, Bound.NEITHER),
    ],
)
def test_what_took_most_of_ten_seconds(
    cpu: float, busy: float, reads: int, read_kib: int, writes: int, bound: Bound
) -> None:
    read_bytes = reads * read_kib * 1024
    assert bound_by(seconds=10.0, cpu=cpu, busy=busy, reads=reads, read_bytes=read_bytes, writes=writes) is bound
