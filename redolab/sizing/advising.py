"""`redolab size`: the redo log size to set, the reasons, and the recovery time it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

import msgspec

from redolab.errors import InvalidInput
from redolab.models.intervals import Ratio
from redolab.models.recovery_time.moments import PossibleCrash, chance_beyond, seconds_within
from redolab.models.recovery_time.predict import Until
from redolab.models.recovery_time.stuck import ChanceOfStuck
from redolab.models.sizing import SHOWN, Advice, Basis, Limits, SizeRow, advise
from redolab.sizing.crash import one_batch, worst_age
from redolab.sizing.demand import Demand
from redolab.sizing.extrapolation import on_storage, storage_extrapolation
from redolab.sizing.paste import Lines, lines_for
from redolab.sizing.predicting import Interval, rests_on
from redolab.sizing.question import Model
from redolab.sizing.recovery import recovery_at, rollback_rate
from redolab.sizing.reservations import reservations_at
from redolab.sizing.stuck import chance_for, reservations_about_stuck
from redolab.sizing.trade import Trade, Trades, effect_in_words
from redolab.sizing.usual import UsualAges, UsualRecovery, usual_ages, usual_crashes, usual_recovery, worst_crash
from redolab.sizing.why import Why, why
from redolab.units import GIB, format_duration, format_size

_NOISE = 0.07
"""Smallest relative error of the median prediction, as comparable crashes and recoveries differ: less is no effect."""

_MOST_READ_THREADS = 64
"""Largest innodb_read_io_threads."""


class Moment(StrEnum):
    """Crash that has to be recovered in time."""

    ANY = "any"
    """A crash at a random time, if the checkpoint ages of such crashes are known; else the worst."""
    WORST = "worst"
    """A crash with the redo log as full as it gets."""


class SizeLine(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table; bytes, seconds, minutes."""

    log_size: int
    redo: int
    recovery_s: float
    """Seconds after the worst crash to the chosen end, as for the interval."""
    ninety: Interval
    chance_at_worst: float
    """Probability that the recovery of the worst crash exceeds the limit, 0 to 1."""
    minutes_held: float
    usual: UsualRecovery | None = None
    """Recovery after a random crash; None if the checkpoint age at such a crash is not known."""
    chance: float
    """Probability that a recovery exceeds the limit, after the crash that has to be recovered in time."""
    stuck: float
    """Probability that the recovery never ends; a part of `chance`."""
    lost: Ratio | None = None
    """Loss of throughput against the largest log measured with this load; None if it was not measured."""
    device_per_commit: float | None = None
    """Bytes that this load wrote to the device for each commit; None if it was not measured."""


class Sized(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer for programs; sizes in bytes."""

    server: str
    storage: str
    buffer_pool: int
    workload: str
    """Workload whose kind of redo is assumed."""
    rto_s: float
    most_chance: float
    most_lost: float
    until: Until
    redo_per_hour: float
    os_log_written_per_hour: float | None
    demand_from: str
    month_per_hour: float | None
    """95 % upper bound of the busiest hour of a month, in bytes; None if too few days were sampled."""
    days: int
    """Number of whole days that were sampled."""
    holds_an_hour: int | None
    """Smallest log that holds an hour of peak redo."""
    by_os_log_written: int | None
    """Smallest log by the same rule applied to os_log_written."""
    within_rto: int | None
    within_rto_median: int | None
    by_worst: bool
    """True if the worst crash has to be recovered in time, even if random crashes are known."""
    smallest: int
    """Smallest log considered."""
    smallest_chance: float
    """Probability that a recovery with that log exceeds the limit."""
    size: int | None
    """The answer; None if no size recovers in time."""
    basis: Basis | None
    """Criterion by which it was chosen among sizes that recover in time."""
    expected: SizeLine | None
    """Row of the answer."""
    why: Why | None
    """Terms of the recovery of the worst crash with the answer."""
    rule: SizeLine | None
    """Row of the log that holds an hour of peak redo."""
    what_could_change: tuple[str, ...]
    table: tuple[SizeLine, ...]
    usual_from: str | None
    """Source of the checkpoint ages of random crashes, in words."""
    trade: Trade | None
    """Throughput that a larger log gained on this server and storage; None if that was not measured."""
    is_trade_of_this_load: bool
    """True if it was measured with a load of this kind; otherwise it decides nothing."""
    lines: tuple[Lines, ...]
    chance_of_stuck: ChanceOfStuck | None
    """Probability that a recovery in several batches gets stuck; None if none does, or no data exist."""
    rests_on: str
    warnings: tuple[str, ...]


def check_recovery_time(rto: float) -> None:
    """Refuse a recovery time that no server can meet. Raises `InvalidInput`."""
    if rto <= 0:
        raise InvalidInput("a recovery time of 0 s cannot be met", "--rto 60s, for instance")


def sized(
    model: Model, demand: Demand, limits: Limits, trades: Trades | None = None, moment: Moment = Moment.ANY
) -> Sized:
    """Return the answer for a peak of redo and some limits. Raises `InvalidInput`."""
    check_recovery_time(limits.rto)
    if demand.redo_per_hour <= 0:
        raise InvalidInput("no redo was written", "any size will do; sample the server under load")
    asked = _Asked.of(model, demand, limits, trades, moment)
    found = asked.advice(demand.redo_per_hour)
    answer = found.answer
    by_counter = None
    if demand.os_log_written_per_hour:
        by_counter = asked.advice(demand.os_log_written_per_hour).holds
    beyond = reservations_at(model, answer.log_size if answer else model.learned.log_sizes[1])
    if model.dialect.holds_ten_largest_rows:
        beyond.append(
            "of this version the log has to be ten times as large as the BLOBs and TEXTs of your largest row: larger rows are refused, by "
            "5.5 they overwrite the last checkpoint (MySQL bug 69477)"
        )
    beyond += [each for each in reservations_about_stuck(model, found.rows[-1].log_size) if each not in beyond]
    falls_short = answer is None or found.basis is Basis.TIME
    return Sized(
        server=model.question.server,
        storage=model.storage,
        buffer_pool=model.question.pool,
        workload=model.workload,
        rto_s=limits.rto,
        most_chance=limits.chance,
        most_lost=limits.loss,
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
        by_worst=moment is Moment.WORST,
        smallest=found.smallest.log_size,
        smallest_chance=found.smallest.chance,
        size=answer.log_size if answer else None,
        basis=found.basis,
        expected=asked.line(answer) if answer else None,
        why=why(model, answer.log_size) if answer else None,
        rule=asked.line(found.holds) if found.holds else None,
        what_could_change=tuple(asked.changes(found)) if falls_short else (),
        table=tuple(asked.line(row) for row in found.rows),
        usual_from=None if asked.ages is None else asked.ages.source,
        trade=asked.trade,
        is_trade_of_this_load=asked.own_trade is not None,
        lines=lines_for(model.dialect, answer.log_size, answer.prediction) if answer else (),
        chance_of_stuck=chance_for(model),
        rests_on=rests_on(model),
        warnings=(*demand.warnings, *model.warnings, *beyond),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedInShort:
    """The answer and some sizes, without the parts for a person with a single server."""

    lines: Mapping[int, SizeLine]
    """Log size → its consequences, for sizes that a server of that version can have."""
    expected: SizeLine | None
    """Row of the log to set; None if no size recovers in time."""
    basis: Basis | None
    holds_an_hour: int | None
    """Smallest log that holds an hour of peak redo; None if no log does."""


def sized_in_short(
    model: Model,
    demand: Demand,
    limits: Limits,
    sizes: Sequence[int],
    trades: Trades | None = None,
    moment: Moment = Moment.ANY,
) -> SizedInShort:
    """Return the size that `sized` recommends, and the consequences of it and of `sizes` (bytes)."""
    asked = _Asked.of(model, demand, limits, trades, moment)
    found = asked.advice(demand.redo_per_hour, sizes)
    return SizedInShort(
        lines={row.log_size: asked.line(row) for row in found.rows},
        expected=asked.line(found.answer) if found.answer else None,
        basis=found.basis,
        holds_an_hour=found.holds.log_size if found.holds else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A question with the data that answer it."""

    model: Model
    demand: Demand
    limits: Limits
    trades: Trades
    """Trades of this very server."""
    trade: Trade | None
    own_trade: Trade | None
    """The same trade if its load was of the kind asked about and wrote no less redo; else None."""
    ages: UsualAges | None
    moment: Moment

    @classmethod
    def of(cls, model: Model, demand: Demand, limits: Limits, trades: Trades | None, moment: Moment) -> _Asked:
        known = _measured_here(trades, model)
        asked = (model.workload, model.question.pool, demand.redo_per_hour)
        trade = known.of(model.measured_as, model.storage, *asked)
        return cls(
            model=model,
            demand=demand,
            limits=limits,
            trades=known,
            trade=trade,
            own_trade=trade if trade is not None and trade.is_of(*asked) else None,
            ages=usual_ages(model, demand),
            moment=moment,
        )

    def advice(self, redo_per_hour: float, shown: Sequence[int] = SHOWN) -> Advice:
        """Return the consequences of the `shown` sizes for such a peak, and the choice."""
        return advise(
            redo_per_hour=redo_per_hour,
            limits=self.limits,
            age=partial(worst_age, self.model),
            predicted=partial(recovery_at, self.model),
            chance=lambda log_size: chance_beyond(self._crashes(self.model, log_size), self.limits.rto).whole,
            lost=lambda log_size: None if self.own_trade is None else self.own_trade.lost(log_size),
            smallest=self.model.dialect.smallest_log,
            largest=self.model.dialect.largest_log,
            shown=shown,
        )

    def _crashes(self, model: Model, log_size: int) -> list[PossibleCrash]:
        """Return the crashes of which one has to be recovered in time."""
        if self.ages is None or self.moment is Moment.WORST:
            return worst_crash(model, log_size)
        return usual_crashes(model, log_size, self.ages)

    def _within(self, model: Model, row: SizeRow) -> float:
        """Return the seconds within which as many recoveries end as the limits require."""
        return seconds_within(self._crashes(model, row.log_size), 1 - self.limits.chance)

    def line(self, row: SizeRow) -> SizeLine:
        """Return a row of the table."""
        gain = None if self.own_trade is None else self.own_trade.gain(row.log_size)
        usual = None if self.ages is None else usual_crashes(self.model, row.log_size, self.ages)
        return SizeLine(
            log_size=row.log_size,
            redo=row.age,
            recovery_s=row.prediction.seconds,
            ninety=Interval(*row.prediction.ninety),
            chance_at_worst=chance_beyond(worst_crash(self.model, row.log_size), self.limits.rto).whole,
            minutes_held=row.minutes,
            usual=None if usual is None else usual_recovery(usual, self.limits.rto),
            chance=row.chance,
            stuck=chance_beyond(self._crashes(self.model, row.log_size), self.limits.rto).stuck,
            lost=row.lost,
            device_per_commit=None if gain is None else gain.device_per_commit,
        )

    def changes(self, found: Advice) -> list[str]:
        """Return the changes that would recover an hour of redo in time, with their effects; without effect, none."""
        wanted = found.holds
        if wanted is None:
            largest, peak = format_size(self.model.dialect.largest_log), format_size(self.demand.redo_per_hour)
            return [f"no log of this server ({largest} at most) holds an hour of {peak}"]
        now = self._within(self.model, wanted)
        said = []
        if math.isfinite(now):
            said.append(f"recovery time: {format_size(wanted.log_size)} keeps to {format_duration(now)}")
        pool = math.ceil(one_batch(self.model, wanted.log_size) / GIB) * GIB
        if pool > self.model.question.pool:
            larger = self._within(self.model.with_pool(pool), wanted)
            if larger < (1 - _NOISE) * now:
                effect = self._effect(larger, now, wanted)
                said.append(f"buffer pool: with {format_size(pool)}, which holds the redo in one batch, {effect}")
        if chance_for(self.model) is not None:
            threads = self._within(self.model.with_read_threads(_MOST_READ_THREADS), wanted)
            if threads < (1 - _NOISE) * now:
                effect = self._effect(threads, now, wanted)
                said.append(f"read threads: with innodb_read_io_threads = {_MOST_READ_THREADS}, {effect}")
        elsewhere = {name: self._within(on_storage(self.model, name), wanted) for name in self._other_storages()}
        said += [
            f"storage: on {name}, {self._effect(seconds, now, wanted)}"
            for name, seconds in elsewhere.items()
            if seconds < (1 - _NOISE) * now
        ]
        # Settings of flushing change the checkpoint age at a random crash time, not the worst.
        said += [
            f"flushing, for a crash at a random moment: {effect_in_words(each)}"
            for each in self.trades.helping(self.model.question.server, self.model.storage)
        ]
        return said

    def _other_storages(self) -> list[str]:
        known = self.model.calibration
        return [
            name
            for name in known.storages
            if name != self.model.storage
            and self._tables_are_known(name) == self._tables_are_known(self.model.storage)
            and self._rollback_is_known(name)
            and (
                (way := storage_extrapolation(known, self.model.server.family, self.model.learned, name)) is None
                or way in known.spreads.kinds
            )
        ]

    def _tables_are_known(self, storage: str) -> bool:
        """Return True unless the time of many tables is asked about and not known on that storage."""
        return not self.model.question.tables or storage in self.model.server.seconds_per_table_on

    def _rollback_is_known(self, storage: str) -> bool:
        """Return True unless rollback is asked about and not predicted on that storage."""
        until = self.model.question.until
        return until is not Until.ROLLED_BACK or rollback_rate(on_storage(self.model, storage)) is not None

    def _effect(self, seconds: float, instead_of: float, row: SizeRow) -> str:
        too_long = f", still over {format_duration(self.limits.rto)}" if seconds > self.limits.rto else ""
        keeps = f"{format_size(row.log_size)} keeps to {format_duration(seconds)}{too_long}"
        return (
            f"{keeps}, where now too many get stuck"
            if math.isinf(instead_of)
            else f"{keeps} instead of {format_duration(instead_of)}"
        )


def _measured_here(trades: Trades | None, model: Model) -> Trades:
    """Return the trades of this very server, on the storages of redolab's own machine.

    A calibration file has storages of another machine, which may have the same names.
    """
    is_ours = model.question.storage == model.storage and model.measured_as == model.question.server
    return trades if trades is not None and is_ours else Trades()
