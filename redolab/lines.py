"""Lines of a log: read from a file, or followed by the lab as they arrive."""

from __future__ import annotations

import msgspec


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of a log.

    `arrival` is the time when the lab saw the line arrive, in seconds on the monotonic clock; None for a line of a
    file.
    """

    text: str
    arrival: float | None = None
