"""What decides the moment of a crash."""

from __future__ import annotations

import random

import msgspec

from redolab.counters import Counters
from redolab.errors import InvalidInput
from redolab.models.capacity import RedoCapacity
from redolab.units import format_size, parse_duration, parse_percent, parse_size

STOPPED_GROWING = "had stopped growing"
"""What is said of such an age."""
_REACHED = 0.98
"""Of the age aimed at, beyond which none or few go: few samples fall right on it."""
_WARM_UP = 3
"""Of a window: what a load's start is allowed."""


class SteadyRule(msgspec.Struct, frozen=True, kw_only=True):
    """When a load counts as steady; until the log has been filled some times, flushing has not met its limits yet."""

    fillings: float = 2.0
    """So often the redo log must have been filled: redo written, by the age at which statements wait."""
    window: float = 180.0
    """Seconds: and then the throughput of the last so many is that of as many before."""
    within: float = 0.05
    """As a share of the larger."""

    @property
    def warm_up(self) -> float:
        """Seconds at the start that belong to no window: the pool and the page cache are cold."""
        return self.window / _WARM_UP

    @property
    def soonest(self) -> float:
        """Seconds after which a load may be steady."""
        return self.warm_up + 2 * self.window


class Uniform(msgspec.Struct, frozen=True, kw_only=True):
    """A moment between two, each as likely as any other; seconds after the load began."""

    earliest: float
    latest: float

    @classmethod
    def parse(cls, text: str) -> Uniform:
        """As in `5m-30m`. Raises `InvalidInput`."""
        first, dash, last = text.partition("-")
        if not dash:
            raise InvalidInput(f"'{text}' is not two moments", "write them as 5m-30m")
        earliest, latest = parse_duration(first), parse_duration(last)
        if earliest > latest:
            raise InvalidInput(f"'{text}' ends before it begins", "write the earlier one first")
        return cls(earliest=earliest, latest=latest)

    def __str__(self) -> str:
        """As it is parsed."""
        return f"{self.earliest:g}s-{self.latest:g}s"

    def drawn(self, draw: random.Random) -> float:
        """One of them."""
        return draw.uniform(self.earliest, self.latest)


class KillRule(msgspec.Struct, frozen=True, kw_only=True):
    """What decides the moment of the kill.

    Crashes until 2026-11-24 have none set: they were at the sync flush point, of MariaDB 10.5 and later at the async one.
    """

    highest_age: bool = False
    """Kill when the checkpoint age is what a load that outruns flushing comes back to (`RedoCapacity.highest_age`)."""
    age_fraction: float | None = None
    """Kill when the checkpoint age reaches this share of the age at which statements wait (the usable capacity)."""
    age: int | None = None
    """Kill when the checkpoint age reaches so many bytes."""
    after: float | None = None
    """Kill after so many seconds of the workload, or at what else is set where that comes before."""
    steady: SteadyRule | None = None
    """Kill when the load has become steady."""
    moment: Uniform | None = None
    """Kill at a moment drawn from these; which one is kept in the state."""

    @classmethod
    def from_options(cls, kill_at: str | None, kill_after: float | None) -> KillRule:
        """The rule that `--kill-at 75%`, `--kill-at 2G` and `--kill-after 30m` stand for: of two, what comes first."""
        if kill_at is None:
            return cls(after=kill_after, highest_age=kill_after is None)
        if "%" in kill_at:
            return cls(age_fraction=parse_percent(kill_at), after=kill_after)
        return cls(age=parse_size(kill_at), after=kill_after)

    @property
    def wants_no_age(self) -> bool:
        """Whether it is not an age that ends it."""
        other = self.after is not None or self.steady is not None or self.moment is not None
        return other and self.age is None and self.age_fraction is None and not self.highest_age

    @property
    def fills_up(self) -> bool:
        """Whether it is the log that decides, and not a number."""
        return self in (KillRule(), HIGHEST_AGE)

    def filled_to(self) -> str:
        """To which age it has a log filled, in words; empty where it names none."""
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
        """The checkpoint age to reach, in bytes; None if the rule has none.

        The limit is the server's own where it tells one, else what the formula of its source gives.
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
"""What a log is filled to unless something else is asked for."""
