"""How far predictions were off, and the intervals that follow from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
import scipy

T = TypeVar("T")


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of predictions of what the fit had not seen, as ln(measured / predicted)."""

    deviation: float
    """Root mean square, each crash counting once: a bias counts as error."""
    count: int
    """Of how many crashes it is, or of servers where these were left out: recoveries of one crash tell little more than one."""
    doubling: float = 0.0
    """Where it grows with the distance: what each doubling beyond what was seen is off by (root mean square)."""

    def at(self, doublings: float) -> Spread:
        """It so far beyond what was seen."""
        return msgspec.structs.replace(
            self, deviation=math.hypot(self.deviation, self.doubling * doublings), doubling=0.0
        )


def spread_of(errors: Iterable[tuple[str, float]]) -> Spread:
    """The spread of errors, each with the crash, or the server, that it is of. Raises `ValueError` if there are none."""
    groups = _groups(errors)
    if not groups:
        raise ValueError("no error to take a spread from")
    squares = [math.fsum(error**2 for error in own) / len(own) for own in groups.values()]
    return Spread(deviation=math.sqrt(math.fsum(squares) / len(squares)), count=len(squares))


def spread_by_distance(errors: Sequence[tuple[str, float, float]], within: float) -> Spread:
    """The spread of errors that grow with the distance: crash, error, doublings beyond what was seen (above 0).

    `within`: the deviation where nothing is beyond. Squares of errors are taken as within² + (doubling · distance)²; the second
    by least squares, each crash counting once. Raises `ValueError` if there are none.
    """
    groups = _groups((crash, (error, distance)) for crash, error, distance in errors)
    if not groups:
        raise ValueError("no error to take a spread from")
    above, by = 0.0, 0.0
    for own in groups.values():
        above += math.fsum((error**2 - within**2) * distance**2 for error, distance in own) / len(own)
        by += math.fsum(distance**4 for _, distance in own) / len(own)
    return Spread(deviation=within, count=len(groups), doubling=math.sqrt(max(0.0, above / by)))


def interval(predicted: float, spread: Spread, share: float) -> tuple[float, float]:
    """The seconds between which such a share of recoveries is expected: by Student's t, the error taken as log-normal."""
    reach = float(scipy.stats.t.ppf((1 + share) / 2, max(1, spread.count))) * spread.deviation
    return predicted * math.exp(-reach), predicted * math.exp(reach)


def together(within: Spread, beyond: Sequence[Spread]) -> Spread:
    """The spread of a prediction that goes beyond what was measured in several ways: what each adds to that within, added up.

    Variances add where errors are independent, which is assumed.
    """
    variance = within.deviation**2 + sum(max(0.0, each.deviation**2 - within.deviation**2) for each in beyond)
    return Spread(deviation=math.sqrt(variance), count=min([within.count, *(each.count for each in beyond)]))


def coverage(inside: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share of which `inside` of so many were seen (Clopper and Pearson)."""
    found = scipy.stats.binomtest(inside, of).proportion_ci(0.95, "exact")
    return float(found.low), float(found.high)


def _groups(named: Iterable[tuple[str, T]]) -> Mapping[str, list[T]]:
    found: dict[str, list[T]] = {}
    for name, each in named:
        found.setdefault(name, []).append(each)
    return found
