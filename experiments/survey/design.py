"""Crashes drawn so that redo, dirty pages and batches differ apart from one another: a Latin hypercube in logarithms.

Where tables are half of the log, the log full and the pool a share of it, all of these rise together, and no fit can say which
of them took the time. McKay, Beckman and Conover (1979) have the sampling: of each quantity every stretch is met once.
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
"""Tables from an eighth of the log to 8 times the log, in whole octaves: datasets are loaded once for several crashes."""
_AGE = (0.2, 1.0)
"""Shares of the hard limit."""
_FULL = 0.92
"""From this share on the log is filled as far as a load keeps to."""
_POOL_UNDER_LOAD = (0.25, 4.0)
"""Buffer pool while the log fills, in sizes of the tables: production's often hold less than all."""
_SMALLEST_POOL_UNDER_LOAD = 128 * MIB
_SMALLEST_POOL_SHARE = 1 / 16
"""Of the log."""
_MOST_NEEDED = 3.5
"""Bytes of the pool for a byte of redo, of the servers that take most (docs/results/model.md)."""
_ROOMY = 4.0
"""The largest pool, in sizes of one that holds all redo."""
_STEP = 16 * MIB


@dataclass(frozen=True, slots=True)
class DrawnCrash:
    """One crash; sizes in bytes."""

    tables: int
    age_share: float | None
    """Of the hard limit; None: as far as a load keeps to."""
    pool_under_load: int
    pools: tuple[int, ...]
    """To recover with."""


def drawn_crashes(log_size: int, count: int, pools: int, most_memory: int, seed: str) -> list[DrawnCrash]:
    """So many crashes of a log of so many bytes, the same for the same seed; no pool larger than `most_memory` bytes."""
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
    # Of each crash one pool from every stretch of what there is.
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
    """In whole steps, as a DBA would set it."""
    return max(SMALLEST_POOL, round(size / _STEP) * _STEP)
