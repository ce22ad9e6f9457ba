"""Where the checkpoint age was in samples: what a crash at any moment of them would have met."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from redolab.counters import Sample

_QUANTILES = 101


def checkpoint_ages(samples: Sequence[Sample]) -> tuple[int, ...]:
    """The quantiles of the checkpoint age, from the least to the most, in bytes; empty where the samples do not tell it.

    So many that nothing is lost of what is asked, and few enough to work with: a day has 86,400 samples. If the log was resized
    meanwhile, ages are in the same share of what it is at last.
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
    """The checkpoint age at which statements waited, where the server told it, at last; bytes."""
    return next((each.hard_limit for each in reversed(samples) if each.hard_limit is not None), None)
