"""Which size of redo log holds an hour of peak redo, and which keeps recovery within a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redolab.models.recovery_time.predict import Prediction
from redolab.units import GIB, MIB

SHOWN = tuple(256 * MIB * 2**step for step in range(9))
"""Log sizes of the table: 256M to 64G."""
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class SizeRow:
    """What a redo log of so many bytes means."""

    log_size: int
    age: int
    """Bytes of redo that recovery finds at worst: the checkpoint age at which statements wait."""
    minutes: float
    """Of redo at the peak rate that it holds."""
    prediction: Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The sizes that meet each condition, in bytes; None where none that the server can have does."""

    rows: Sequence[SizeRow]
    """Of `SHOWN`, as far as the server can have them."""
    holds: SizeRow | None
    """The smallest that holds an hour of redo at the peak rate."""
    within: SizeRow | None
    """The largest that recovers within the time at the upper end of the 90 % interval."""
    within_median: SizeRow | None
    """The largest that does so in half of all recoveries."""

    @property
    def answer(self) -> SizeRow | None:
        """The smallest that meets both: beyond an hour of redo, a larger log costs recovery time for certain."""
        if self.holds is None or self.within is None or self.holds.log_size > self.within.log_size:
            return None
        return self.holds


def advise(
    *,
    redo_per_hour: float,
    rto: float,
    age: Callable[[int], int],
    predicted: Callable[[int], Prediction],
    smallest: int,
    largest: int,
) -> Advice:
    """Advice for a peak of so many bytes of LSN an hour and recoveries of at most `rto` seconds.

    `age`: log size → the worst checkpoint age, both in bytes; `predicted`: log size → its recovery at that age; `smallest`
    and `largest`: what the server can have.
    """

    def row(log_size: int) -> SizeRow:
        most = age(log_size)
        return SizeRow(log_size, most, most / redo_per_hour * 60, predicted(log_size))

    tried = [row(size) for size in possible_sizes(smallest, largest)]
    return Advice(
        rows=[row(size) for size in SHOWN if smallest <= size <= largest],
        holds=next((each for each in tried if each.age >= redo_per_hour), None),
        within=_last(tried, lambda each: each.prediction.ninety[1] <= rto),
        within_median=_last(tried, lambda each: each.prediction.seconds <= rto),
    )


def _last(rows: Sequence[SizeRow], meets: Callable[[SizeRow], bool]) -> SizeRow | None:
    """The last before the first that does not: a larger one that happens to meet it again is no safer."""
    found = None
    for each in rows:
        if not meets(each):
            break
        found = each
    return found


def possible_sizes(smallest: int, largest: int) -> list[int]:
    """Sizes that a person would set: steps of 64M up to 1G, 256M up to 8G, and 1G beyond."""
    steps = [*range(64 * MIB, GIB, 64 * MIB), *range(GIB, 8 * GIB, 256 * MIB), *range(8 * GIB, 513 * GIB, GIB)]
    return [size for size in steps if smallest <= size <= largest]
