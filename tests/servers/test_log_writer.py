"""The closed form, the simulator and what servers measured, against each other."""

from __future__ import annotations

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.inflation.report import counter_evidence
from redolab.runs.pages import measured_runs
from redolab.servers.log_writer import (
    SMALLEST_WRITE,
    Counted,
    Lengths,
    LogWriter,
    bytes_per_lsn_byte,
    redo_range,
    written_per_write,
)
from tests.servers.log_blocks import simulate

MEASURED = {
    of.cells[0].configuration.results[0].group.server: of for of in counter_evidence(measured_runs("inflation")[-1])
}
MYSQL_5_6 = LogWriter()
MYSQL_5_7 = LogWriter(write_ahead=8192)
MYSQL_8_0 = LogWriter(write_ahead=8192, splits=True)
MARIADB_10_8 = LogWriter(header=0, trailer=0, opens_next=False)
WRITERS = [MYSQL_5_6, MYSQL_5_7, MYSQL_8_0, MARIADB_10_8, LogWriter(block=4096, write_ahead=8192)]
writers = st.builds(
    LogWriter,
    block=st.sampled_from([512, 1024, 4096]),
    header=st.sampled_from([0, 12]),
    trailer=st.sampled_from([0, 4]),
    opens_next=st.booleans(),
    write_ahead=st.sampled_from([0, 4096, 8192]),
    splits=st.booleans(),
)


def test_the_source_documents_example() -> None:
    written = simulate(MYSQL_5_6, [100, 200])
    assert (written.lsn, written.data, written.padding, written.writes) == (300, 1024, 0, 2)


def test_a_write_that_fills_its_block_opens_the_next_and_writes_its_header() -> None:
    written = simulate(MYSQL_5_6, [496])
    assert (written.lsn, written.data) == (512, 1024)
    assert simulate(MARIADB_10_8, [512]).data == 512


def test_a_unit_is_padded_when_it_is_first_written_to_and_only_then() -> None:
    before_its_end = 15 * 496
    crossing = simulate(MYSQL_5_7, [496], start=before_its_end)
    assert (crossing.data, crossing.padding) == (1024, 15 * 512)
    assert simulate(MYSQL_5_7, [496], start=before_its_end + 496).padding == 0


def test_a_writer_that_splits_makes_two_writes_of_one_that_crosses() -> None:
    assert simulate(MYSQL_8_0, [100]).writes == 1
    assert simulate(MYSQL_8_0, [100, 496]).writes == 3
    assert simulate(MYSQL_8_0, [100, 496]).data == simulate(MYSQL_5_6, [100, 496]).data


@given(writer=writers, length=st.integers(1, 20_000))
def test_the_closed_form_is_the_mean_of_the_simulator_over_all_places_to_begin(writer: LogWriter, length: int) -> None:
    # One position of every block's payload and every block of a unit is enough: the rest are shifts of these.
    step = 1 if writer.block == 512 else 7
    starts = range(0, writer.payload * writer.unit_blocks, step)
    all_starts = [simulate(writer, [length], start) for start in starts]
    mean = written_per_write(writer, length)
    exact = 1e-9 if step == 1 else 0.01
    for layer in ("lsn", "data", "padding", "writes"):
        simulated = statistics.fmean(getattr(each, layer) for each in all_starts)
        assert simulated == pytest.approx(getattr(mean, layer), rel=exact, abs=exact * writer.block * 16), layer


@given(
    writer=st.sampled_from(WRITERS),
    mean=st.integers(SMALLEST_WRITE, 10_000),
    seed=st.integers(0, 1000),
    counted=st.sampled_from(list(Counted)),
)
def test_writes_of_random_lengths_come_to_what_the_closed_form_says(
    writer: LogWriter, mean: int, seed: int, counted: Counted
) -> None:
    chance = random.Random(seed)
    written = simulate(writer, [1 + int(chance.expovariate(1 / mean)) for _ in range(4000)])
    r = written.lsn / written.writes
    assert written.counted_as(counted) / written.lsn == pytest.approx(
        bytes_per_lsn_byte(writer, counted, r, Lengths.RANDOM), rel=0.05
    )


@given(
    writer=st.sampled_from([writer for writer in WRITERS if writer.block == 512]),
    lengths=st.lists(st.integers(SMALLEST_WRITE, 20_000), min_size=200, max_size=400),
    counted=st.sampled_from(list(Counted)),
    writes_known=st.booleans(),
)
def test_the_true_redo_is_within_the_range_told_from_os_log_written(
    writer: LogWriter, lengths: list[int], counted: Counted, writes_known: bool
) -> None:
    written = simulate(writer, lengths)
    # The range is for a long time: a unit of padding at either end is allowed for.
    slack = 8192
    least, most = redo_range(written.counted_as(counted), written.writes if writes_known else None)
    assert least - slack <= written.lsn <= most + slack


def test_the_source_documents_two_rates_are_commits_of_310_bytes() -> None:
    assert bytes_per_lsn_byte(MYSQL_5_6, Counted.BLOCKS, 310) == pytest.approx(7.15 / 2.70, rel=0.005)


@pytest.mark.parametrize("server", MEASURED)
def test_it_is_what_was_measured(server: str) -> None:
    """The committed run, read back: the model's column of today's code is not compared with itself."""
    of_server = MEASURED[server]
    assert of_server.counted is not None
    for cell in of_server.cells:
        predicted = bytes_per_lsn_byte(_writer(server), of_server.counted, cell.r, cell.step.lengths)
        assert abs(predicted / cell.ratio - 1) < _allowed(server, cell.step.threads), cell.configuration.factors


def _allowed(server: str, threads: int) -> float:
    if server in ("mysql-5.5", "mysql-5.6"):
        return 0.002
    # Their writes are of two kinds, of one commit and of the whole queue, and not of random lengths.
    convoy = server in ("mysql-5.7", "mariadb-10.2") and threads == 64
    return 0.1 if convoy else 0.05


def _writer(server: str) -> LogWriter:
    writers = {
        "mysql-5.5": MYSQL_5_6,
        "mysql-5.6": MYSQL_5_6,
        "mysql-8.0": MYSQL_8_0,
        "mysql-9": MYSQL_8_0,
    }
    return writers.get(server, MYSQL_5_7)
