"""Numbers in the lines of a log: none that no server writes is taken for one."""

from __future__ import annotations

import re

NUMBER = re.compile(r"\d+(?:\.\d+)+")
"""A version as servers write theirs."""
_DIGITS = 20
"""Of the largest number of 64 bits."""


def generation(version: str) -> tuple[int, ...]:
    """The first two numbers of a version, as in `(8, 0)`; none of what is no version."""
    return tuple(number for part in version.split(".")[:2] if (number := integer(part)) is not None)


def integer(text: str | None) -> int | None:
    """A number of a line; None where it has none, or one with more digits than a server writes."""
    return int(text) if text and len(text) <= _DIGITS and text.isdecimal() else None


def lsn_of(text: str | None) -> int | None:
    """An LSN of a line, which is of two numbers to 5.1."""
    high, _, low = (text or "").partition(" ")
    first, second = integer(high), integer(low)
    return first if first is None or second is None else first << 32 | second
