"""Choice of a redo log size: the sizes that meet each condition, and the choice among them; sizes in bytes."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from redolab.report.intervals import RelativeChange
from redolab.units import GIB, MIB

SHOWN = tuple(256 * MIB * 2**step for step in range(9))
"""Log sizes of the table: 256M to 64G."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits that an answer has to keep."""

    rto: float
    """Seconds within which a recovery has to end."""
    chance: float = 0.05
    """Upper bound of the probability of a longer recovery, 0 to 1."""
    loss: float = 0.03
    """Upper bound of the loss of throughput against the largest log, 0 to 1."""


class Basis(StrEnum):
    """Criterion by which a size was chosen among those that recover in time."""

    THROUGHPUT = "throughput"
    """Smallest size that is known to lose less than the limit."""
    HOUR = "an hour of redo"
    """Smallest size that holds an hour of peak redo."""
    TIME = "recovery time"
    """Largest size that recovers in time: an hour of redo would take more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSizeAdvice:
    """Sizes that meet each condition; None if no size that the server can have meets it."""

    smallest: int
    """Smallest size considered."""
    smallest_for_hour: int | None
    """Smallest size that holds an hour of redo at the peak rate."""
    largest_within_rto: int | None
    """Largest size whose probability of a longer recovery is below the limit."""
    smallest_at_throughput: int | None
    """Smallest size that is known to lose less throughput than the limit."""

    @property
    def basis(self) -> Basis | None:
        """Criterion of the answer; None if there is no answer."""
        if self.largest_within_rto is None:
            return None
        if self.smallest_at_throughput is not None and self.smallest_at_throughput <= self.largest_within_rto:
            return Basis.THROUGHPUT
        if self.smallest_for_hour is not None and self.smallest_for_hour <= self.largest_within_rto:
            return Basis.HOUR
        return Basis.TIME

    @property
    def size(self) -> int | None:
        """Smallest size that meets the criterion: any larger one costs recovery time for certain."""
        match self.basis:
            case Basis.THROUGHPUT:
                return self.smallest_at_throughput
            case Basis.HOUR:
                return self.smallest_for_hour
            case _:
                return self.largest_within_rto


def advise(
    sizes: Sequence[int],
    limits: Limits,
    redo_per_hour: float,
    *,
    age: Callable[[int], int],
    chance: Callable[[int], float],
    lost: Callable[[int], RelativeChange | None],
) -> LogSizeAdvice:
    """Return advice on the `sizes` that a server can have, for a peak of `redo_per_hour` bytes of LSN an hour.

    The functions take a size. `age`: the worst checkpoint age in bytes; `chance`: the probability that a recovery takes
    longer than `limits` allow; `lost`: the loss of throughput against the largest measured log.
    """
    return LogSizeAdvice(
        smallest=sizes[0],
        smallest_for_hour=smallest_holding(sizes, redo_per_hour, age),
        largest_within_rto=_last(sizes, lambda size: chance(size) < limits.chance),
        smallest_at_throughput=next((size for size in sizes if _loses_less(lost(size), limits.loss)), None),
    )


def smallest_holding(sizes: Sequence[int], redo: float, age: Callable[[int], int]) -> int | None:
    """Return the smallest size whose worst checkpoint age in bytes is at least `redo`; None if none is."""
    return next((size for size in sizes if age(size) >= redo), None)


def is_resolved(lost: RelativeChange, loss: float) -> bool:
    """Return True unless the interval contains both no loss and a loss beyond the limit."""
    return not (lost.low <= 0 and lost.high >= loss)


def _loses_less(lost: RelativeChange | None, loss: float) -> bool:
    return lost is not None and not math.isnan(lost.high) and lost.high < loss


def _last(sizes: Sequence[int], meets: Callable[[int], bool]) -> int | None:
    """Return the last size that meets a condition that all smaller sizes meet too: recovery time grows with the log."""
    count = bisect.bisect_left(sizes, True, key=lambda size: not meets(size))
    return sizes[count - 1] if count else None


def possible_sizes(smallest: int, largest: int) -> list[int]:
    """Return the sizes that a person would set: steps of 64M up to 1G, 256M up to 8G, and 1G beyond."""
    steps = [*range(64 * MIB, GIB, 64 * MIB), *range(GIB, 8 * GIB, 256 * MIB), *range(8 * GIB, 513 * GIB, GIB)]
    return [size for size in steps if smallest <= size <= largest]
