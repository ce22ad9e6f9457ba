"""Our digest beside pt-query-digest's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from redolab.slowlog.digest import Amount, Digest, QueryClass
from tests.slowlog.digest.theirs import TheirClass

# Its JSON prints microseconds, and rows and bytes as whole numbers.
_PRINTED = 0.000_002
_BUCKET = 1.05
# A class without text: pt-query-digest takes `use x` for no query, and what follows it for its text.
_SMALLEST = 0.000_001


def differences(ours: Digest, theirs: Sequence[TheirClass]) -> Iterator[str]:
    """What is not the same, a line each; none where all is."""
    own = {each.id: each for each in ours.classes}
    other = {each.id: each for each in theirs}
    for missing in other.keys() - own.keys():
        yield f"theirs alone: {other[missing].count} × {other[missing].fingerprint!r}"
    for extra in own.keys() - other.keys():
        yield f"ours alone: {own[extra].count} × {own[extra].fingerprint!r}"
    for same in own.keys() & other.keys():
        for what in _of_class(own[same], other[same]):
            yield f"{own[same].fingerprint!r}: {what}"


def _of_class(ours: QueryClass, theirs: TheirClass) -> Iterator[str]:
    if ours.count != theirs.count:
        yield f"count {ours.count}, theirs {theirs.count}"
        return
    seconds = ours.seconds
    exact: list[tuple[str, float | None, float | None]] = [
        ("total", seconds.total, theirs.total),
        ("min", seconds.min, theirs.min),
        ("max", seconds.max, theirs.max),
        ("lock", _total(ours.lock_seconds), theirs.lock_total),
        ("rows sent", _total(ours.rows_sent), theirs.sent_total),
        ("rows examined", _total(ours.rows_examined), theirs.examined_total),
        ("bytes", _total(ours.bytes), theirs.bytes_total),
    ]
    for name, own, other in exact:
        if other is not None and (own is None or abs(own - other) > _PRINTED):
            yield f"{name} {own}, theirs {other}"
    if not _in_bucket(seconds.p95, theirs.p95):
        yield f"p95 {seconds.p95}, theirs {theirs.p95}"


def _total(amount: Amount | None) -> float | None:
    return None if amount is None else amount.total


def _in_bucket(value: float, printed: float) -> bool:
    """Whether a value lies in the bucket whose lower end was printed."""
    return printed - _PRINTED <= value <= printed * _BUCKET + _PRINTED or math.isclose(
        value, printed, abs_tol=_SMALLEST
    )
