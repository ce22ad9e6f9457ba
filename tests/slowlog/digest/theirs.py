"""What pt-query-digest 3.2.1 says of a log, as far as both must say the same; kept beside the logs of the tests."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

PROGRAM = "pt-query-digest"
ENDING = ".pt.json"


class TheirClass(msgspec.Struct, frozen=True, kw_only=True):
    """A class of queries; times in seconds."""

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
    """Whether it can be asked."""
    return shutil.which(PROGRAM) is not None


def theirs(*logs: Path) -> Sequence[TheirClass]:
    """Ask it."""
    command = [PROGRAM, "--no-version-check", "--output", "json", "--limit", "100%", *map(str, logs)]
    told = subprocess.run(command, capture_output=True, check=False)
    # With one class alone its JSON lacks nothing; with none it says so in words.
    begin = told.stdout.find(b"{")
    if begin < 0:
        return []
    classes = msgspec.json.decode(told.stdout[begin:].decode("utf-8", "replace").encode())["classes"]
    return sorted((_class(each) for each in classes), key=lambda each: each.id)


def kept(log: Path) -> Sequence[TheirClass]:
    """What it said when the log was made."""
    return msgspec.json.decode(log.with_suffix(ENDING).read_bytes(), type=list[TheirClass])


def write_theirs(log: Path) -> None:
    """Keep what it says beside the log."""
    if not is_installed():
        return
    with tempfile.TemporaryDirectory() as folder:
        # It does not know the new name of MariaDB's server, and takes the first lines of such a log for a statement.
        known = Path(folder) / log.name
        known.write_bytes(log.read_bytes().replace(b"/mariadbd, Version", b"/mysqld, Version"))
        content = msgspec.json.format(msgspec.json.encode(theirs(known)), indent=1)
    log.with_suffix(ENDING).write_bytes(content + b"\n")


def _class(each: dict[str, Any]) -> TheirClass:
    metrics = each["metrics"]

    def of(name: str, what: str) -> float | None:
        return float(metrics[name][what]) if name in metrics else None

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
