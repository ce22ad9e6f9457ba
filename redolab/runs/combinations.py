"""Combinations of factors to measure: all, or one factor at a time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TypeVar

V = TypeVar("V")


def crossed(values: Mapping[str, Sequence[V]]) -> list[dict[str, V]]:
    """Return every combination of the factors' values."""
    return [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]


def one_at_a_time(values: Mapping[str, Sequence[V]]) -> list[dict[str, V]]:
    """Return the first value of every factor, then each other value of each factor with the others at their first."""
    first = {name: each[0] for name, each in values.items()}
    changed = [{**first, name: value} for name, each in values.items() for value in each[1:]]
    return [first, *changed]
