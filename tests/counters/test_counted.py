from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolab.counters.counted import CounterGrowth, what_is_counted
from redolab.servers.log_writer import Counted, Lengths, LogWriter
from tests.servers.log_blocks import simulate

PADDED = LogWriter(write_ahead=8192)


def growth(counted: Counted, length: int, writer: LogWriter = PADDED) -> CounterGrowth:
    written = simulate(writer, [length] * 3001)
    return CounterGrowth(written.lsn / written.writes, Lengths.EQUAL, written.counted_as(counted) / written.lsn)


@given(
    counted=st.sampled_from(list(Counted)),
    lengths=st.lists(st.integers(50, 2500), min_size=1, max_size=8),
    splits=st.booleans(),
)
def test_each_meaning_is_told_from_what_it_counts(counted: Counted, lengths: list[int], splits: bool) -> None:
    writer = LogWriter(write_ahead=8192, splits=splits)
    assert what_is_counted(writer, [growth(counted, length, writer) for length in lengths]) is counted


@pytest.mark.parametrize("counted", list(Counted))
def test_long_writes_tell_nothing(counted: Counted) -> None:
    assert what_is_counted(PADDED, [growth(counted, 100_000)]) is None


def test_one_cell_that_was_disturbed_does_not_decide() -> None:
    cells = [growth(Counted.BLOCKS, length) for length in (100, 200, 600)]
    disturbed = CounterGrowth(lsn_per_log_write=200, lengths=Lengths.EQUAL, ratio=1.0)
    assert what_is_counted(PADDED, [*cells, disturbed]) is Counted.BLOCKS
