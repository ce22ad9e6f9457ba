"""The answer, a sentence a server: what a larger log gains in throughput, and what it adds to recovery."""

from __future__ import annotations

import math
from collections.abc import Sequence

from redolab.models.intervals import Ratio
from redolab.models.plateau import throughput_difference_in_words
from redolab.records.kill_rule import KillRule
from redolab.report.labels import server_label
from redolab.units import format_duration, format_size

from .rows import ThroughputRow, ThroughputSeries

_ALWAYS = ("storage", "pool")
"""What a panel says of its series in any case."""


def answer(series: Sequence[ThroughputSeries]) -> str:
    """A sentence for each series."""
    if not series:
        return "No load was measured."
    return " ".join(sentence(each, series) for each in series)


def title(series: Sequence[ThroughputSeries]) -> str:
    """The answer; of several series less of it, as all of it does not fit above a picture."""
    if len(series) == 1:
        return answer(series)
    return "; ".join(_in_brief(each, series) for each in series)


def sentence(one: ThroughputSeries, among: Sequence[ThroughputSeries] = ()) -> str:
    """As in `MariaDB 11.8.6: from 256M to 2G: +31% throughput (+27% to +36%), +12 s recovery; …`."""
    first, last = one.rows[0], one.rows[-1]
    which = name_of(one, among)
    if last is first:
        return f"{which}: {in_rate(first)} with a redo log of {format_size(first.log_size)}{_recovery_of(first)}."
    gained = _worth_it(one)
    if gained is None:
        parts = [f"throughput differs by {throughput_difference_in_words(one.furthest)}", *_recoveries(first, last)]
        return f"{which}: {_sizes(first, last)}: {', '.join(parts)}; {_why_no_gain(one)}."
    beyond = _why_no_gain(one) if one.plateau is None else one.plateau.in_words(first.log_size, last.log_size)
    return f"{which}: {_sizes(first, gained)}: {step(one, gained)}; {beyond}."


def _in_brief(one: ThroughputSeries, among: Sequence[ThroughputSeries]) -> str:
    """As in `MariaDB 11.8.6: from 256M to 2G: +31% throughput, +12 s recovery`."""
    first, gained = one.rows[0], _worth_it(one)
    last = one.rows[-1] if gained is None else gained
    if last is first:
        return f"{name_of(one, among)}: {in_rate(first)} with {format_size(first.log_size)}"
    differs = f"throughput differs by {throughput_difference_in_words(one.furthest)}"
    parts = [differs if gained is None else f"{one.gains[gained.log_size].change:+.0%} throughput"]
    parts += _added("recovery", first.ready, last.ready)
    return f"{name_of(one, among)}: {_sizes(first, last)}: {', '.join(parts)}"


def _worth_it(one: ThroughputSeries) -> ThroughputRow | None:
    """The row of the log beyond which nothing more is gained; where that is the smallest, of the one that gained the most.

    None where no gain is known, or where that one may be none.
    """
    gained = [row for row in one.rows[1:] if row.log_size in one.gains]
    reached = [row for row in gained if one.plateau is not None and row.log_size == one.plateau.size]
    row = max(reached or gained, key=lambda each: one.gains[each.log_size].change, default=None)
    return row if row is not None and is_shown(one.gains[row.log_size]) else None


def is_shown(gain: Ratio) -> bool:
    """Whether a gain is one: not where its interval has none in it. Of one load each there is no interval."""
    return math.isnan(gain.low) or gain.excludes_zero


def _why_no_gain(one: ThroughputSeries) -> str:
    """As in `no gain is claimed for 4G, measured in other minutes of its load than 256M`."""
    if not one.apart:
        return "no more than repeated loads differ"
    sizes = ", ".join(format_size(size) for size in one.apart)
    loads = "its load" if len(one.apart) == 1 else "their loads"
    return (
        f"no gain is claimed for {sizes}, measured in other minutes of {loads} than {format_size(one.rows[0].log_size)}"
    )


def name_of(one: ThroughputSeries, among: Sequence[ThroughputSeries]) -> str:
    """Server and version, and what tells a series from the others of that server."""
    return _named(one, among, ())


def panel_name(one: ThroughputSeries, among: Sequence[ThroughputSeries]) -> str:
    """The same for a picture, with storage, pool and what was set beside production's settings."""
    return _named(one, among, (*_ALWAYS, "settings") if one.made.settings else _ALWAYS)


def _named(one: ThroughputSeries, among: Sequence[ThroughputSeries], always: Sequence[str]) -> str:
    label = server_label(one.made.server, one.made.version)
    alike = [each for each in among if each.made == one.made]
    # What no block compares stands apart for no other reason.
    run = [f"run {one.loads[0].run}"] if len(alike) > 1 else []
    return ", ".join([label, *_told_apart(one, among, always), *run])


def _sizes(first: ThroughputRow, last: ThroughputRow) -> str:
    return f"from {format_size(first.log_size)} to {format_size(last.log_size)}"


def _added(what: str, first: float | None, last: float | None) -> list[str]:
    """As in `+31 s recovery`; nothing where one is not known."""
    return [] if first is None or last is None else [f"{last - first:+.0f} s {what}"]


def step(one: ThroughputSeries, row: ThroughputRow) -> str:
    """What a row has more than the smallest log's, as in `+18% throughput (+16% to +20%), +31 s recovery`."""
    first = one.rows[0]
    gain = one.gains.get(row.log_size)
    parts = []
    if gain is not None:
        between = too_few(one) if math.isnan(gain.low) else f"{gain.low:+.0%} to {gain.high:+.0%}"
        parts.append(f"{gain.change:+.0%} throughput ({between})")
    return ", ".join([*parts, *_recoveries(first, row)])


def _recoveries(first: ThroughputRow, row: ThroughputRow) -> list[str]:
    """What a crash costs more with a row's log than with the smallest, on a usual day and at worst."""
    return [
        *_added("recovery", first.ready, row.ready),
        *_added("with the log filled up", first.filled_ready, row.filled_ready),
    ]


def too_few(one: ThroughputSeries) -> str:
    """Why there is no interval."""
    return "one load each" if all(row.n == 1 for row in one.rows) else "too few loads for an interval"


def in_rate(row: ThroughputRow) -> str:
    """As in `19,800 NOTPM`."""
    return f"{row.rate.mean:,.0f} {'NOTPM' if row.is_notpm else 'commits/s'}"


def _recovery_of(row: ThroughputRow) -> str:
    return "" if row.ready is None else f", ready {row.ready:.1f} s after a crash"


def _told_apart(one: ThroughputSeries, among: Sequence[ThroughputSeries], always: Sequence[str]) -> list[str]:
    """What tells a series from the others of its server, and what is told in any case."""
    of_server = [each.made for each in among if each.made.server == one.made.server] or [one.made]
    made = one.made
    parts = {
        "machine": f"on {made.machine}",
        "storage": made.storage,
        "pool": f"pool {format_size(made.pool)}",
        "tables": f"tables {format_size(made.tables)}",
        "connections": f"{made.connections} clients",
        "workload": made.workload,
        "settings": made.settings or "production settings",
        "kill": _ended(made.kill),
    }
    return [
        words for name, words in parts.items() if name in always or len({getattr(each, name) for each in of_server}) > 1
    ]


def _ended(kill: KillRule) -> str:
    """When the loads were ended, as in `windows of 3 min 0 s, 30 min 0 s at most`."""
    parts = [] if kill.steady is None else [f"windows of {format_duration(kill.steady.window)}"]
    parts += [] if kill.after is None else [f"{format_duration(kill.after)} at most"]
    return " and ".join(parts)
