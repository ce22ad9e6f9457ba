"""Findings of pt-query-digest 3.2.1, kept beside the logs of the tests, and compared with the lab's digest."""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from redolab.slowlog.digest.classes import Amount, Digest, QueryClass

PROGRAM = "pt-query-digest"
ENDING = ".pt.json"
# Its JSON has microseconds, and rows and bytes as whole numbers.
_PRINTED = 0.000_002
_BUCKET = 1.05
# A class without text: pt-query-digest takes `use x` for no query, and what follows it for its text.
_SMALLEST = 0.000_001


class TheirClass(msgspec.Struct, frozen=True, kw_only=True):
    """A class of queries by pt-query-digest; times in seconds."""

    id: str
    fingerprint: str
    count: int
    total: float
    min: float
    max: float
    p95: float
    lock_total: float | None
    sent_total: float | None
    examined_total: float | None
    bytes_total: float | None


def is_installed() -> bool:
    """Return True if the program can be run."""
    return shutil.which(PROGRAM) is not None


def their_classes(log: Path) -> Sequence[TheirClass]:
    """Run the program on a log."""
    command = [PROGRAM, "--no-version-check", "--output", "json", "--limit", "100%", str(log)]
    output = subprocess.run(command, capture_output=True, check=False).stdout
    # Without a class it prints a sentence.
    begin = output.find(b"{")
    if begin < 0:
        return []
    classes = msgspec.json.decode(output[begin:].decode("utf-8", "replace").encode())["classes"]
    return sorted((_class(each) for each in classes), key=lambda each: each.id)


def kept_classes(log: Path) -> Sequence[TheirClass]:
    """Read what the program found when the log was made."""
    return msgspec.json.decode(log.with_suffix(ENDING).read_bytes(), type=list[TheirClass])


def write_classes(log: Path) -> None:
    """Keep what the program finds beside the log; without the program do nothing."""
    if not is_installed():
        return
    with tempfile.TemporaryDirectory() as folder:
        # It does not know the new name of MariaDB's server, and takes the first lines of such a log for a statement.
        known = Path(folder) / log.name
        known.write_bytes(log.read_bytes().replace(b"/mariadbd, Version", b"/mysqld, Version"))
        content = msgspec.json.format(msgspec.json.encode(their_classes(known)), indent=1)
    log.with_suffix(ENDING).write_bytes(content + b"\n")


def _class(each: dict[str, Any]) -> TheirClass:
    metrics = each["metrics"]

    def of(name: str, figure: str) -> float | None:
        return float(metrics[name][figure]) if name in metrics else None

    return TheirClass(
        id=each["checksum"],
        fingerprint=each["fingerprint"],
        count=each["query_count"],
        total=of("Query_time", "sum") or 0.0,
        min=of("Query_time", "min") or 0.0,
        max=of("Query_time", "max") or 0.0,
        p95=of("Query_time", "pct_95") or 0.0,
        lock_total=of("Lock_time", "sum"),
        sent_total=of("Rows_sent", "sum"),
        examined_total=of("Rows_examined", "sum"),
        bytes_total=of("Query_length", "sum"),
    )


def differences(ours: Digest, theirs: Sequence[TheirClass]) -> Iterator[str]:
    """Yield a line for each difference."""
    own, other = {each.id: each for each in ours.classes}, {each.id: each for each in theirs}
    yield from (f"theirs alone: {other[key].fingerprint!r}" for key in other.keys() - own.keys())
    yield from (f"ours alone: {own[key].fingerprint!r}" for key in own.keys() - other.keys())
    for key in own.keys() & other.keys():
        yield from (f"{own[key].fingerprint!r}: {difference}" for difference in _of_class(own[key], other[key]))


def _of_class(ours: QueryClass, theirs: TheirClass) -> Iterator[str]:
    exact: list[tuple[str, float | None, float | None]] = [
        ("count", ours.count, theirs.count),
        ("total", ours.seconds.total, theirs.total),
        ("min", ours.seconds.min, theirs.min),
        ("max", ours.seconds.max, theirs.max),
        ("lock", _total(ours.lock_seconds), theirs.lock_total),
        ("rows sent", _total(ours.rows_sent), theirs.sent_total),
        ("rows examined", _total(ours.rows_examined), theirs.examined_total),
        ("bytes", _total(ours.bytes), theirs.bytes_total),
    ]
    for name, own, other in exact:
        if other is not None and (own is None or abs(own - other) > _PRINTED):
            yield f"{name} {own}, theirs {other}"
    if not _in_bucket(ours.seconds.p95, theirs.p95):
        yield f"p95 {ours.seconds.p95}, theirs {theirs.p95}"


def _total(amount: Amount | None) -> float | None:
    return None if amount is None else amount.total


def _in_bucket(value: float, printed: float) -> bool:
    """Return True if a value lies in the bucket whose lower end was printed."""
    in_bucket = printed - _PRINTED <= value <= printed * _BUCKET + _PRINTED
    return in_bucket or math.isclose(value, printed, abs_tol=_SMALLEST)
