"""Records of a digest: the classes of queries of slow query logs, and the parts of the logs that are in no class."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """The slowest execution of a class.

    `text`: the statement as logged, without the server's `;`; `cut`: whether it is only the beginning of a longer
    one; `seconds`, `lock_seconds`: how long it took, and waited for table locks; `database`: the default database,
    where the log names it; `at`: as `QueryClass.first_seen`.
    """

    text: str
    seconds: float
    lock_seconds: float | None = None
    rows_sent: int | None = None
    rows_examined: int | None = None
    database: str | None = None
    at: datetime | None = None
    cut: bool = False


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """Exact figures of all values, in their unit.

    The percentile p of n ordered values is the one at place ⌊p·n⌋; of fewer than ten, the largest, as in
    pt-query-digest. The median of an even number is the mean of the two in the middle. `stddev` is that of the values
    themselves (divided by n).
    """

    total: float
    min: float
    max: float
    mean: float
    median: float
    p95: float
    p99: float
    stddev: float


class Amount(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over executions that have the value, in its unit."""

    total: float
    max: float
    mean: float


class QueryClass(msgspec.Struct, frozen=True, kw_only=True):
    """All executions of statements with one fingerprint.

    `id`: the MD5 of the fingerprint as pt-query-digest 3 prints it, 32 digits; `seconds`: query times; `share`: of
    the query time of all classes, 0 to 1. `lock_seconds`, `rows_sent`, `rows_examined`: None where the log has none;
    `bytes`: the length of the statements. `first_seen`, `last_seen`: as stamped, with the offset where the stamps
    have one, None without stamps. `outliers`: executions beyond `outlier_seconds`, the third quartile plus three
    times the distance between the quartiles.
    """

    fingerprint: str
    id: str
    count: int
    seconds: Distribution
    share: float
    lock_seconds: Amount | None
    rows_sent: Amount | None
    rows_examined: Amount | None
    bytes: Amount
    first_seen: datetime | None
    last_seen: datetime | None
    outliers: int
    outlier_seconds: float
    example: Example


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of the logs that are in no class.

    `outside`: records that `since` and `until` leave out; `cut_off`: records that the log breaks off or begins in the
    middle of; `without_time`: records without a query time, or with an impossible one; `bytes`: before the first
    record.
    """

    outside: int = 0
    cut_off: int = 0
    without_time: int = 0
    bytes: int = 0


class ReadFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was read. `bytes`: of its unpacked content; `broken`: reason why it could not be read to its end."""

    path: str
    bytes: int
    broken: str = ""


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """Content of slow query logs.

    `classes`: the longest total time first; `count`, `seconds`: of all classes; `first_seen`, `last_seen`: of all
    classes; `spilled_bytes`: the size of the temporary file that held the single times; `notes`: remarks for the
    reader.
    """

    classes: Sequence[QueryClass]
    count: int
    seconds: float
    first_seen: datetime | None
    last_seen: datetime | None
    files: Sequence[ReadFile]
    skipped: Skipped
    spilled_bytes: int
    notes: Sequence[str] = ()

    @property
    def span_seconds(self) -> float | None:
        """Seconds from the first to the last query; None where the log has no stamps or only one."""
        if self.first_seen is None or self.last_seen is None or self.first_seen == self.last_seen:
            return None
        return (self.last_seen - self.first_seen).total_seconds()

    @property
    def concurrency(self) -> float | None:
        """Queries that ran at a time, on average: query time by time passed."""
        return None if self.span_seconds is None else self.seconds / self.span_seconds
