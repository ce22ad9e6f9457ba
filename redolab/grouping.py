"""Things grouped by a key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def by_key(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return key → things with that key, in the order of their first."""
    found: dict[K, list[T]] = {}
    for each in things:
        found.setdefault(key(each), []).append(each)
    return found
