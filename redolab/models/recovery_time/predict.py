"""A predicted recovery: its parts, and the intervals in which it is expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from redolab.models.recovery_time.spread import Spread, interval
from redolab.models.recovery_time.terms import Part

_HALF, _NINETY = 0.5, 0.9


class Until(StrEnum):
    """What counts as the end of a recovery."""

    READY = "ready"
    """The server answers; what was not committed may still be rolled back in the background."""
    ROLLED_BACK = "rolled-back"


@dataclass(frozen=True, slots=True)
class Prediction:
    """Seconds to the end that is asked about, and how far that may be off."""

    parts: Mapping[Part, float]
    """Seconds of the parts of the time to ready."""
    rollback: float
    """Seconds of rollback after that, 0 where the end is ready."""
    seconds: float
    spread: Spread
    """Of `seconds`."""

    @property
    def half(self) -> tuple[float, float]:
        """Seconds between which half of such recoveries are expected."""
        return interval(self.seconds, self.spread, _HALF)

    @property
    def ninety(self) -> tuple[float, float]:
        """Seconds between which nine tenths of them are."""
        return interval(self.seconds, self.spread, _NINETY)


def prediction(parts: Mapping[Part, float], spread: Spread, rollback: float = 0.0) -> Prediction:
    """The prediction with these parts and this rollback, in seconds, of which such a spread is known."""
    return Prediction(parts, rollback, sum(parts.values()) + rollback, spread)
