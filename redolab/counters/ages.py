"""Distribution of the checkpoint age in samples: the ages that a crash at any time of them would have met."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redolab.servers.redo_counters import Sample

_QUANTILES = 101


def checkpoint_ages(samples: Sequence[Sample]) -> tuple[int, ...]:
    """Return the quantiles of the checkpoint age, ascending, in bytes; empty if no sample has it.

    101 quantiles keep all that matters and are quick to work with: a day has 86,400 samples. If the log was resized,
    each age is scaled to the same share of the last size.
    """
    limit = limit_in(samples)
    ages = [
        each.checkpoint_age * (limit / each.hard_limit if limit and each.hard_limit else 1)
        for each in samples
        if each.checkpoint_age is not None
    ]
    if not ages:
        return ()
    shares = np.linspace(0, 1, min(_QUANTILES, len(ages)))
    return tuple(int(age) for age in np.quantile(ages, shares))


def limit_in(samples: Sequence[Sample]) -> int | None:
    """Return the checkpoint age at which statements waited, in bytes, as the server last reported it."""
    return next((each.hard_limit for each in reversed(samples) if each.hard_limit is not None), None)
