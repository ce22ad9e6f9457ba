"""Stand-in for typing_extensions: `override`."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def override(method: T) -> T:
    """Return the method."""
    return method
