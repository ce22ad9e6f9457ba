"""The answer, a sentence a server: what a larger log gains in throughput, and what it adds to recovery."""

from __future__ import annotations

import math
from collections.abc import Sequence

from redolab.models.intervals import Ratio
from redolab.models.plateau import throughput_difference_in_words
from redolab.records.kill_rule import KillRule
from redolab.report.labels import server_label
from redolab.units import KIB, format_duration, format_size

from .rows import ThroughputRow, ThroughputSeries

_ALWAYS = ("storage", "pool")
"""What a panel says of its series in any case."""
_BUSY = 0.9
"""Of its time: what is busier limits a load."""


def answer(series: Sequence[ThroughputSeries]) -> str:
    """A sentence for each series."""
    if not series:
        return "No load was measured."
    return " ".join(sentence(each, series) for each in series)


def title(series: Sequence[ThroughputSeries]) -> str:
    """The answer; of several series the one thing that they show together, as all of it does not fit above a picture.

    As in `From 256M to 4G of redo log no gain in throughput could be measured; recovering a full log takes 3.3 to 12 times as long`
    and `Throughput from 256M to 4G: MySQL 9.7.4 +33 % (+22 to +44), MariaDB 11.8.9 +102 % (+94 to +109)`.
    """
    if len(series) == 1:
        return answer(series)
    sizes = [row.log_size for each in series for row in each.rows]
    resolved = [(row, each) for each in series if (row := gained(each)) is not None]
    if not resolved:
        found = (
            f"From {format_size(min(sizes))} to {format_size(max(sizes))} of redo log no gain in throughput was resolved in any "
            f"of {len(series)} loads"
        )
    else:
        by_sizes: dict[str, list[str]] = {}
        for row, one in resolved:
            gain = f"{name_of(one, series)} {one.gains[row.log_size].with_interval()}"
            by_sizes.setdefault(_sizes(one.rows[0], row), []).append(gain)
        said = [f"throughput {between}: {', '.join(gains)}" for between, gains in by_sizes.items()]
        rest = len(series) - len(resolved)
        found = "; ".join([*said, *([f"not resolved in {rest} of {len(series)} loads"] if rest else [])])
        found = f"{found[0].upper()}{found[1:]}"
    return found + _full_log_in_words(series)


def finding(series: Sequence[ThroughputSeries]) -> str:
    """What the largest log saves the device, which a load shows with less doubt than its throughput, and then the title.

    As in `A redo log of 4G instead of 256M: the device is sent 22 KiB for each commit instead of 60 (MySQL 9.7.4). From 256M …`.
    """
    if len(series) == 1:
        return answer(series)
    by_sizes: dict[str, list[str]] = {}
    for each in series:
        first, last = each.rows[0], each.rows[-1]
        if (kib := _kib_written(first, last)) is not None:
            by_sizes.setdefault(_instead(first, last), []).append(f"{kib} ({name_of(each, series)})")
    said = [
        f"{sizes[0].upper()}{sizes[1:]}: the device is sent {', '.join(saved)} for each commit."
        for sizes, saved in by_sizes.items()
    ]
    return " ".join([*said, title(series)])


def limited_in_words(series: Sequence[ThroughputSeries]) -> str:
    """What the loads were limited by, whatever the log: their processors or their device; empty where neither was busy in all.

    As in `MySQL 9.7.4 by the processors (97 % busy and more), MariaDB 11.8.9, cloud-ssd by the device (99 % busy and more)`.
    """
    said = []
    for each in series:
        figures = [row.figures for row in each.rows]
        for what, shares in (
            ("the processors", [one.cpu_share for one in figures]),
            ("the device", [one.device_busy for one in figures]),
        ):
            known = [share for share in shares if share is not None]
            if len(known) == len(figures) and min(known) >= _BUSY:
                said.append(f"{name_of(each, series)} by {what} ({100 * min(known):.0f} % busy and more)")
                break
    return "; ".join(said)


def _kib_written(first: ThroughputRow, last: ThroughputRow) -> str | None:
    """As in `22 KiB instead of 60`; None where the device was not measured, or there is one size."""
    before, after = first.figures.device_per_commit, last.figures.device_per_commit
    if last is first or before is None or after is None:
        return None
    return f"{after / KIB:.0f} KiB instead of {before / KIB:.0f}"


def _writes(first: ThroughputRow, last: ThroughputRow) -> str:
    """As in `22 KiB instead of 60 to the device for each commit`; empty where it was not measured."""
    kib = _kib_written(first, last)
    return "" if kib is None else f"{kib} to the device for each commit"


def _full_log_in_words(series: Sequence[ThroughputSeries]) -> str:
    """How many times as long the largest log takes as the smallest, filled up; nothing where that is not known."""
    known = [
        each.rows[-1].filled_ready / each.rows[0].filled_ready
        for each in series
        if each.rows[0].filled_ready and each.rows[-1].filled_ready
    ]
    if not known:
        return ""
    least, most = (f"{value:.1f}" for value in (min(known), max(known)))
    # Of a log that did not fill up, a full one takes longer.
    at_least = "at least " if any(each.rows[-1].filled_short for each in series) else ""
    return f"; recovery with the log filled up takes {at_least}{least if least == most else f'{least} to {most}'} times as long"


def sentence(one: ThroughputSeries, among: Sequence[ThroughputSeries] = (), *, device: bool = True) -> str:
    """What a larger log gains and costs; `device`: with what it saves the device and gains, which `finding` has too.

    As in `MariaDB 11.8.6: a redo log of 2G instead of 256M: +31% throughput (+27% to +36%); recovery takes 12 s longer; …`.
    """
    first, last = one.rows[0], one.rows[-1]
    which = name_of(one, among)
    if last is first:
        return f"{which}: {in_rate(first)} with a redo log of {format_size(first.log_size)}{_recovery_of(first)}."
    reached = gained(one)
    if reached is None:
        parts = [
            _unresolved(one),
            _writes(first, last) if device else "",
            _longer(first, last),
            _why_no_gain(one) if device or not one.apart else "",
        ]
        return f"{which}: {_instead(first, last)}: {'; '.join(part for part in parts if part)}."
    beyond = _why_no_gain(one) if one.plateau is None else one.plateau.in_words(first.log_size, last.log_size)
    told = [_gain(one, reached), _writes(first, reached)] if device else []
    parts = [*told, _longer(first, reached), beyond]
    return f"{which}: {_instead(first, reached)}: {'; '.join(part for part in parts if part)}."


def _instead(first: ThroughputRow, last: ThroughputRow) -> str:
    return f"a redo log of {format_size(last.log_size)} instead of {format_size(first.log_size)}"


def _gain(one: ThroughputSeries, row: ThroughputRow) -> str:
    """As in `+31% throughput (+27% to +36%)`."""
    gain = one.gains[row.log_size]
    between = too_few(one) if math.isnan(gain.low) else f"{gain.low:+.0%} to {gain.high:+.0%}"
    return f"{gain.change:+.0%} throughput ({between})"


def _unresolved(one: ThroughputSeries) -> str:
    """As in `throughput gain not resolved (less than 5 % either way; with 2G +1 % (-4 to +6))`."""
    compared = [row for row in one.rows[1:] if row.log_size in one.gains]
    largest = (
        f"; with {format_size(compared[-1].log_size)} {one.gains[compared[-1].log_size].with_interval()}"
        if compared
        else ""
    )
    return f"throughput gain not resolved ({throughput_difference_in_words(one.furthest)}{largest})"


def _longer(first: ThroughputRow, row: ThroughputRow) -> str:
    """As in `recovery takes 22 s longer, 85 s with the log filled up`; empty where nothing is known."""
    parts = [
        f"{after - before:+.0f} s{beside}"
        for before, after, beside in (
            (first.ready, row.ready, ""),
            (first.filled_ready, row.filled_ready, " with the log filled up"),
        )
        if before is not None and after is not None
    ]
    return f"recovery {', '.join(parts)}" if parts else ""


def gained(one: ThroughputSeries) -> ThroughputRow | None:
    """The row of the log beyond which nothing more is gained; where that is the smallest, of the one that gained the most.

    None where no gain is known, or where that one may be none.
    """
    known = [row for row in one.rows[1:] if row.log_size in one.gains]
    reached = [row for row in known if one.plateau is not None and row.log_size == one.plateau.size]
    row = max(reached or known, key=lambda each: one.gains[each.log_size].change, default=None)
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
    made = one.made
    others = [each.made for each in among if each.made.server == made.server and each.made != made]
    parts = {
        "workload": made.workload,
        "storage": made.storage,
        "pool": f"pool {format_size(made.pool)}",
        "tables": f"tables {format_size(made.tables)}",
        "connections": f"{made.connections} clients",
        "settings": made.settings or "production settings",
        "kill": _ended(made.kill, [each.kill for each in others if each.kill != made.kill]),
        "machine": f"on {made.machine}",
    }
    told = []
    for name, words in parts.items():
        apart = [each for each in others if getattr(each, name) != getattr(made, name)]
        if apart or name in always:
            told.append(words)
            others = [each for each in others if each not in apart]
    return told


def _ended(kill: KillRule, others: Sequence[KillRule]) -> str:
    """When the loads were ended, as in `until steady`, `5 min 0 s`; against others that were steady, by which windows."""
    if kill.steady is None and kill.after is not None:
        return format_duration(kill.after)
    if all(each.steady is None for each in others):
        return "until steady"
    parts = [] if kill.steady is None else [f"windows of {format_duration(kill.steady.window)}"]
    parts += [] if kill.after is None else [f"{format_duration(kill.after)} at most"]
    return " and ".join(parts)
