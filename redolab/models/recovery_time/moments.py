"""How long recovery takes after a crash at a moment that nobody chose: over the moments, over what a prediction may be off by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from redolab.models.recovery_time.spread import Spread

_FURTHEST = 50.0
"""A quantile is looked for within e^±50 of the predictions."""


@dataclass(frozen=True, slots=True)
class PossibleCrash:
    """A crash as it may come."""

    weight: float
    """How likely it is among those of a list; they need not add up to one."""
    seconds: float
    """Predicted."""
    spread: Spread
    """By how much such predictions are off."""
    stuck: float = 0.0
    """How likely it is that its recovery never ends, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChanceBeyond:
    """How likely a recovery takes longer than asked, and of what that is made up; shares of all crashes."""

    whole: float
    stuck: float
    """Recoveries that never end."""
    moment: float
    """Recoveries that would be too long if every prediction were exact: the crash came at a bad moment."""

    @property
    def model(self) -> float:
        """What predictions being off adds; below 0 where it takes away more than it adds."""
        return self.whole - self.stuck - self.moment


def chance_beyond(crashes: Sequence[PossibleCrash], seconds: float) -> ChanceBeyond:
    """How likely the recovery of one of these takes longer. Raises `ValueError` if there are none."""
    mixture = _Mixture.of(crashes)
    late = float(mixture.ending[mixture.logarithms > _logarithm(seconds)].sum())
    return ChanceBeyond(whole=1 - mixture.within(_logarithm(seconds)), stuck=1 - mixture.ends, moment=late)


def seconds_within(crashes: Sequence[PossibleCrash], share: float) -> float:
    """The seconds within which that share of recoveries ends; infinite where more than the rest get stuck.

    Raises `ValueError` if there are none.
    """
    mixture = _Mixture.of(crashes)
    if share >= mixture.ends:
        return math.inf
    least, most = float(mixture.logarithms.min()), float(mixture.logarithms.max())
    return math.exp(scipy.optimize.brentq(lambda at: mixture.within(at) - share, least - _FURTHEST, most + _FURTHEST))


@dataclass(frozen=True, slots=True)
class _Mixture:
    """Crashes as arrays, an element each."""

    logarithms: npt.NDArray[np.float64]
    """Of the predicted seconds."""
    above: npt.NDArray[np.float64]
    """Scales of Student's t, of recoveries that take longer than predicted."""
    below: npt.NDArray[np.float64]
    freedom: npt.NDArray[np.float64]
    ending: npt.NDArray[np.float64]
    """Shares of all crashes whose recovery ends."""

    @classmethod
    def of(cls, crashes: Sequence[PossibleCrash]) -> _Mixture:
        total = math.fsum(each.weight for each in crashes)
        if total <= 0:
            raise ValueError("no crash to speak of")
        return cls(
            np.log([each.seconds for each in crashes]),
            np.array([each.spread.scale_above for each in crashes]),
            np.array([each.spread.scale_below for each in crashes]),
            np.array([max(1.0, each.spread.count) for each in crashes]),
            np.array([each.weight * (1 - each.stuck) / total for each in crashes]),
        )

    @property
    def ends(self) -> float:
        """The share of crashes whose recovery ends."""
        return float(self.ending.sum())

    def within(self, logarithm: float) -> float:
        """The share of crashes whose recovery ends within e^logarithm seconds."""
        beyond = logarithm - self.logarithms
        scales = np.where(beyond > 0, self.above, self.below)
        # scipy.stats.t.cdf is this with checks of its arguments, which take ten times as long.
        return float(self.ending @ scipy.special.stdtr(self.freedom, beyond / scales))


def _logarithm(seconds: float) -> float:
    return math.log(seconds) if seconds > 0 else -math.inf
