"""Errors of predictions, and the prediction intervals that follow from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from operator import itemgetter

import msgspec
import numpy as np
import scipy

from redolab.grouping import by_key

_LEVEL = 0.95
"""Level of the upper bounds: the ends of the 90 % interval, and `size`'s P95."""
_NINETY = 0.9
_LEFT_ON_LEVEL = 0.025
"""Share left out on each side of a 95 % interval."""
_ENOUGH = 100
"""Number of crashes: of fewer, less than five show where the last 5 % begin."""
LEAST_SPREAD = 0.05
"""Smallest deviation of a prediction: recoveries of one crash differ by that much (docs/results/recovery.md)."""


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of held-out predictions, as ln(measured / predicted)."""

    deviation: float
    """Root mean square of the errors, each crash counting once: a bias counts as error."""
    count: int
    """Number of crashes, or of servers if these were held out: recoveries of a crash count as little more than one."""
    doubling: float = 0.0
    """Root mean square error that each doubling beyond the training data adds; 0 if errors do not grow with it."""
    above: float | None = None
    """Scale of Student's t for recoveries that take longer than predicted; None unless enough crashes determine it."""
    below: float | None = None
    """Scale of Student's t for recoveries that take less; None unless enough crashes determine it."""

    @property
    def scale_above(self) -> float:
        """Scale of Student's t, with `count` degrees of freedom, for recoveries that take longer than predicted."""
        return self.deviation if self.above is None else self.above

    @property
    def scale_below(self) -> float:
        """Scale of Student's t for recoveries that take less."""
        return self.deviation if self.below is None else self.below

    def at(self, doublings: float) -> Spread:
        """Return these errors for a prediction `doublings` beyond the training data."""
        further = self.doubling * doublings
        return Spread(
            deviation=math.hypot(self.deviation, further),
            count=self.count,
            above=math.hypot(self.scale_above, further),
            below=math.hypot(self.scale_below, further),
        )

    def at_least(self, scale: float) -> Spread:
        """Return these errors with a scale of at least `scale` on either side."""
        return elementwise_max(self, Spread(deviation=scale, count=self.count))


def spread_of(errors: Iterable[tuple[str, float]]) -> Spread:
    """Return the errors' distribution, from (crash or server, error).

    Each side is as wide as Student's t gives, or as the crashes' own errors if they reach further. t misses a long
    tail, and crashes of one server are more alike than a bound from them assumes. With each measured crash left out in
    turn, 7 % exceeded t's upper bound; of 80 recoveries under production's load, predicted from another load, 10
    exceeded the errors' own bound.
    """
    groups = [[error for _, error in own] for own in by_key(errors, itemgetter(0)).values()]
    squares = [math.fsum(error**2 for error in own) / len(own) for own in groups]
    deviation, count = math.sqrt(math.fsum(squares) / len(squares)), len(squares)
    if count < _ENOUGH:
        return Spread(deviation=deviation, count=count)
    reach = _t_quantile(_LEVEL, count)
    bounds = [_bound([[sign * error for error in own] for own in groups]) for sign in (1, -1)]
    above, below = (max(deviation, bound / reach) for bound in bounds)
    return Spread(deviation=deviation, count=count, above=above, below=below)


def _bound(groups: Sequence[Sequence[float]]) -> float:
    """Return the upper bound that 95 % of the errors of one more crash should keep, whatever their distribution.

    Crashes are assumed exchangeable. Split conformal prediction for groups: the quantile of all errors, each crash
    counting once, and one more with unbounded errors (R. Dunn, L. Wasserman, A. Ramdas: Distribution-free prediction
    sets for two-layer hierarchical models, JASA 2023).
    """
    count = len(groups)
    errors = [error for own in groups for error in own]
    weights = [1 / len(own) for own in groups for _ in own]
    share = min(1.0, _LEVEL * (count + 1) / count)
    return float(np.quantile(errors, share, weights=weights, method="inverted_cdf"))


def spread_by_distance(errors: Sequence[tuple[str, float, float]], within: float) -> Spread:
    """Return errors that grow with distance, from (crash, error, doublings beyond the training data, above 0).

    `within` is the deviation inside the training data. Squares of errors are modelled as within² + (doubling ·
    distance)², the second by least squares, each crash counting once.
    """
    groups = by_key(errors, itemgetter(0)).values()
    above, by = 0.0, 0.0
    for own in groups:
        above += math.fsum((error**2 - within**2) * distance**2 for _, error, distance in own) / len(own)
        by += math.fsum(distance**4 for *_, distance in own) / len(own)
    return Spread(deviation=within, count=len(groups), doubling=math.sqrt(max(0.0, above / by)))


def interval(predicted: float, spread: Spread, share: float = _NINETY) -> tuple[float, float]:
    """Return the seconds between which `share` of recoveries is expected, by Student's t with a scale for each side."""
    reach = _t_quantile((1 + share) / 2, max(1, spread.count))
    return predicted * math.exp(-reach * spread.scale_below), predicted * math.exp(reach * spread.scale_above)


@cache
def _t_quantile(level: float, freedom: int) -> float:
    """Return a quantile of Student's t. A fleet asks for the same few a hundred thousand times, and scipy is slow at one."""
    return float(scipy.stats.t.ppf(level, freedom))


def combined(within: Spread, beyond: Sequence[Spread]) -> Spread:
    """Return the errors of a prediction that extrapolates in several ways: each way adds its excess over `within`.

    Variances add if errors are independent, which is assumed. The two sides are added separately, and neither gets
    narrower than `within`.
    """
    own = within.deviation**2

    def added_up(scale: Callable[[Spread], float]) -> float:
        variance = own + sum(max(0.0, scale(each) ** 2 - own) for each in beyond)
        return max(scale(within), math.sqrt(variance))

    return Spread(
        deviation=added_up(lambda each: each.deviation),
        count=min([within.count, *(each.count for each in beyond)]),
        above=added_up(lambda each: each.scale_above),
        below=added_up(lambda each: each.scale_below),
    )


def spread_of_sum(parts: Sequence[tuple[float, Spread]]) -> Spread:
    """Return the errors of a sum of seconds, each with its own: their 5 % and 95 % bounds add up.

    That is exact if all err in the same direction, as on a slower machine; otherwise the sum is more certain. The
    degrees of freedom are those of the largest part.
    """
    whole = math.fsum(seconds for seconds, _ in parts)
    _, largest = max(parts, key=lambda part: part[0])
    if len(parts) == 1 or whole <= 0:
        return largest
    low, high = map(math.fsum, zip(*(interval(seconds, spread) for seconds, spread in parts), strict=True))
    reach = _t_quantile(_LEVEL, max(1, largest.count))
    below, above = math.log(whole / low) / reach, math.log(high / whole) / reach
    return Spread(deviation=max(below, above), count=largest.count, above=above, below=below)


def elementwise_max(one: Spread, other: Spread) -> Spread:
    """Return errors at least as wide as both, at any distance from the training data."""
    return Spread(
        deviation=max(one.deviation, other.deviation),
        count=min(one.count, other.count),
        doubling=max(one.doubling, other.doubling),
        above=max(one.scale_above, other.scale_above),
        below=max(one.scale_below, other.scale_below),
    )


def clopper_pearson(inside: float, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share, from `inside` successes of `of`.

    Quantiles of beta distributions allow fractions of a success: a crash with some of its recoveries inside.
    """
    outside = max(0.0, of - inside)
    low = float(scipy.stats.beta.ppf(_LEFT_ON_LEVEL, inside, outside + 1)) if inside > 0 else 0.0
    high = float(scipy.stats.beta.ppf(1 - _LEFT_ON_LEVEL, inside + 1, outside)) if outside > 0 else 1.0
    return low, high
