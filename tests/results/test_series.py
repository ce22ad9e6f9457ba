"""Series of a run that was killed while it wrote them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from redolab.counters.sampler import CsvFile, SampleFile
from redolab.machine.facts import MachineSample
from redolab.results.series import read_machine_samples, read_reports, read_samples
from redolab.servers.redo_counters import Sample
from redolab.workloads.data import WorkloadReport

MACHINE = MachineSample(
    monotonic=1.5,
    cpu_busy=10.25,
    cpu_all=20.5,
    reads=11,
    read_bytes=12,
    writes=13,
    written_bytes=14,
    busy=15.25,
    waited=16.75,
)
REPORT = WorkloadReport(monotonic=1.5, commits_per_second=100.25, errors_per_second=0.5, latency_95_ms=12.75)
SAMPLE = Sample(monotonic=1.5, wall=100.25, lsn=123456, checkpoint_lsn=1234)


@pytest.mark.parametrize(
    ("row", "read"),
    [(MACHINE, read_machine_samples), (REPORT, read_reports), (SAMPLE, read_samples)],
)
def test_a_torn_last_line_is_left_out_wherever_it_is_torn(
    row: Any, read: Callable[[Path], Sequence[Any]], tmp_path: Path
) -> None:
    path = tmp_path / "series.csv"
    with closing(CsvFile(path, type(row))) as file:
        file.append(row)
        file.append(row)
    whole = path.read_bytes()
    assert list(read(path)) == [row, row]
    first = whole.rstrip(b"\n").rfind(b"\n") + 1
    for end in range(first, len(whole)):
        path.write_bytes(whole[:end])
        assert list(read(path)) == [row], whole[first:end]


def test_samples_are_in_the_order_of_time_also_where_an_older_one_comes_later(tmp_path: Path) -> None:
    with closing(SampleFile(tmp_path / "samples.csv")) as samples:
        for at in (1.0, 3.0, 2.0, 4.0):
            samples.append(Sample(monotonic=at, wall=None, lsn=int(at)))
    assert [each.monotonic for each in read_samples(tmp_path / "samples.csv")] == [1.0, 3.0, 4.0]
