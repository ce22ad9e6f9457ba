"""A predicted recovery: its parts, and its prediction intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from redolab.predict.recovery_time.spread import Spread, interval
from redolab.predict.recovery_time.terms import Part


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
    spread: Spread
    """Prediction error of `seconds`."""

    @property
    def seconds(self) -> float:
        """Seconds of all parts and the rollback."""
        return sum(self.parts.values()) + self.rollback

    @property
    def half(self) -> tuple[float, float]:
        """Seconds between which half of such recoveries are expected."""
        return interval(self.seconds, self.spread, 0.5)

    @property
    def ninety(self) -> tuple[float, float]:
        """Seconds between which nine tenths of such recoveries are expected."""
        return interval(self.seconds, self.spread)
