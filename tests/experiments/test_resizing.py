"""The size of the redo log changed under load: two small loads on real servers, and gains of blocks whose truth is known."""

from __future__ import annotations

import math

import pytest

from experiments.resizing.experiment import Resizing
from redolab.results.turns import ResizedLoad, ResizingTrial, Turn, resized_loads
from redolab.runs.factors import read_factors
from redolab.runs.schema import RunState
from redolab.units import GIB, MIB
from tests.command import run_of
from tests.thorough import mostly_thorough

pytestmark = pytest.mark.server

SMALL, LARGE = 16 * MIB, 64 * MIB


@pytest.mark.parametrize("server", mostly_thorough(["mysql-9", "mariadb-11.8"], ["mysql-9"]))
def test_both_sizes_take_turns_in_one_load_of_a_server_that_resizes_while_it_runs(server: str) -> None:
    with run_of(
        "resizing", "--server", server, "--log-size", "16M,64M", "--warehouses", "1", "--pool", "256M",
        "--connections", "2", "--seconds", "5s", "--settling", "1s", "--warm-up", "2s", "--repeat", "1", "--seed", "7",
    ) as run:  # fmt: skip
        assert run.record().state is RunState.COMPLETE
        assert (run.folder / "plots/changes.svg").stat().st_size > 5000
        (load,) = resized_loads([run])
    (block,) = load.blocks
    assert [turn.log_size_bytes for turn in block.turns] == [SMALL, LARGE, LARGE, SMALL]
    assert [(each.before, each.after) for each in block.resizes] == [(SMALL, LARGE), (LARGE, SMALL)]
    for turn in block.turns:
        assert turn.rate > 0
        # What is dirty in a log of that size is less than it holds: the size was in force.
        assert 0 < (turn.checkpoint_age_bytes or 0) < turn.log_size_bytes
        assert turn.device_bytes_per_commit
    for change in block.resizes:
        assert 0 < change.answered_s <= change.in_force_s + 0.5
        assert any(at < 0 for at, _ in change.rates)
        assert any(at > change.in_force_s for at, _ in change.rates)


def test_a_gain_is_of_blocks_whatever_drifts_from_one_to_the_next_and_within() -> None:
    """Each block is slower than the one before, each turn slower than the last: the larger log gains 2 % all the same."""
    blocks = []
    for base, first, other in ((1000, SMALL, LARGE), (800, LARGE, SMALL), (700, SMALL, LARGE)):
        sizes = [first, other, other, first]
        blocks.append(
            block(sizes, [base * (1.02 if size == LARGE else 1) * 0.98**turn for turn, size in enumerate(sizes)])
        )
    gain = ResizedLoad(blocks).gain
    assert gain.change == pytest.approx(0.02)
    assert gain.low == pytest.approx(0.02)
    assert gain.blocks == 3


def test_an_interval_is_as_wide_as_blocks_differ() -> None:
    """Student's t of three blocks: 4.30 times 2 % by the root of 3, though each of them has four turns."""
    gains = (0.98, 1.0, 1.02)
    blocks = [block([SMALL, LARGE, LARGE, SMALL], [1000, 1000 * each, 1000 * each, 1000]) for each in gains]
    gain = ResizedLoad(blocks).gain
    assert gain.change == pytest.approx(0, abs=0.001)
    assert gain.high == pytest.approx(4.30 * 0.02 / math.sqrt(3), rel=0.05)


def test_blocks_begin_with_one_size_and_then_with_the_other() -> None:
    asked = {"server": "mysql-9", "log_size": "4G,256M", "repeat": "2"}
    ((load, blocks),) = Resizing.cells(read_factors(Resizing.factors_type, asked)).items()
    small, large = 256 * MIB, 4 * GIB
    assert [each.sizes for each in blocks] == [(small, large, large, small), (large, small, small, large)]
    assert load.pool_bytes == 8832 * MIB


def block(sizes: list[int], rates: list[float]) -> ResizingTrial:
    turns = tuple(
        Turn(
            log_size_bytes=size,
            turn_s=90,
            rate=rate,
            latency_95_ms=20,
            worst_second=0.9,
            checkpoint_age_bytes=0.5 * size,
            redo_bytes_per_second=3e6,
            pages_bytes_per_commit=10_000,
            device_bytes_per_commit=20 * 1024 if size == LARGE else 60 * 1024,
            cpu_share=0.9,
        )
        for size, rate in zip(sizes, rates, strict=True)
    )
    return ResizingTrial(version="9.7.4", counts_new_orders=True, turns=turns, resizes=(), instance="")
