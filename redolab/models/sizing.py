"""Choice of a redo log size: the consequences of each size, and the choice among them."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from redolab.models.intervals import Ratio
from redolab.models.recovery_time.predict import Prediction
from redolab.units import GIB, MIB

SHOWN = tuple(256 * MIB * 2**step for step in range(9))
"""Log sizes of the table: 256M to 64G."""
HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits that an answer has to keep."""

    rto: float
    """Seconds within which a recovery has to end."""
    chance: float = 0.05
    """Upper bound of the probability of a longer recovery, 0 to 1."""
    loss: float = 0.03
    """Upper bound of the loss of throughput against the largest log, 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeRow:
    """Consequences of a redo log of `log_size` bytes."""

    log_size: int
    age: int
    """Bytes of redo that recovery finds at worst: the checkpoint age at which statements wait."""
    minutes: float
    """Minutes of redo at the peak rate that it holds."""
    prediction: Prediction
    """Recovery after a crash at that age."""
    chance: float
    """Probability that a recovery takes longer than the limit, 0 to 1."""
    lost: Ratio | None = None
    """Loss of throughput against the largest measured log, above 0 for a loss; None if unknown."""


class Basis(StrEnum):
    """Criterion by which a size was chosen among those that recover in time."""

    THROUGHPUT = "throughput"
    """Smallest size that is known to lose less than the limit."""
    HOUR = "an hour of redo"
    """Smallest size that holds an hour of peak redo."""
    TIME = "recovery time"
    """Largest size that recovers in time: an hour of redo would take more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Sizes that meet each condition; None if no size that the server can have meets it."""

    rows: Sequence[SizeRow]
    """Rows of the sizes to show, as far as the server can have them."""
    smallest: SizeRow
    """Smallest of all considered sizes."""
    holds: SizeRow | None
    """Smallest size that holds an hour of redo at the peak rate."""
    within: SizeRow | None
    """Largest size whose probability of a longer recovery is below the limit."""
    within_median: SizeRow | None
    """Largest size that recovers in time after half of the worst crashes."""
    keeps: SizeRow | None
    """Smallest size that is known to lose less throughput than the limit."""

    @property
    def basis(self) -> Basis | None:
        """Criterion of the answer; None if there is no answer."""
        if self.within is None:
            return None
        if self.keeps is not None and self.keeps.log_size <= self.within.log_size:
            return Basis.THROUGHPUT
        if self.holds is not None and self.holds.log_size <= self.within.log_size:
            return Basis.HOUR
        return Basis.TIME

    @property
    def answer(self) -> SizeRow | None:
        """Smallest size that meets the criterion: any larger one costs recovery time for certain."""
        match self.basis:
            case Basis.THROUGHPUT:
                return self.keeps
            case Basis.HOUR:
                return self.holds
            case Basis.TIME:
                return self.within
            case _:
                return None


def advise(
    *,
    redo_per_hour: float,
    limits: Limits,
    age: Callable[[int], int],
    predicted: Callable[[int], Prediction],
    chance: Callable[[int], float],
    smallest: int,
    largest: int,
    lost: Callable[[int], Ratio | None] = lambda _: None,
    shown: Sequence[int] = SHOWN,
) -> Advice:
    """Return advice for a peak of `redo_per_hour` bytes of LSN an hour.

    The functions take a log size in bytes. `age`: the worst checkpoint age in bytes; `predicted`: the recovery at that
    age; `chance`: the probability that a recovery takes longer than `limits` allow; `lost`: the loss of throughput
    against the largest measured log. `smallest` and `largest`: the range that the server can have. `shown`: the sizes
    that get a row, as far as the server can have them.
    """

    def row(log_size: int) -> SizeRow:
        most = age(log_size)
        return SizeRow(
            log_size=log_size,
            age=most,
            minutes=most / redo_per_hour * 60,
            prediction=predicted(log_size),
            chance=chance(log_size),
            lost=lost(log_size),
        )

    sizes = possible_sizes(smallest, largest)
    return Advice(
        rows=[row(size) for size in shown if smallest <= size <= largest],
        smallest=row(sizes[0]),
        holds=_first(row, sizes, lambda size: age(size) >= redo_per_hour),
        within=_last(row, sizes, lambda size: chance(size) < limits.chance),
        within_median=_last(row, sizes, lambda size: predicted(size).seconds <= limits.rto),
        keeps=_first(row, sizes, lambda size: _loses_less(lost(size), limits.loss)),
    )


def is_resolved(lost: Ratio, loss: float) -> bool:
    """Return True unless the interval contains both no loss and a loss beyond the limit."""
    return not (lost.low <= 0 and lost.high >= loss)


def _loses_less(lost: Ratio | None, loss: float) -> bool:
    return lost is not None and not math.isnan(lost.high) and lost.high < loss


def _first(row: Callable[[int], SizeRow], sizes: Sequence[int], meets: Callable[[int], bool]) -> SizeRow | None:
    return next((row(size) for size in sizes if meets(size)), None)


def _last(row: Callable[[int], SizeRow], sizes: Sequence[int], meets: Callable[[int], bool]) -> SizeRow | None:
    """Return the last size that meets a condition that all smaller sizes meet too: recovery time grows with the log."""
    count = bisect.bisect_left(sizes, True, key=lambda size: not meets(size))
    return row(sizes[count - 1]) if count else None


def possible_sizes(smallest: int, largest: int) -> list[int]:
    """Return the sizes that a person would set: steps of 64M up to 1G, 256M up to 8G, and 1G beyond."""
    steps = [*range(64 * MIB, GIB, 64 * MIB), *range(GIB, 8 * GIB, 256 * MIB), *range(8 * GIB, 513 * GIB, GIB)]
    return [size for size in steps if smallest <= size <= largest]
