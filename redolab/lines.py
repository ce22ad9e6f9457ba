"""Lines of a log, as the lab saw them arrive or as they stand in a file."""

from __future__ import annotations

import msgspec


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of a log.

    `arrival`: seconds on a monotonic clock when the lab itself saw the line arrive, None for a log given as a
    file.
    """

    text: str
    arrival: float | None = None
