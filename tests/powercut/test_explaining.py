"""The fewest lost writes: on faults whose cause is known."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolab.powercut.explaining import OutOfTries, fewest, fewest_losses
from redolab.powercut.states import Lost


@given(st.integers(1, 60), st.sets(st.integers(0, 59), min_size=1, max_size=4))
def test_exactly_those_that_do_it_together_are_left(count: int, causes: set[int]) -> None:
    needed = {each % count for each in causes}
    assert set(fewest(range(count), lambda some: needed <= set(some))) == needed


def test_of_many_writes_few_states_are_tried() -> None:
    tried = 0

    def shows(some: Sequence[int]) -> bool:
        nonlocal tried
        tried += 1
        return 700 in some

    assert fewest(range(2000), shows) == [700]
    assert tried < 40


def test_where_no_more_may_be_tried_what_was_found_so_far_is_left() -> None:
    left = 5

    def shows(some: Sequence[int]) -> bool:
        nonlocal left
        if not left:
            raise OutOfTries
        left -= 1
        return 3 in some

    found = fewest(range(64), shows)
    assert 3 in found
    assert 1 < len(found) < 64


@pytest.mark.parametrize("seed", range(5))
def test_a_single_sector_of_a_single_write_is_found(seed: int) -> None:
    draw = random.Random(seed)
    losses = [Lost(number, draw.randrange(8), draw.randint(1, 24)) for number in range(30)]
    guilty = draw.choice(losses)
    sector = guilty.first + draw.randrange(guilty.count)

    def shows(some: Sequence[Lost]) -> bool:
        return any(each.number == guilty.number and each.first <= sector < each.first + each.count for each in some)

    assert fewest_losses(losses, shows) == [Lost(guilty.number, sector, 1)]


def test_sectors_beside_one_another_are_one_loss() -> None:
    losses = [Lost(4, 2, 5), Lost(9, 0, 3)]
    assert fewest_losses(losses, lambda some: {3, 4} <= {
        sector for each in some if each.number == 4 for sector in range(each.first, each.first + each.count)
    }) == [Lost(4, 3, 2)]  # fmt: skip
