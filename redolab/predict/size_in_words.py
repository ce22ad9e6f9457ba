"""An answer of `redolab size` for people: the table, the choice and its reasons, lines to paste."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console

from redolab.predict.advising import Sized, SizeLine
from redolab.predict.log_size import Basis, is_resolved
from redolab.predict.question import Until
from redolab.predict.trade import Trade
from redolab.predict.usual import UsualRecovery
from redolab.report.table import Column, ReportTable, known, print_lines
from redolab.results.plateau import throughput_difference_in_words
from redolab.units import KIB, format_chance, format_duration, format_duration_or_never, format_size

_SHOWN_CHANCE = 0.0005
_SHORT = 100
"""Minutes from which hours are shown instead."""
_END = {Until.READY: "ready", Until.ROLLED_BACK: "rolled back"}
_RECOVERY = {Until.READY: "recovery", Until.ROLLED_BACK: "recovery to the end of rollback"}
_NOT_EQUAL = " No gain is claimed for sizes that were measured in other minutes of their loads: throughput changes in these, too."


def show_sized(console: Console, found: Sized) -> None:
    """Print the answer for people."""
    table = _table(found)
    print_lines(console, table.title)
    table.show(console)
    pasted = [line for place in found.lines for line in ("", f"# {place.where}: {place.why}", *place.lines)]
    print_lines(console, "", *in_words(found), *pasted)


def in_words(found: Sized) -> Sequence[str]:
    """Return the answer and its reasons, a line each."""
    lines = [_answer(found)]
    if found.dirty_pages is not None:
        lines.append(
            f"That crash is taken to leave {found.dirty_pages:,} dirty pages; more take longer ('redolab predict --dirty-pages')."
        )
    if found.expected is not None:
        lines.append(f"Why: {_why(found, found.expected)}.")
        if found.expected.usual is not None:
            lines.append(_at_a_random_moment(found, found.expected.usual))
    if found.basis is not Basis.HOUR:
        lines.append(_rule(found))
    if found.what_could_change:
        lines.append("What would change that:")
        lines += [f"  * {change}" for change in found.what_could_change]
    demand = found.demand
    if demand.month_per_hour is not None:
        month = format_size(demand.month_per_hour)
        lines.append(
            f"The busiest hour of a month stays below {month}, 95 % sure by {demand.days} days that were sampled."
        )
    lines.append(_gained(found))
    written, would_be = demand.os_log_written_per_hour, found.by_os_log_written
    if written is not None and would_be != found.advice.smallest_for_hour:
        counter = "no size" if would_be is None else format_size(would_be)
        lines.append(
            f"By os_log_written ({format_size(written)} an hour) it would have been {counter}: that counter is not redo "
            "(docs/inflation.md)."
        )
    return lines


def _answer(found: Sized) -> str:
    if found.size is None or found.expected is None:
        smallest, chance = format_size(found.smallest.log_size), format_chance(found.smallest.chance)
        return (
            f"No size recovers in time: even with {smallest} {chance} of recoveries take longer than {_rto(found)}, and "
            f"{_percent(found.limits.chance)} may."
        )
    typical, upper = format_duration(found.expected.recovery_s), format_duration(found.expected.ninety.high_s)
    return (
        f"Set the redo log to {format_size(found.size)}. After a crash with the log full, the worst, {_RECOVERY[found.until]} then "
        f"typically takes {typical}, 95 % sure less than {upper}."
    )


def _why(found: Sized, chosen: SizeLine) -> str:
    match found.basis:
        case Basis.THROUGHPUT:
            assert chosen.lost is not None
            reason = (
                f"it is the smallest that loses less than {_percent(found.limits.loss)} of throughput against the largest log measured "
                f"({_loss(chosen, found)})"
            )
        case Basis.HOUR:
            reason = f"it is the smallest that holds an hour of peak redo ({_peak(found)})"
        case _:
            reason = f"it is the largest that recovers in time; it holds {held_in_words(chosen.minutes_held)} of peak redo ({_peak(found)})"
    is_usual = found.usual_from is not None and not found.by_worst
    whose = "of crashes at a random moment" if is_usual else "of the worst crashes"
    # The parts of the chance after a random crash follow in a sentence of their own.
    stuck = "" if is_usual else _stuck(chosen)
    return (
        f"{reason}, and {format_chance(chosen.chance)} {whose} take longer than {_rto(found)} to recover (less than "
        f"{_percent(found.limits.chance)} may){stuck}"
    )


def _at_a_random_moment(found: Sized, usual: UsualRecovery) -> str:
    """Return a sentence on recovery after a random crash, with the causes of exceeding the limit."""
    parts = [
        f"{what} {share:.1%}"
        for what, share in (
            ("stuck for ever", usual.too_long.stuck),
            ("the moment", usual.too_long.moment),
            ("the prediction's own error", usual.too_long.model),
        )
        if abs(share) >= _SHOWN_CHANCE
    ]
    of_these = f" ({', '.join(parts)})" if len(parts) > 1 else ""
    surer = "" if usual.ninety_nine_s is None else f", 99 % sure {_time(usual.ninety_nine_s, 'less than ')}"
    return (
        f"After a crash at a random moment (ages {found.usual_from}) it typically takes {_time(usual.half_s)}, "
        f"95 % sure {_time(usual.ninety_five_s, 'less than ')}{surer}; {format_chance(usual.too_long.whole)} take longer than "
        f"{_rto(found)}{of_these}."
    )


def _rule(found: Sized) -> str:
    """Return a sentence on the rule of an hour of redo, with its cost."""
    if found.rule is None:
        return f"The rule of an hour of peak redo ({_peak(found)}): no log of this server holds it."
    row = found.rule
    return (
        f"The rule of an hour of peak redo ({_peak(found)}) asks for {format_size(row.log_size)}: typically "
        f"{format_duration(row.recovery_s)} after the worst crash, {format_chance(row.chance)} over "
        f"{_rto(found)}{_stuck(row)}."
    )


def _stuck(row: SizeLine) -> str:
    """Return the part of the probability that is due to recoveries that never end."""
    if row.stuck < _SHOWN_CHANCE:
        return ""
    return f", {format_chance(row.stuck)} as they get stuck in more than one batch (docs/results/stuck.md)"


def _gained(found: Sized) -> str:
    """Return sentences on the throughput that a larger log gains, and on the loads measured."""
    trade = found.trade
    if trade is None:
        return f"Throughput: what a smaller log loses on {found.storage} was not measured (docs/throughput.md)."
    load = (
        f"under {trade.workload} with {trade.connections} clients on {trade.storage} (version {trade.version.partition('-')[0]}, tables "
        f"{format_size(trade.tables)}, pool {format_size(trade.pool)}; {_loads(trade)})"
    )
    smallest, largest = trade.gains[0].log_size, trade.gains[-1].log_size
    why = "" if trade.plateau is not None else _NOT_EQUAL
    measured = f"{_reached(trade, smallest, largest)} {load} (docs/results/throughput.md).{why}"
    if found.is_trade_of_this_load:
        return f"Throughput: {measured}"
    return (
        f"Throughput: what a smaller log loses under your load is not known here. {measured[:1].upper()}{measured[1:]}"
    )


def _reached(trade: Trade, smallest: int, largest: int) -> str:
    """Return the size beyond which a larger log gains nothing, or the largest difference in throughput."""
    plateau, most = trade.plateau, trade.gains[-1].throughput
    if plateau is not None and plateau.size == largest and most is not None and most.excludes_zero:
        sizes = f"{format_size(largest)} instead of {format_size(smallest)}"
        return f"a redo log of {sizes} gained {most.with_interval()} of throughput, the most of all sizes,"
    if plateau is not None and (trade.gains_something or not trade.is_repeated):
        return plateau.in_words(smallest, largest)
    sizes = f"{format_size(smallest)} to {format_size(largest)}"
    return f"with {sizes} it differs by {throughput_difference_in_words(trade.furthest)}"


def _loads(trade: Trade) -> str:
    """Return words as in `3 loads of each size`."""
    fewest, most = (choose(gain.loads for gain in trade.gains) for choose in (min, max))
    if most == 1:
        return "one load of each size, which tells no interval"
    loads = f"{most} loads of each size" if fewest == most else f"{fewest} to {most} loads of a size"
    has_interval = trade.is_repeated or trade.plateau is None
    return loads if has_interval else f"{loads}, too few for an interval"


def _peak(found: Sized) -> str:
    return f"{format_size(found.demand.redo_per_hour)}; {found.demand.source}"


def _rto(found: Sized) -> str:
    return format_duration(found.limits.rto)


def _table(found: Sized) -> ReportTable:
    end = _END[found.until]
    columns = [
        Column[SizeLine]("redo log", lambda row: format_size(row.log_size), right=True),
        Column[SizeLine]("of peak redo", lambda row: held_in_words(row.minutes_held), right=True),
        Column[SizeLine](f"{end} at worst: typical, 95 % sure", _worst, right=True),
        *(
            (Column[SizeLine]("at a random moment: typical, 95 % sure", _usual, right=True),)
            if found.usual_from is not None
            else ()
        ),
        Column[SizeLine](f"over {_rto(found)}", lambda row: format_chance(row.chance), right=True),
        *(
            (
                Column[SizeLine]("throughput lost", lambda row: _loss(row, found), right=True),
                Column[SizeLine]("device, KiB a commit", lambda row: known(row.device_per_commit, _kib), right=True),
            )
            if found.is_trade_of_this_load
            else ()
        ),
        Column[SizeLine]("", lambda row: _verdict(found, row)),
    ]
    whose = "a crash at a random moment" if found.usual_from is not None and not found.by_worst else "the worst crash"
    notes = [
        f"Over {_rto(found)}: the chance after {whose}. Predicted from {found.evidence}.",
        *(f"! {warning}." for warning in found.warnings),
    ]
    title = (
        f"{found.server}, pool {format_size(found.buffer_pool)}, on {found.storage}, redo like that of {found.workload}"
    )
    return ReportTable.of(title, found.table, columns, notes)


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _loss(row: SizeLine, found: Sized) -> str:
    """Return the loss with its interval, `not resolved` if both no loss and too much are possible, or a dash."""
    if row.lost is None:
        return "–"
    return row.lost.with_interval() if is_resolved(row.lost, found.limits.loss) else "not resolved"


def _kib(size: float) -> str:
    return f"{size / KIB:.0f}"


def _worst(row: SizeLine) -> str:
    return f"{format_duration(row.recovery_s)}, {format_duration(row.ninety.high_s)}"


def _usual(row: SizeLine) -> str:
    if row.usual is None:
        return ""
    return ", ".join(map(format_duration_or_never, (row.usual.half_s, row.usual.ninety_five_s)))


def _time(seconds: float, bound: str = "") -> str:
    return "for ever, as too many get stuck" if math.isinf(seconds) else f"{bound}{format_duration(seconds)}"


def held_in_words(minutes: float) -> str:
    """Return the length of a peak that a log holds, as in `47 min` or `2.5 h`."""
    return f"{minutes:.0f} min" if minutes < _SHORT else f"{minutes / 60:.1f} h"


def _verdict(found: Sized, row: SizeLine) -> str:
    if row.log_size == found.size:
        return "<- set this"
    enough, most = found.advice.smallest_for_hour, found.limits.chance
    short = [] if enough is not None and row.log_size >= enough else ["under an hour"]
    late = [] if row.chance < most else ["may get stuck" if row.stuck >= most else "too long"]
    return ", ".join([*short, *late])
