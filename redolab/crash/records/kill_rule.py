"""Rule for the crash time."""

from __future__ import annotations

import random

import msgspec

from redolab.errors import InvalidInput
from redolab.servers.redo_capacity import RedoCapacity
from redolab.servers.redo_counters import Counters
from redolab.units import format_size, parse_duration, parse_percent, parse_size

STOPPED_GROWING = "had stopped growing"
"""Words for a checkpoint age that stopped growing."""
_REACHED = 0.98
"""Share of the target age that counts as reached: few samples fall right on it."""
_WARM_UP = 3
"""Divisor of a window that gives the length of a load's start."""


class SteadyRule(msgspec.Struct, frozen=True, kw_only=True):
    """Condition for a steady load. Until the log was filled a few times, flushing has not met its limits."""

    fillings: float = 2.0
    """Number of times the redo log must have been filled: redo written over the age at which statements wait."""
    window: float = 180.0
    """Length in seconds of each of the last two windows, whose throughputs must agree."""
    within: float = 0.05
    """Allowed difference of their throughputs, as a share of the larger."""

    @property
    def warm_up(self) -> float:
        """Seconds at the start that belong to no window: the pool and the page cache are cold."""
        return self.window / _WARM_UP

    @property
    def soonest(self) -> float:
        """Seconds after which a load may be steady at the earliest."""
        return self.warm_up + 2 * self.window


class Uniform(msgspec.Struct, frozen=True, kw_only=True):
    """Uniform distribution of a time, in seconds after the load began."""

    earliest: float
    latest: float

    @classmethod
    def parse(cls, text: str) -> Uniform:
        """Parse a text such as `5m-30m`. Raises `InvalidInput`."""
        first, dash, last = text.partition("-")
        if not dash:
            raise InvalidInput(f"'{text}' is not two moments", "write them as 5m-30m")
        earliest, latest = parse_duration(first), parse_duration(last)
        if earliest > latest:
            raise InvalidInput(f"'{text}' ends before it begins", "write the earlier one first")
        return cls(earliest=earliest, latest=latest)

    def __str__(self) -> str:
        """Return the text that `parse` reads."""
        return f"{self.earliest:g}s-{self.latest:g}s"

    def drawn(self, draw: random.Random) -> float:
        """Return one time, drawn."""
        return draw.uniform(self.earliest, self.latest)


class KillRule(msgspec.Struct, frozen=True, kw_only=True):
    """Rule for the time of the kill.

    Crashes until 2026-11-24 set none: they happened at the sync flush point, on MariaDB 10.5 and later at the async
    one.
    """

    highest_age: bool = False
    """True to kill at the checkpoint age that a load faster than flushing returns to (`RedoCapacity.highest_age`)."""
    age_fraction: float | None = None
    """Share of the age at which statements wait (the hard limit); kill when the checkpoint age reaches it."""
    age: int | None = None
    """Bytes; kill when the checkpoint age reaches them."""
    after: float | None = None
    """Seconds of the workload after which to kill, unless another condition is met first."""
    steady: SteadyRule | None = None
    """Condition of a steady load, after which to kill."""
    moment: Uniform | None = None
    """Distribution of the kill time; the drawn time is kept in the image."""

    @classmethod
    def from_options(cls, kill_at: str | None, kill_after: float | None) -> KillRule:
        """Return the rule for `--kill-at 75%`, `--kill-at 2G` and `--kill-after 30m`; of two, the first met counts."""
        if kill_at is None:
            return cls(after=kill_after, highest_age=kill_after is None)
        if "%" in kill_at:
            return cls(age_fraction=parse_percent(kill_at), after=kill_after)
        return cls(age=parse_size(kill_at), after=kill_after)

    @property
    def wants_no_age(self) -> bool:
        """True if no checkpoint age ends the load."""
        other = self.after is not None or self.steady is not None or self.moment is not None
        return other and self.age is None and self.age_fraction is None and not self.highest_age

    @property
    def fills_up(self) -> bool:
        """True if the log's size decides the age, and not a number."""
        return self in (KillRule(), HIGHEST_AGE)

    def filled_to(self) -> str:
        """Return the checkpoint age to which a log is filled, in words; empty if the rule names none."""
        if self.highest_age:
            return "the highest age"
        if self.age is not None:
            return format_size(self.age)
        if self.age_fraction is not None:
            return f"{100 * self.age_fraction:g} % of the hard limit"
        return (
            ""
            if self.wants_no_age
            else "the sync flush point (on MariaDB 10.5 and later 7/8 of the hard limit instead)"
        )

    def target_age(self, counters: Counters, capacity: RedoCapacity) -> int | None:
        """Return the checkpoint age to reach, in bytes; None if the rule has none.

        The hard limit is the server's own if it reports one, else by the formula of its source.
        """
        if self.wants_no_age:
            return None
        if self.age is not None:
            return self.age
        wait = counters.hard_limit or capacity.hard_limit
        if self.age_fraction is not None:
            return int(wait * self.age_fraction)
        return int(wait * capacity.highest_age / capacity.hard_limit * _REACHED)


HIGHEST_AGE = KillRule(highest_age=True)
"""Rule by default."""
