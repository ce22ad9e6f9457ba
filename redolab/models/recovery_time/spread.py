"""How far predictions were off, and the intervals that follow from it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
from scipy import stats


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of predictions of what the fit had not seen, as ln(measured / predicted)."""

    deviation: float
    """Root mean square: a bias counts as error."""
    count: int
    """Of how many predictions it is."""


def spread_of(errors: Sequence[float]) -> Spread:
    """The spread of such errors. Raises `ValueError` if there are none."""
    if not errors:
        raise ValueError("no error to take a spread from")
    return Spread(deviation=math.sqrt(math.fsum(error**2 for error in errors) / len(errors)), count=len(errors))


def interval(predicted: float, spread: Spread, share: float) -> tuple[float, float]:
    """The seconds between which such a share of recoveries is expected: by Student's t, the error taken as log-normal."""
    reach = float(stats.t.ppf((1 + share) / 2, max(1, spread.count))) * spread.deviation
    return predicted * math.exp(-reach), predicted * math.exp(reach)


def together(within: Spread, beyond: Sequence[Spread]) -> Spread:
    """The spread of a prediction that goes beyond what was measured in several ways: what each adds to that within, added up.

    Variances add where errors are independent, which is assumed.
    """
    variance = within.deviation**2 + sum(max(0.0, each.deviation**2 - within.deviation**2) for each in beyond)
    return Spread(deviation=math.sqrt(variance), count=min([within.count, *(each.count for each in beyond)]))


def coverage(inside: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share of which `inside` of so many were seen (Clopper and Pearson)."""
    found = stats.binomtest(inside, of).proportion_ci(0.95, "exact")
    return float(found.low), float(found.high)
