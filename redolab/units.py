"""Sizes, durations and counts as people write them; bytes and seconds inside.

Sizes are binary: `8G` is 8 × 2³⁰ bytes, as in the servers' own option files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection

from redolab.errors import InvalidInput

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

_SIZE_UNITS = {"": 1, "K": KIB, "M": MIB, "G": GIB, "T": 1024 * GIB}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)
_DURATION_UNITS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d|)", re.IGNORECASE)
_MOST_WHOLE = 10_000
_MINUTE = 60
_HOUR = 3600
_LONG = 72 * _HOUR
"""Seconds from which a duration is shown in days."""
_DAY = 24 * _HOUR
_LEAST_CHANCE = 0.0005
_NEARLY = 0.995


def parse_size(text: str) -> int:
    """Return the bytes of `8G`, `512M`, `1.5G`, `64k` or a plain number of bytes.

    Raises `InvalidInput` for anything else.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f"'{text}' is not a size", "write it as 64M, 1.5G or 8G (binary units)")
    return int(float(match[1]) * _SIZE_UNITS[match[2].upper()])


def format_size(size: float) -> str:
    """Return a size as `8G`, `2047M` or `5.31G`: exact if it is whole in a unit, else in three digits."""
    for unit in ("T", "G", "M"):
        count, rest = divmod(size, _SIZE_UNITS[unit])
        if not rest and 0 < count < _MOST_WHOLE:
            return f"{count:.0f}{unit}"
    for unit in ("T", "G", "M", "K"):
        scale = _SIZE_UNITS[unit]
        if abs(size) >= scale:
            value = size / scale
            return f"{value:.0f}{unit}" if value == int(value) else f"{value:.{2 if value < 10 else 1}f}{unit}"
    return f"{size:.0f}B"


def size_span(sizes: Collection[int]) -> str:
    """Return a range of sizes as in `256M to 1G`, or `1G` if all are equal."""
    return " to ".join(format_size(size) for size in dict.fromkeys((min(sizes), max(sizes))))


def parse_duration(text: str) -> float:
    """Return the seconds of `30m`, `90s`, `1.5h`, `30d`, `200ms` or a plain number of seconds.

    Raises `InvalidInput` for anything else.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f"'{text}' is not a duration", "write it as 90s, 30m or 1.5h")
    return float(match[1]) * _DURATION_UNITS[match[2].lower()]


def format_duration(seconds: float) -> str:
    """Return a duration as `0.42 s`, `14.7 s`, `8 min 9 s`, `1 h 02 min` or `29.7 days`."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), _MINUTE)
    if seconds < _HOUR:
        return f"{minutes} min {rest} s"
    if seconds < _LONG:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{seconds / _DAY:.3g} days"


def format_duration_or_never(seconds: float) -> str:
    """Return a duration as `format_duration` does, or `never` if it is infinite."""
    return "never" if math.isinf(seconds) else format_duration(seconds)


def format_chance(chance: float) -> str:
    """Return a probability as `0.3 %`, `12 %`, `under 0.1 %` or `nearly all`."""
    if chance < _LEAST_CHANCE:
        return "under 0.1 %"
    if chance > _NEARLY:
        return "nearly all"
    return f"{100 * chance:.1f} %" if chance < 0.1 else f"{100 * chance:.0f} %"


def parse_percent(text: str) -> float:
    """Return the fraction for `75%`.

    Raises `InvalidInput` unless it is above 0 % and at most 100 %.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text.strip())
    if match is None or not 0 < float(match[1]) <= 100:
        raise InvalidInput(f"'{text}' is not a percentage", "write it as 75% (above 0%, at most 100%)")
    return float(match[1]) / 100


def noun(count: int, one: str, several: str = "") -> str:
    """Return a count with its noun, as in `1 client` and `4 clients`."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"
