"""A predicted recovery: its parts, and its prediction intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from redolab.models.recovery_time.spread import Spread, interval
from redolab.models.recovery_time.terms import Part

_HALF, _NINETY = 0.5, 0.9


class Until(StrEnum):
    """The event that counts as the end of a recovery."""

    READY = "ready"
    """The server answers; uncommitted transactions may still be rolled back in the background."""
    ROLLED_BACK = "rolled-back"


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted seconds to the chosen end, and their error."""

    parts: Mapping[Part, float]
    """Seconds of the parts of the time to ready."""
    rollback: float
    """Seconds of rollback after that; 0 if the end is ready."""
    seconds: float
    spread: Spread
    """Prediction error of `seconds`."""

    @property
    def half(self) -> tuple[float, float]:
        """Seconds between which half of such recoveries are expected."""
        return interval(self.seconds, self.spread, _HALF)

    @property
    def ninety(self) -> tuple[float, float]:
        """Seconds between which nine tenths of such recoveries are expected."""
        return interval(self.seconds, self.spread, _NINETY)


def prediction(parts: Mapping[Part, float], spread: Spread, rollback: float = 0.0) -> Prediction:
    """Return the prediction with these parts and this rollback, in seconds, and their prediction error."""
    return Prediction(parts, rollback, sum(parts.values()) + rollback, spread)
