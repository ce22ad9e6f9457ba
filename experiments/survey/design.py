"""Crashes drawn so that redo, dirty pages and batches vary independently: a Latin hypercube in logarithms.

If tables are half of the log, the log full and the pool a share of it, all of these grow together, and no fit can
separate their times. McKay, Beckman and Conover (1979) describe the sampling: every interval of each quantity is drawn
once.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import qmc

from redolab.models.sizes import SMALLEST_DATASET, SMALLEST_POOL
from redolab.units import MIB

_OCTAVES = (-3, 3)
"""Size of the tables relative to the log, in octaves: whole ones, since a dataset serves several crashes."""
_AGE = (0.2, 1.0)
"""Range of the checkpoint age, as shares of the hard limit."""
_FULL = 0.92
"""Share from which on the log is filled as far as a load goes."""
_POOL_UNDER_LOAD = (0.25, 4.0)
"""Range of the buffer pool under load, as multiples of the tables: production's often hold only a part."""
_SMALLEST_POOL_UNDER_LOAD = 128 * MIB
_SMALLEST_POOL_SHARE = 1 / 16
"""Smallest pool of a recovery, as a share of the log."""
_MOST_NEEDED = 3.5
"""Bytes of the pool for a byte of redo, of the servers that need most (docs/results/model.md)."""
_ROOMY = 4.0
"""Largest pool, as a multiple of one that holds all redo."""
_STEP = 16 * MIB


@dataclass(frozen=True, slots=True)
class DrawnCrash:
    """One crash; sizes in bytes."""

    tables: int
    age_share: float | None
    """Share of the hard limit at the crash; None: as far as a load goes."""
    pool_under_load: int
    pools: tuple[int, ...]
    """Buffer pools to recover with."""


def drawn_crashes(log_size: int, count: int, pools: int, most_memory: int, seed: str) -> list[DrawnCrash]:
    """Return `count` crashes of a log of `log_size` bytes, equal for equal seeds, with pools up to `most_memory`."""
    draw = random.Random(seed)
    points = qmc.LatinHypercube(d=3, rng=draw.randrange(2**32)).random(count).tolist()
    return [_crash(point, log_size, pools, most_memory, draw) for point in points]


def _crash(point: Sequence[float], log_size: int, pools: int, most_memory: int, draw: random.Random) -> DrawnCrash:
    of_tables, of_age, of_pool = point
    least, most = _OCTAVES
    octave = min(most, least + math.floor(of_tables * (most - least + 1)))
    tables = max(SMALLEST_DATASET, int(log_size * 2.0**octave))
    age_share = _between(of_age, *_AGE)
    under_load = _between_logarithms(of_pool, *(tables * share for share in _POOL_UNDER_LOAD))
    least_pool = max(SMALLEST_POOL, log_size * _SMALLEST_POOL_SHARE)
    most_pool = min(most_memory, _ROOMY * _MOST_NEEDED * age_share * log_size)
    # Draw one pool of each crash from every interval of the range.
    of_pools = [(place + draw.random()) / pools for place in range(pools)]
    return DrawnCrash(
        tables=tables,
        age_share=None if age_share >= _FULL else round(age_share, 3),
        pool_under_load=_whole(min(most_memory, max(_SMALLEST_POOL_UNDER_LOAD, under_load))),
        pools=tuple(dict.fromkeys(_whole(_between_logarithms(share, least_pool, most_pool)) for share in of_pools)),
    )


def _between(share: float, least: float, most: float) -> float:
    return least + share * (most - least)


def _between_logarithms(share: float, least: float, most: float) -> float:
    return math.exp(_between(share, math.log(least), math.log(max(least, most))))


def _whole(size: float) -> int:
    """Return a size in whole steps, as a DBA would set it."""
    return max(SMALLEST_POOL, round(size / _STEP) * _STEP)
