"""The answer, a sentence a server: what a larger log gains in throughput, and what it adds to recovery."""

from __future__ import annotations

import math
from collections.abc import Sequence

from redolab.crashes.fill import KillRule
from redolab.report.labels import server_label
from redolab.units import format_duration, format_size

from .rows import Series, ThroughputRow

_ALWAYS = ("storage", "pool")
"""What a panel says of its series in any case."""


def answer(series: Sequence[Series]) -> str:
    """A sentence for each series."""
    if not series:
        return "No load was measured."
    return " ".join(sentence(each, series) for each in series)


def title(series: Sequence[Series]) -> str:
    """The answer; of several series less of it, as all of it does not fit above a picture."""
    if len(series) == 1:
        return answer(series)
    return "; ".join(_in_brief(each, series) for each in series)


def sentence(one: Series, among: Sequence[Series] = ()) -> str:
    """As in `MariaDB 11.8.6: from 256M to 2G: +31% throughput (+27% to +36%), +12 s recovery; …`."""
    first, last = one.rows[0], _worth_it(one)
    which = name_of(one, among)
    if last is first:
        return f"{which}: {in_rate(first)} with a redo log of {format_size(first.log_size)}{_recovery_of(first)}."
    return f"{which}: {_sizes(first, last)}: {step(one, last)}; {one.plateau.in_words(first.log_size, one.rows[-1].log_size)}."


def _in_brief(one: Series, among: Sequence[Series]) -> str:
    """As in `MariaDB 11.8.6: from 256M to 2G: +31% throughput, +12 s recovery`."""
    first, last = one.rows[0], _worth_it(one)
    if last is first:
        return f"{name_of(one, among)}: {in_rate(first)} with {format_size(first.log_size)}"
    gain = one.gains.get(last.log_size)
    parts = [] if gain is None else [f"{gain.change:+.0%} throughput"]
    parts += _added("recovery", first.ready, last.ready)
    return f"{name_of(one, among)}: {_sizes(first, last)}: {', '.join(parts)}"


def _worth_it(one: Series) -> ThroughputRow:
    """The row of the log beyond which nothing more is gained; where that is the smallest, of the one that gained the most."""
    reached = next(row for row in one.rows if row.log_size == one.plateau.size)
    if reached is not one.rows[0]:
        return reached
    gained = [(one.gains[row.log_size].change, row) for row in one.rows[1:] if row.log_size in one.gains]
    return max(gained, key=lambda pair: pair[0])[1] if gained else one.rows[-1]


def name_of(one: Series, among: Sequence[Series]) -> str:
    """Server and version, and what tells a series from the others of that server."""
    return _named(one, among, ())


def panel_name(one: Series, among: Sequence[Series]) -> str:
    """The same for a picture, with storage, pool and what was set beside production's settings."""
    return _named(one, among, (*_ALWAYS, "settings") if one.key.settings else _ALWAYS)


def _named(one: Series, among: Sequence[Series], always: Sequence[str]) -> str:
    label = server_label(one.key.server, one.key.version)
    alike = [each for each in among if each.key == one.key]
    # What no block compares stands apart for no other reason.
    run = [f"run {one.loads[0].run}"] if len(alike) > 1 else []
    return ", ".join([label, *_told_apart(one, among, always), *run])


def _sizes(first: ThroughputRow, last: ThroughputRow) -> str:
    return f"from {format_size(first.log_size)} to {format_size(last.log_size)}"


def _added(what: str, first: float | None, last: float | None) -> list[str]:
    """As in `+31 s recovery`; nothing where one is not known."""
    return [] if first is None or last is None else [f"{last - first:+.0f} s {what}"]


def step(one: Series, row: ThroughputRow) -> str:
    """What a row has more than the smallest log's, as in `+18% throughput (+16% to +20%), +31 s recovery`."""
    first = one.rows[0]
    gain = one.gains.get(row.log_size)
    parts = []
    if gain is not None:
        between = too_few(one) if math.isnan(gain.low) else f"{gain.low:+.0%} to {gain.high:+.0%}"
        parts.append(f"{gain.change:+.0%} throughput ({between})")
    parts += _added("recovery", first.ready, row.ready)
    parts += _added("with the log filled up", first.filled_ready, row.filled_ready)
    return ", ".join(parts)


def too_few(one: Series) -> str:
    """Why there is no interval."""
    return "one load each" if all(row.n == 1 for row in one.rows) else "too few loads for an interval"


def in_rate(row: ThroughputRow) -> str:
    """As in `19,800 NOTPM`."""
    return f"{row.rate.mean:,.0f} {'NOTPM' if row.is_notpm else 'commits/s'}"


def _recovery_of(row: ThroughputRow) -> str:
    return "" if row.ready is None else f", ready {row.ready:.1f} s after a crash"


def _told_apart(one: Series, among: Sequence[Series], always: Sequence[str]) -> list[str]:
    """What tells a series from the others of its server, and what is told in any case."""
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
        "kill": _ended(key.kill),
    }
    return [words for name, words in parts.items() if name in always or len({getattr(each, name) for each in keys}) > 1]


def _ended(kill: KillRule) -> str:
    """When the loads were ended, as in `windows of 3 min 0 s, 30 min 0 s at most`."""
    parts = [] if kill.steady is None else [f"windows of {format_duration(kill.steady.window)}"]
    parts += [] if kill.after is None else [f"{format_duration(kill.after)} at most"]
    return " and ".join(parts)
