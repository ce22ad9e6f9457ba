"""`redolab size`: the redo log size to set, the reasons, and the recovery time it costs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import msgspec

from redolab.errors import InvalidInput
from redolab.predict.asking import model_of
from redolab.predict.chance_of_stuck import chance_for, reservations_about_stuck
from redolab.predict.demand import Demand
from redolab.predict.log_size import SHOWN, Basis, Limits, LogSizeAdvice, advise, possible_sizes, smallest_holding
from redolab.predict.paste import Lines, lines_for
from redolab.predict.predicting import Interval, evidence
from redolab.predict.question import Model, Until
from redolab.predict.recovery import recovery_at
from redolab.predict.recovery_time.moments import PossibleCrash, chance_beyond, seconds_within
from redolab.predict.recovery_time.stuck import ChanceOfStuck
from redolab.predict.reservations import reservations_at
from redolab.predict.trade import Trade, Trades, effect_in_words
from redolab.predict.usual import UsualAges, UsualRecovery, usual_ages, usual_crashes, usual_recovery, worst_crash
from redolab.predict.why import Why, why
from redolab.report.intervals import RelativeChange
from redolab.units import GIB, format_duration, format_size

_NOISE = 0.07
"""Smallest relative error of the median prediction, as comparable crashes and recoveries differ: less is no effect."""
_MOST_READ_THREADS = 64
"""Largest innodb_read_io_threads."""


class CrashTime(StrEnum):
    """Crash that has to be recovered in time."""

    ANY = "any"
    """A crash at a random time, if the checkpoint ages of such crashes are known; else the worst."""
    WORST = "worst"
    """A crash with the redo log as full as it gets."""


class SizeLine(msgspec.Struct, frozen=True, kw_only=True):
    """Consequences of a redo log size: a row of the table; bytes, seconds, minutes."""

    log_size: int
    redo: int
    recovery_s: float
    """Seconds after the worst crash to the chosen end, as for the interval."""
    ninety: Interval
    minutes_held: float
    """Minutes of redo at the peak rate that it holds."""
    usual: UsualRecovery | None = None
    """Recovery after a random crash; None if the checkpoint age at such a crash is not known."""
    chance: float
    """Probability that a recovery exceeds the limit, after the crash that has to be recovered in time."""
    stuck: float
    """Probability that the recovery never ends; a part of `chance`."""
    lost: RelativeChange | None = None
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
    until: Until
    limits: Limits
    by_worst: bool
    """True if the worst crash has to be recovered in time, even if random crashes are known."""
    demand: Demand
    by_os_log_written: int | None
    """Smallest log that would hold an hour if os_log_written were redo."""
    advice: LogSizeAdvice
    size: int | None
    """The answer; None if no size recovers in time."""
    basis: Basis | None
    """Criterion by which it was chosen among sizes that recover in time."""
    expected: SizeLine | None
    """Row of the answer."""
    dirty_pages: int | None
    """Dirty pages that are assumed at the worst crash with the answer."""
    why: Why | None
    """Terms of the recovery of the worst crash with the answer."""
    rule: SizeLine | None
    """Row of the log that holds an hour of peak redo."""
    smallest: SizeLine
    """Row of the smallest log considered."""
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
    evidence: str
    warnings: tuple[str, ...]


def check_recovery_time(rto: float) -> None:
    """Refuse a recovery time that no server can meet. Raises `InvalidInput`."""
    if rto <= 0:
        raise InvalidInput("a recovery time of 0 s cannot be met", "--rto 60s, for instance")


def sized(
    model: Model, demand: Demand, limits: Limits, trades: Trades | None = None, crash_time: CrashTime = CrashTime.ANY
) -> Sized:
    """Return the answer for a peak of redo and some limits. Raises `InvalidInput`."""
    check_recovery_time(limits.rto)
    if demand.redo_per_hour <= 0:
        raise InvalidInput("no redo was written", "any size will do; sample the server under load")
    sizing = Sizing(model, demand, limits, trades, crash_time)
    advice, size = sizing.advice, sizing.advice.size
    table = tuple(row for shown in SHOWN if (row := sizing.line(shown)) is not None)
    beyond = reservations_at(model, size or model.fitted.log_sizes[1])
    if model.dialect.holds_ten_largest_rows:
        beyond.append(
            "of this version the log has to be ten times as large as the BLOBs and TEXTs of your largest row: larger rows are refused, by "
            "5.5 they overwrite the last checkpoint (MySQL bug 69477)"
        )
    beyond += [each for each in reservations_about_stuck(model, table[-1].log_size) if each not in beyond]
    return Sized(
        server=model.question.server,
        storage=model.storage,
        buffer_pool=model.question.pool,
        workload=model.workload,
        until=model.question.until,
        limits=limits,
        by_worst=crash_time is CrashTime.WORST,
        demand=demand,
        by_os_log_written=sizing.smallest_for(demand.os_log_written_per_hour or math.inf),
        advice=advice,
        size=size,
        basis=advice.basis,
        expected=sizing.line(size),
        dirty_pages=round(model.crash_at(model.worst_age(size)).dirty_pages) if size else None,
        why=why(model, size) if size else None,
        rule=sizing.line(advice.smallest_for_hour),
        smallest=sizing.row(advice.smallest),
        what_could_change=tuple(_changes(sizing)) if advice.basis in (None, Basis.TIME) else (),
        table=table,
        usual_from=None if sizing.ages is None else sizing.ages.source,
        trade=sizing.trade,
        is_trade_of_this_load=sizing.own_trade is not None,
        lines=lines_for(model.dialect, size, recovery_at(model, size)) if size else (),
        chance_of_stuck=chance_for(model),
        evidence=evidence(model),
        warnings=(*demand.warnings, *model.warnings, *beyond),
    )


@dataclass(frozen=True)
class Sizing:
    """A question about the log size of a server, with the data that answer it."""

    model: Model
    demand: Demand
    limits: Limits
    trades: Trades | None = None
    crash_time: CrashTime = CrashTime.ANY

    @property
    def own_trades(self) -> Trades:
        """Trades of this very server, on the storages of redolab's own machine."""
        question = self.model.question
        # A calibration file has storages of another machine, which may have the same names.
        is_ours = question.storage == self.model.storage and self.model.measured_as == question.server
        return self.trades if self.trades is not None and is_ours else Trades()

    @cached_property
    def trade(self) -> Trade | None:
        """Trade of the load most like the demand."""
        return self.own_trades.of(self.model.measured_as, self.model.storage, *self._load)

    @cached_property
    def own_trade(self) -> Trade | None:
        """The same trade if its load was of the kind asked about and wrote no less redo; else None."""
        return self.trade if self.trade is not None and self.trade.is_of(*self._load) else None

    @property
    def _load(self) -> tuple[str, int, float]:
        return self.model.workload, self.model.question.pool, self.demand.redo_per_hour

    @cached_property
    def ages(self) -> UsualAges | None:
        """Checkpoint ages at a random crash; None if unknown."""
        return usual_ages(self.model, self.demand)

    @cached_property
    def advice(self) -> LogSizeAdvice:
        """The sizes that meet each condition, and the choice."""
        return advise(
            self._sizes,
            self.limits,
            self.demand.redo_per_hour,
            age=self.model.worst_age,
            chance=lambda size: chance_beyond(self._crashes(self.model, size), self.limits.rto).whole,
            lost=lambda size: None if self.own_trade is None else self.own_trade.lost(size),
        )

    @property
    def _sizes(self) -> list[int]:
        return possible_sizes(self.model.dialect.smallest_log, self.model.dialect.largest_log)

    def smallest_for(self, redo: float) -> int | None:
        """Return the smallest log that holds these bytes; None if no log of the server does."""
        return smallest_holding(self._sizes, redo, self.model.worst_age)

    def line(self, log_size: int | None) -> SizeLine | None:
        """Return the row of a log size; None for no size, or one that the server cannot have."""
        dialect = self.model.dialect
        is_possible = log_size is not None and dialect.smallest_log <= log_size <= dialect.largest_log
        return self.row(log_size) if log_size is not None and is_possible else None

    def row(self, log_size: int) -> SizeLine:
        """Return the consequences of a log size that the server can have."""
        redo, worst = self.model.worst_age(log_size), recovery_at(self.model, log_size)
        chance = chance_beyond(self._crashes(self.model, log_size), self.limits.rto)
        gain = None if self.own_trade is None else self.own_trade.gain(log_size)
        usual = None if self.ages is None else usual_crashes(self.model, log_size, self.ages)
        return SizeLine(
            log_size=log_size,
            redo=redo,
            recovery_s=worst.seconds,
            ninety=Interval(*worst.ninety),
            minutes_held=redo / self.demand.redo_per_hour * 60,
            usual=None if usual is None else usual_recovery(usual, self.limits.rto),
            chance=chance.whole,
            stuck=chance.stuck,
            lost=None if gain is None else gain.lost,
            device_per_commit=None if gain is None else gain.device_per_commit,
        )

    def _crashes(self, model: Model, log_size: int) -> list[PossibleCrash]:
        """Return the crashes of which one has to be recovered in time."""
        if self.ages is None or self.crash_time is CrashTime.WORST:
            return worst_crash(model, log_size)
        return usual_crashes(model, log_size, self.ages)

    def within(self, model: Model, log_size: int) -> float:
        """Return the seconds within which as many recoveries end as the limits require, by a model of the server."""
        return seconds_within(self._crashes(model, log_size), 1 - self.limits.chance)


def _changes(sizing: Sizing) -> Iterator[str]:
    """Yield the changes that would recover an hour of redo in time, with their effects; without effect, none."""
    model, rto, size = sizing.model, sizing.limits.rto, sizing.advice.smallest_for_hour
    if size is None:
        largest, peak = format_size(model.dialect.largest_log), format_size(sizing.demand.redo_per_hour)
        yield f"no log of this server ({largest} at most) holds an hour of {peak}"
        return
    now = sizing.within(model, size)
    instead = ", where now too many get stuck" if math.isinf(now) else f" instead of {format_duration(now)}"
    if math.isfinite(now):
        yield f"recovery time: {format_size(size)} keeps to {format_duration(now)}"
    for change, changed in _alternatives(model, size):
        seconds = sizing.within(changed, size)
        if seconds < (1 - _NOISE) * now:
            too_long = f", still over {format_duration(rto)}" if seconds > rto else ""
            yield f"{change}, {format_size(size)} keeps to {format_duration(seconds)}{too_long}{instead}"
    # Settings of flushing change the checkpoint age at a random crash time, not the worst.
    for each in sizing.own_trades.helping(model.question.server, model.storage):
        yield f"flushing, for a crash at a random moment: {effect_in_words(each)}"


def _alternatives(model: Model, log_size: int) -> Iterator[tuple[str, Model]]:
    """Yield changes of a server, in words and as its model."""
    question, known = model.question, model.server.seconds_per_table_on
    pool = math.ceil(model.one_batch(log_size) / GIB) * GIB
    if pool > question.pool:
        yield f"buffer pool: with {format_size(pool)}, which holds the redo in one batch", model.with_pool(pool)
    if chance_for(model) is not None:
        threads = f"read threads: with innodb_read_io_threads = {_MOST_READ_THREADS}"
        yield threads, model.with_read_threads(_MOST_READ_THREADS)
    for storage in model.calibration.storages:
        # The time of many tables has to be known on both storages, or on neither.
        if storage == model.storage or (question.tables and (storage in known) != (model.storage in known)):
            continue
        try:
            yield f"storage: on {storage}", model_of(question, model.calibration, storage)
        except InvalidInput:
            continue
