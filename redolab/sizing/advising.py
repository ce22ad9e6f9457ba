"""`redolab size`: which size of redo log to set, why, and what recovery then costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec
from rich.console import Console

from redolab.errors import InvalidInput
from redolab.models.intervals import Ratio
from redolab.models.plateau import Plateau, throughput_difference_in_words
from redolab.models.recovery_time.predict import Until
from redolab.models.sizing import Advice, SizeRow, advise
from redolab.report.table import Column, ReportTable
from redolab.sizing.demand import Demand
from redolab.sizing.paste import Lines, lines_for
from redolab.sizing.predicting import Interval, rests_on
from redolab.sizing.question import Model
from redolab.sizing.trade import Trade, Trades, effect_in_words
from redolab.sizing.usual import UsualRecovery, usual_ages, usual_recovery
from redolab.units import GIB, format_duration, format_size

_SHOWN_CHANCE = 0.0005
_SHORT = 100
"""Minutes; beyond it hours say more."""
_END = {Until.READY: "ready", Until.ROLLED_BACK: "rolled back"}
_NOT_EQUAL = (
    " No gain is told of sizes that were measured in other minutes of their loads: throughput changes in these, too."
)
_RECOVERY = {Until.READY: "recovery", Until.ROLLED_BACK: "recovery to the end of rollback"}


class SizeLine(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table; bytes, seconds, minutes."""

    log_size: int
    redo: int
    recovery_s: float
    """To the end that was asked about, as for the interval."""
    ninety: Interval
    minutes_held: float
    usual: UsualRecovery | None = None
    """After a crash at a random moment; None where it is not known where the age is then."""
    throughput: Ratio | None = None
    """Against the smallest log that was measured; None where nothing was, or nothing comparable, with this size."""


class Sized(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer, as programs take it; sizes in bytes."""

    server: str
    storage: str
    buffer_pool: int
    workload: str
    """Whose kind of redo it is."""
    rto_s: float
    until: Until
    redo_per_hour: float
    os_log_written_per_hour: float | None
    demand_from: str
    month_per_hour: float | None
    """What the busiest hour of a month stays below, 95 % sure; None where too few days were sampled."""
    days: int
    """Whole days that were sampled."""
    holds_an_hour: int | None
    """The smallest log that holds an hour of peak redo."""
    by_os_log_written: int | None
    """What the same rule would have said of os_log_written."""
    within_rto: int | None
    within_rto_median: int | None
    size: int | None
    """The answer; None if no size meets both."""
    expected: SizeLine | None
    """Recovery with the answer."""
    what_could_change: tuple[str, ...]
    table: tuple[SizeLine, ...]
    usual_from: str | None
    """Whose ages a crash at a random moment is expected at, in words."""
    trade: Trade | None
    """What a larger log gained in throughput on this server and this storage; None if that was not measured."""
    lines: tuple[Lines, ...]
    rests_on: str
    warnings: tuple[str, ...]


_NOISE = 0.07
"""Share by which the median prediction is off at best, as crashes and recoveries made alike differ: less is no effect."""


def check_recovery_time(rto: float) -> None:
    """Raises `InvalidInput` for one that nothing can meet."""
    if rto <= 0:
        raise InvalidInput("a recovery time of 0 s cannot be met", "--rto 60s, for instance")


def sized(model: Model, demand: Demand, rto: float, trades: Trades | None = None) -> Sized:
    """The answer for a peak of redo and a recovery time. Raises `InvalidInput`."""
    check_recovery_time(rto)
    if demand.redo_per_hour <= 0:
        raise InvalidInput("no redo was written", "any size will do; sample the server under load")
    found = _advice(model, demand, rto)
    answer = found.answer
    by_counter = None
    if demand.os_log_written_per_hour is not None:
        by_counter = _advice(model, replace(demand, redo_per_hour=demand.os_log_written_per_hour), rto).holds
    known = _measured_here(trades, model)
    trade = known.of(model.measured_as, model.storage)
    beyond = model.beyond_at(answer.log_size if answer else model.learnt.log_sizes[1])
    ages = usual_ages(model, demand)

    def usual(log_size: int) -> UsualRecovery | None:
        return None if ages is None else usual_recovery(model, log_size, ages, rto)

    return Sized(
        server=model.question.server,
        storage=model.storage,
        buffer_pool=model.question.pool,
        workload=model.workload,
        rto_s=rto,
        until=model.question.until,
        redo_per_hour=demand.redo_per_hour,
        os_log_written_per_hour=demand.os_log_written_per_hour,
        demand_from=demand.source,
        month_per_hour=demand.month_per_hour,
        days=demand.days,
        holds_an_hour=found.holds.log_size if found.holds else None,
        by_os_log_written=by_counter.log_size if by_counter else None,
        within_rto=found.within.log_size if found.within else None,
        within_rto_median=found.within_median.log_size if found.within_median else None,
        size=answer.log_size if answer else None,
        expected=_line(answer, usual) if answer else None,
        what_could_change=() if answer else tuple(_changes(model, demand, rto, found, known)),
        table=tuple(_line(row, usual, trade) for row in found.rows),
        usual_from=None if ages is None else ages.source,
        trade=trade,
        lines=lines_for(model.dialect, answer.log_size, answer.prediction) if answer else (),
        rests_on=rests_on(model),
        warnings=(*demand.warnings, *model.warnings, *beyond),
    )


def _advice(model: Model, demand: Demand, rto: float) -> Advice:
    return advise(
        redo_per_hour=demand.redo_per_hour,
        rto=rto,
        age=model.worst_age,
        predicted=model.at,
        smallest=model.dialect.smallest_log,
        largest=model.dialect.largest_log,
    )


def _measured_here(trades: Trades | None, model: Model) -> Trades:
    """What is known of this very server, on the storages of redolab's own machine.

    A calibration file has storages of another machine, which may have the same names.
    """
    is_ours = model.question.storage == model.storage and model.measured_as == model.question.server
    return trades if trades is not None and is_ours else Trades()


def _line(row: SizeRow, usual: Callable[[int], UsualRecovery | None], trade: Trade | None = None) -> SizeLine:
    gain = None if trade is None else trade.gain(row.log_size)
    return SizeLine(
        log_size=row.log_size,
        redo=row.age,
        recovery_s=row.prediction.seconds,
        ninety=Interval(*row.prediction.ninety),
        minutes_held=row.minutes,
        usual=usual(row.log_size),
        throughput=None if gain is None else gain.throughput,
    )


def _changes(model: Model, demand: Demand, rto: float, found: Advice, trades: Trades) -> list[str]:
    """What would have to change for a size to meet both, each with its effect; nothing that has none."""
    said = []
    wanted = found.holds
    if wanted is None:
        largest = format_size(model.dialect.largest_log)
        return [f"no log of this server ({largest} at most) holds an hour of {format_size(demand.redo_per_hour)}"]
    upper = wanted.prediction.ninety[1]
    said.append(
        f"recovery time: {format_size(wanted.log_size)} holds an hour and takes up to {format_duration(upper)}, nineteen times in twenty"
    )
    if found.within is not None:
        said.append(
            f"the hour: {format_size(found.within.log_size)} recovers in time and holds {found.within.minutes:.0f} min of peak redo; "
            "a smaller log flushes sooner"
        )
    pool = math.ceil(model.one_batch(wanted.log_size) / GIB) * GIB
    if pool > model.question.pool:
        larger = model.with_pool(pool).at(wanted.log_size)
        if larger.ninety[1] < (1 - _NOISE) * upper:
            said.append(
                f"buffer pool: with {format_size(pool)}, which holds the redo in one batch, {_effect(larger.ninety[1], upper, wanted)}"
            )
    for name in model.learnt.storages:
        if name == model.storage or name not in model.calibration.storages:
            continue
        elsewhere = model.on_storage(name).at(wanted.log_size)
        if elsewhere.ninety[1] < upper:
            said.append(f"storage: on {name}, {_effect(elsewhere.ninety[1], upper, wanted)}")
    # They change the age that a crash on a usual day meets, not the worst.
    said += [
        f"flushing, for a crash on a usual day: {effect_in_words(each)}"
        for each in trades.helping(model.question.server, model.storage)
    ]
    return said


def _effect(seconds: float, instead_of: float, row: SizeRow) -> str:
    return (
        f"{format_size(row.log_size)} takes up to {format_duration(seconds)} instead of {format_duration(instead_of)}"
    )


def show_sized(console: Console, found: Sized) -> None:
    """Print it for people: the table, the answer and its reasons, lines to paste."""
    table = _table(found)
    console.print(table.title, highlight=False, markup=False, soft_wrap=True)
    table.show(console)
    console.print()
    for line in in_words(found):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for place in found.lines:
        console.print()
        console.print(f"# {place.where}: {place.why}", highlight=False, markup=False, soft_wrap=True)
        for line in place.lines:
            console.print(line, highlight=False, markup=False, soft_wrap=True)


def in_words(found: Sized) -> Sequence[str]:
    """The answer and how it came about, a line each."""
    said = []
    if found.size is None or found.expected is None:
        said.append(f"No size meets both: {_hour(found)}, and {_within(found)}.")
        said += [f"  * {change}" for change in found.what_could_change]
    else:
        about = format_duration(found.expected.recovery_s)
        said.append(
            f"Set the redo log to {format_size(found.size)}: {_RECOVERY[found.until]} then takes about {about}, nine times in ten "
            f"{_ninety(found.expected)}."
        )
        said.append(f"Why: {_hour(found)}, and {_within(found)}.")
        if found.expected.usual is not None:
            said.append(_on_a_usual_day(found, found.expected.usual))
    if found.month_per_hour is not None:
        month = format_size(found.month_per_hour)
        said.append(
            f"The busiest hour of a month stays below {month}, 95 % sure by {found.days} days that were sampled."
        )
    said.append(_gained(found))
    if found.os_log_written_per_hour is not None and found.by_os_log_written != found.holds_an_hour:
        counter = "no size" if found.by_os_log_written is None else format_size(found.by_os_log_written)
        said.append(
            f"By os_log_written ({format_size(found.os_log_written_per_hour)} an hour) it would have been {counter}: that counter is not "
            "redo (docs/inflation.md)."
        )
    return said


def _on_a_usual_day(found: Sized, usual: UsualRecovery) -> str:
    """What a crash at a random moment costs, and of what the chance to miss the time is made up."""
    parts = [
        f"{what} {share:.1%}"
        for what, share in (
            ("stuck for ever", usual.by_stuck),
            ("the moment", usual.by_moment),
            ("the prediction's own error", usual.by_model),
        )
        if abs(share) >= _SHOWN_CHANCE
    ]
    of_these = f" ({', '.join(parts)})" if len(parts) > 1 else ""
    within = "no time" if math.isinf(usual.ninety_five_s) else format_duration(usual.ninety_five_s)
    return (
        f"After a crash at a random moment (ages {found.usual_from}) half of recoveries are over within {format_duration(usual.half_s)}, "
        f"nineteen in twenty within {within}; {usual.chance_too_long:.1%} take longer than {format_duration(found.rto_s)}{of_these}."
    )


def _gained(found: Sized) -> str:
    """What a larger log gains in throughput, and what was measured."""
    trade = found.trade
    if trade is None:
        return f"Throughput: what a larger log gains on {found.storage} was not measured (docs/throughput.md)."
    load = (
        f"under {trade.workload} with {trade.connections} clients on {trade.storage} (version {trade.version.partition('-')[0]}, tables "
        f"{format_size(trade.tables)}, pool {format_size(trade.pool)}; {_loads(trade)})"
    )
    smallest, largest = trade.gains[0].log_size, trade.gains[-1].log_size
    column = f"; the column is against {format_size(smallest)}" if trade.gains_something else ""
    why = "" if trade.nothing_beyond is not None else _NOT_EQUAL
    return f"Throughput: {_reached(trade, smallest, largest)} {load}{column} (docs/results/throughput.md).{why}"


def _reached(trade: Trade, smallest: int, largest: int) -> str:
    """From which size on a larger log gains nothing more; where no gain is told, how far throughput differs at most."""
    if (
        trade.nothing_beyond is not None
        and trade.between is not None
        and (trade.gains_something or not trade.is_repeated)
    ):
        return Plateau(trade.nothing_beyond, *trade.between).in_words(smallest, largest)
    sizes = f"{format_size(smallest)} to {format_size(largest)}"
    return f"with {sizes} it differs by {throughput_difference_in_words(trade.furthest)}"


def _loads(trade: Trade) -> str:
    """As in `3 loads of each size`."""
    fewest, most = (choose(gain.loads for gain in trade.gains) for choose in (min, max))
    if most == 1:
        return "one load of each size, which tells no interval"
    loads = f"{most} loads of each size" if fewest == most else f"{fewest} to {most} loads of a size"
    told = trade.is_repeated or trade.nothing_beyond is None
    return loads if told else f"{loads}, too few for an interval"


def _hour(found: Sized) -> str:
    rate = f"an hour of peak redo ({format_size(found.redo_per_hour)}; {found.demand_from})"
    return (
        f"{rate} fits into no log"
        if found.holds_an_hour is None
        else f"{rate} takes {format_size(found.holds_an_hour)}"
    )


def _within(found: Sized) -> str:
    time = format_duration(found.rto_s)
    if found.within_rto is None:
        return f"no log recovers within {time} nineteen times in twenty"
    median = "" if found.within_rto_median is None else f" (half of the time: {format_size(found.within_rto_median)})"
    return f"up to {format_size(found.within_rto)} recovers within {time} nineteen times in twenty{median}"


def _table(found: Sized) -> ReportTable:
    columns = [
        Column[SizeLine]("redo log", lambda row: format_size(row.log_size), right=True),
        Column[SizeLine]("redo at worst", lambda row: format_size(row.redo), right=True),
        Column[SizeLine](_END[found.until], lambda row: format_duration(row.recovery_s), right=True),
        Column[SizeLine]("nine in ten", _ninety, right=True),
        *(
            (Column[SizeLine]("at a random moment: half, 95 %", _usual, right=True),)
            if found.usual_from is not None
            else ()
        ),
        Column[SizeLine]("holds, of peak redo", lambda row: _held(row.minutes_held), right=True),
        *(
            (Column[SizeLine]("throughput", _throughput, right=True),)
            if found.trade is not None and found.trade.gains_something
            else ()
        ),
        Column[SizeLine]("", lambda row: _verdict(found, row)),
    ]
    notes = [f"Predicted from {found.rests_on}.", *(f"! {warning}." for warning in found.warnings)]
    title = (
        f"{found.server}, pool {format_size(found.buffer_pool)}, on {found.storage}, redo like that of {found.workload}"
    )
    return ReportTable.of(title, found.table, columns, notes)


def _throughput(row: SizeLine) -> str:
    return "" if row.throughput is None or not row.throughput.excludes_zero else row.throughput.with_interval()


def _usual(row: SizeLine) -> str:
    if row.usual is None:
        return ""
    upper = "never" if math.isinf(row.usual.ninety_five_s) else format_duration(row.usual.ninety_five_s)
    return f"{format_duration(row.usual.half_s)}, {upper}"


def _held(minutes: float) -> str:
    return f"{minutes:.0f} min" if minutes < _SHORT else f"{minutes / 60:.1f} h"


def _ninety(row: SizeLine) -> str:
    return f"{format_duration(row.ninety.low_s)} to {format_duration(row.ninety.high_s)}"


def _verdict(found: Sized, row: SizeLine) -> str:
    if row.log_size == found.size:
        return "<- set this"
    short = [] if found.holds_an_hour is not None and row.log_size >= found.holds_an_hour else ["under an hour"]
    late = [] if row.ninety.high_s <= found.rto_s else [f"over {format_duration(found.rto_s)}"]
    return ", ".join([*short, *late])
