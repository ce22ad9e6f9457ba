"""Lines of a log, as the lab saw them arrive or as they stand in a file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log.

    `arrival`: seconds on a monotonic clock when the lab itself saw the line arrive, None for a log given as a
    file.
    """

    text: str
    arrival: float | None = None
