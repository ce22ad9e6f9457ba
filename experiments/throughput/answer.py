"""The answer, a sentence a server: throughput gained by a larger log, and recovery time added."""

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
"""Properties of its series that a panel always names."""
_BUSY = 0.9
"""Share of its time from which a busy resource limits a load."""


def answer(series: Sequence[ThroughputSeries]) -> str:
    """Return a sentence for each series."""
    if not series:
        return "No load was measured."
    return " ".join(sentence(each, series) for each in series)


def title(series: Sequence[ThroughputSeries]) -> str:
    """Return the answer, or for several series their common result, since the whole does not fit above a picture.

    For example `From 256M to 4G of redo log no gain in throughput could be measured; recovering a full log takes 3.3 to
    12 times as long` and `Throughput from 256M to 4G: MySQL 9.7.4 +33 % (+22 to +44), MariaDB 11.8.9 +102 % (+94 to
    +109)`.
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
    """Return the writes that the largest log saves the device, which are more certain than throughput, and then the
    title.

    For example `A redo log of 4G instead of 256M: the device is sent 22 KiB for each commit instead of 60 (MySQL
    9.7.4). …`.
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
    """Return the resource that limited each series at any log size, CPUs or device; empty if neither was busy in all
    loads.

    For example `MySQL 9.7.4 by the processors (97 % busy and more), MariaDB 11.8.9, cloud-ssd by the device (99 % busy
    and more)`.
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
    """Return words as in `22 KiB instead of 60`; None if the device was not measured, or for a single size."""
    before, after = first.figures.device_per_commit, last.figures.device_per_commit
    if last is first or before is None or after is None:
        return None
    return f"{after / KIB:.0f} KiB instead of {before / KIB:.0f}"


def _writes(first: ThroughputRow, last: ThroughputRow) -> str:
    """Return words as in `22 KiB instead of 60 to the device for each commit`; empty if it was not measured."""
    kib = _kib_written(first, last)
    return "" if kib is None else f"{kib} to the device for each commit"


def _full_log_in_words(series: Sequence[ThroughputSeries]) -> str:
    """Return how many times as long the largest log takes as the smallest, filled up; empty if unknown."""
    known = [
        each.rows[-1].filled_ready / each.rows[0].filled_ready
        for each in series
        if each.rows[0].filled_ready and each.rows[-1].filled_ready
    ]
    if not known:
        return ""
    least, most = (f"{value:.1f}" for value in (min(known), max(known)))
    # If a log did not fill up, a full one takes longer.
    at_least = "at least " if any(each.rows[-1].filled_short for each in series) else ""
    return f"; recovery with the log filled up takes {at_least}{least if least == most else f'{least} to {most}'} times as long"


def sentence(one: ThroughputSeries, among: Sequence[ThroughputSeries] = (), *, device: bool = True) -> str:
    """Return the gains and costs of a larger log.

    `device`: include the writes it saves and the gain, as `finding` does.

    For example `MariaDB 11.8.6: a redo log of 2G instead of 256M: +31% throughput (+27% to +36%); recovery takes 12 s
    …`.
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
    """Return words as in `+31% throughput (+27% to +36%)`."""
    gain = one.gains[row.log_size]
    between = too_few(one) if math.isnan(gain.low) else f"{gain.low:+.0%} to {gain.high:+.0%}"
    return f"{gain.change:+.0%} throughput ({between})"


def _unresolved(one: ThroughputSeries) -> str:
    """Return words as in `throughput gain not resolved (less than 5 % either way; with 2G +1 % (-4 to +6))`."""
    compared = [row for row in one.rows[1:] if row.log_size in one.gains]
    largest = (
        f"; with {format_size(compared[-1].log_size)} {one.gains[compared[-1].log_size].with_interval()}"
        if compared
        else ""
    )
    return f"throughput gain not resolved ({throughput_difference_in_words(one.furthest)}{largest})"


def _longer(first: ThroughputRow, row: ThroughputRow) -> str:
    """Return words as in `recovery takes 22 s longer, 85 s with the log filled up`; empty if unknown."""
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
    """Return the row of the log beyond which nothing more is gained; if that is the smallest, of the largest gain.

    None if no gain is known or significant.
    """
    known = [row for row in one.rows[1:] if row.log_size in one.gains]
    reached = [row for row in known if one.plateau is not None and row.log_size == one.plateau.size]
    row = max(reached or known, key=lambda each: one.gains[each.log_size].change, default=None)
    return row if row is not None and is_shown(one.gains[row.log_size]) else None


def is_shown(gain: Ratio) -> bool:
    """Return True if a gain's interval excludes zero. A single load of each size has no interval, and counts."""
    return math.isnan(gain.low) or gain.excludes_zero


def _why_no_gain(one: ThroughputSeries) -> str:
    """Return words as in `no gain is claimed for 4G, measured in other minutes of its load than 256M`."""
    if not one.apart:
        return "no more than repeated loads differ"
    sizes = ", ".join(format_size(size) for size in one.apart)
    loads = "its load" if len(one.apart) == 1 else "their loads"
    return (
        f"no gain is claimed for {sizes}, measured in other minutes of {loads} than {format_size(one.rows[0].log_size)}"
    )


def name_of(one: ThroughputSeries, among: Sequence[ThroughputSeries]) -> str:
    """Return server and version, and the differences from other series of that server."""
    return _named(one, among, ())


def panel_name(one: ThroughputSeries, among: Sequence[ThroughputSeries]) -> str:
    """Return the name for a picture, with storage, pool and settings beyond production's."""
    return _named(one, among, (*_ALWAYS, "settings") if one.made.settings else _ALWAYS)


def _named(one: ThroughputSeries, among: Sequence[ThroughputSeries], always: Sequence[str]) -> str:
    label = server_label(one.made.server, one.made.version)
    alike = [each for each in among if each.made == one.made]
    # Series with equal conditions that no block connects are named by their run.
    run = [f"run {one.loads[0].run}"] if len(alike) > 1 else []
    return ", ".join([label, *_told_apart(one, among, always), *run])


def _sizes(first: ThroughputRow, last: ThroughputRow) -> str:
    return f"from {format_size(first.log_size)} to {format_size(last.log_size)}"


def too_few(one: ThroughputSeries) -> str:
    """Return the reason for a missing interval."""
    return "one load each" if all(row.n == 1 for row in one.rows) else "too few loads for an interval"


def in_rate(row: ThroughputRow) -> str:
    """Return words as in `19,800 NOTPM`."""
    return f"{row.rate.mean:,.0f} {'NOTPM' if row.is_notpm else 'commits/s'}"


def _recovery_of(row: ThroughputRow) -> str:
    return "" if row.ready is None else f", ready {row.ready:.1f} s after a crash"


def _told_apart(one: ThroughputSeries, among: Sequence[ThroughputSeries], always: Sequence[str]) -> list[str]:
    """Return the properties that distinguish a series from others of its server, and those in `always`."""
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
    """Return when the loads ended, as in `until steady` or `5 min 0 s`; beside other steady ones, the windows."""
    if kill.steady is None and kill.after is not None:
        return format_duration(kill.after)
    if all(each.steady is None for each in others):
        return "until steady"
    parts = [] if kill.steady is None else [f"windows of {format_duration(kill.steady.window)}"]
    parts += [] if kill.after is None else [f"{format_duration(kill.after)} at most"]
    return " and ".join(parts)
