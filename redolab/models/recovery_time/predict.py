"""A predicted recovery: its parts, and the intervals in which it is expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redolab.models.recovery_time.spread import Spread, interval
from redolab.models.recovery_time.terms import Part

_HALF, _NINETY = 0.5, 0.9


@dataclass(frozen=True, slots=True)
class Prediction:
    """Seconds to ready, with the intervals in which half and nine tenths of such recoveries are expected."""

    parts: Mapping[Part, float]
    ready: float
    half: tuple[float, float]
    ninety: tuple[float, float]


def prediction(parts: Mapping[Part, float], spread: Spread) -> Prediction:
    """The prediction with these parts, in seconds, of which such a spread is known."""
    ready = sum(parts.values())
    return Prediction(parts, ready, interval(ready, spread, _HALF), interval(ready, spread, _NINETY))
