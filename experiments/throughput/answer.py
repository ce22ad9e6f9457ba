"""The answer, a sentence a server: what a larger log gains in throughput, and what it adds to recovery."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.report.labels import server_label
from redolab.units import format_size

from .rows import Series, ThroughputRow


def answer(series: Sequence[Series]) -> str:
    """A sentence for each series."""
    if not series:
        return "No load was measured."
    return " ".join(sentence(each, series) for each in series)


def sentence(one: Series, among: Sequence[Series] = ()) -> str:
    """As in `MariaDB 11.8.6: from 256M to 2G: +31 % throughput (+27 to +36 %), +12 s recovery; …`."""
    first = one.rows[0]
    which = ", ".join([server_label(first.server, first.version), *_told_apart(one, among)])
    if len(one.rows) == 1:
        return f"{which}: {in_rate(first)} with a redo log of {format_size(first.log_size)}{_recovery_of(first)}."
    reached = next(row for row in one.rows if row.log_size == one.plateau.size)
    last = reached if reached is not first else one.rows[-1]
    sizes = f"from {format_size(first.log_size)} to {format_size(last.log_size)}"
    return f"{which}: {sizes}: {step(one, last)}; {one.plateau.in_words(one.rows[-1].log_size)}."


def step(one: Series, row: ThroughputRow) -> str:
    """What a row has more than the smallest log's, as in `+18 % throughput (+16 to +20 %), +31 s recovery`."""
    first = one.rows[0]
    gain = one.gains.get(row.log_size)
    parts = []
    if gain is not None:
        once = ", by one load each" if gain.blocks == 1 and row.n == 1 else ""
        parts.append(f"{gain.change:+.0%} throughput ({gain.low:+.0%} to {gain.high:+.0%}{once})")
    if row.ready is not None and first.ready is not None:
        parts.append(f"{row.ready - first.ready:+.0f} s recovery")
    if row.filled_ready is not None and first.filled_ready is not None:
        parts.append(f"{row.filled_ready - first.filled_ready:+.0f} s with the log filled up")
    return ", ".join(parts)


def in_rate(row: ThroughputRow) -> str:
    """As in `19,800 NOTPM`."""
    return f"{row.rate.mean:,.0f} {'NOTPM' if row.is_notpm else 'commits/s'}"


def _recovery_of(row: ThroughputRow) -> str:
    return "" if row.ready is None else f", ready {row.ready:.1f} s after a crash"


def _told_apart(one: Series, among: Sequence[Series]) -> list[str]:
    """What tells a series from the others of its server."""
    keys = [each.key for each in among if each.key.server == one.key.server] or [one.key]
    key = one.key
    parts = {
        "machine": f"on {key.machine}",
        "storage": key.storage,
        "pool": f"pool {format_size(key.pool)}",
        "tables": f"tables {format_size(key.tables)}",
        "connections": f"{key.connections} clients",
        "workload": key.workload,
        "settings": key.settings or "production settings",
    }
    return [words for name, words in parts.items() if len({getattr(each, name) for each in keys}) > 1]
