"""Distribution of the recovery time after a crash at a random time, over crash times and prediction errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from redolab.predict.recovery_time.spread import Spread

_FURTHEST = 50.0
"""Range of the search for a quantile: within e^±50 of the predictions."""


@dataclass(frozen=True, slots=True)
class PossibleCrash:
    """A crash that may happen; those of a list are equally likely."""

    seconds: float
    """Predicted seconds."""
    spread: Spread
    """Prediction errors."""
    stuck: float = 0.0
    """Probability that its recovery never ends, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChanceBeyond:
    """Probability that a recovery takes longer than a limit, and its causes; shares of all crashes."""

    whole: float
    stuck: float
    """Recoveries that never end."""
    moment: float
    """Recoveries that would take too long even if every prediction were exact, because of the crash time."""

    @property
    def model(self) -> float:
        """Share added by prediction errors; negative if they reduce the probability."""
        return self.whole - self.stuck - self.moment


def chance_beyond(crashes: Sequence[PossibleCrash], seconds: float) -> ChanceBeyond:
    """Return the probability that a recovery takes longer than `seconds`."""
    mixture = _Mixture.of(crashes)
    late = float(mixture.ending[mixture.logarithms > _logarithm(seconds)].sum())
    return ChanceBeyond(whole=1 - mixture.within(_logarithm(seconds)), stuck=1 - mixture.ends, moment=late)


def seconds_within(crashes: Sequence[PossibleCrash], share: float) -> float:
    """Return the seconds within which `share` of the recoveries end; infinite if too many get stuck."""
    mixture = _Mixture.of(crashes)
    if share >= mixture.ends:
        return math.inf
    least, most = float(mixture.logarithms.min()), float(mixture.logarithms.max())
    return math.exp(scipy.optimize.brentq(lambda at: mixture.within(at) - share, least - _FURTHEST, most + _FURTHEST))


@dataclass(frozen=True, slots=True)
class _Mixture:
    """Crashes as arrays, an element each."""

    logarithms: npt.NDArray[np.float64]
    """Logarithms of the predicted seconds."""
    above: npt.NDArray[np.float64]
    """Scales of Student's t for recoveries that take longer than predicted."""
    below: npt.NDArray[np.float64]
    freedom: npt.NDArray[np.float64]
    ending: npt.NDArray[np.float64]
    """Shares of all crashes whose recovery ends."""

    @classmethod
    def of(cls, crashes: Sequence[PossibleCrash]) -> _Mixture:
        return cls(
            np.log([each.seconds for each in crashes]),
            np.array([each.spread.scale_above for each in crashes]),
            np.array([each.spread.scale_below for each in crashes]),
            np.array([max(1.0, each.spread.count) for each in crashes]),
            np.array([(1 - each.stuck) / len(crashes) for each in crashes]),
        )

    @property
    def ends(self) -> float:
        """Share of crashes whose recovery ends."""
        return float(self.ending.sum())

    def within(self, logarithm: float) -> float:
        """Return the share of crashes whose recovery ends within e^logarithm seconds."""
        beyond = logarithm - self.logarithms
        scales = np.where(beyond > 0, self.above, self.below)
        # scipy.stats.t.cdf computes this too, but its argument checks take ten times as long.
        return float(self.ending @ scipy.special.stdtr(self.freedom, beyond / scales))


def _logarithm(seconds: float) -> float:
    return math.log(seconds) if seconds > 0 else -math.inf
