"""The predicted recovery: seconds to the chosen end, their parts and their error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redolab.predict.chance_of_stuck import chance_for
from redolab.predict.extrapolation import recovery_spread, rollback_spread, tables_spread
from redolab.predict.question import Model, Until
from redolab.predict.recovery_time.moments import PossibleCrash
from redolab.predict.recovery_time.rollback import RollbackRate, slowest_of_family
from redolab.predict.recovery_time.spread import Spread, interval, spread_of_sum
from redolab.predict.recovery_time.terms import Part

_MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted seconds to the chosen end, and their error."""

    parts: Mapping[Part, float]
    """Seconds of the parts of the time to ready."""
    rollback: float
    """Seconds of rollback after that; 0 if the end is ready."""
    spread: Spread
    """Prediction error of `seconds`."""

    @property
    def seconds(self) -> float:
        """Seconds of all parts and the rollback."""
        return sum(self.parts.values()) + self.rollback

    @property
    def half(self) -> tuple[float, float]:
        """Seconds between which half of such recoveries are expected."""
        return interval(self.seconds, self.spread, 0.5)

    @property
    def ninety(self) -> tuple[float, float]:
        """Seconds between which nine tenths of such recoveries are expected."""
        return interval(self.seconds, self.spread)


def recovery_at(model: Model, log_size: int, age: int | None = None) -> Prediction:
    """Return the recovery after a crash at a checkpoint age, to the chosen end; by default the worst crash."""
    return _recovery(model, model.worst_age(log_size) if age is None else age, recovery_spread(model, log_size))


def _recovery(model: Model, age: int, of_recovery: Spread) -> Prediction:
    """Return the recovery after a crash at a checkpoint age, with the given error of the seconds to ready."""
    parts = model.fitted.parts(model.crash_at(age), model.question.pool, model.disk)
    summed = [(sum(parts.values()), of_recovery)]
    of_tables = (model.question.tables or 0) * model.server.seconds_per_table_on.get(model.storage, 0.0)
    if of_tables:
        parts[Part.OTHER] += of_tables
        summed.append((of_tables, tables_spread(model, of_recovery)))
    if of_binary_log := binary_log_seconds(model):
        parts[Part.OTHER] += of_binary_log
        summed.append((of_binary_log, of_recovery))
    if of_prepared := prepared_seconds(model):
        parts[Part.OTHER] += of_prepared
        summed.append((of_prepared, rollback_spread(model, of_recovery)))
    rollback = rollback_seconds(model) if model.question.until is Until.ROLLED_BACK else None
    if rollback:
        summed.append((rollback, rollback_spread(model, of_recovery)))
    return Prediction(parts, rollback or 0.0, spread_of_sum(summed))


def crashes_at(model: Model, log_size: int, ages: Sequence[int]) -> list[PossibleCrash]:
    """Return crashes with a log of that size at these checkpoint ages in bytes, all equally likely."""
    chance, of_recovery = chance_for(model), recovery_spread(model, log_size)
    crashes = []
    for age in ages:
        stuck = 0.0 if chance is None or not model.may_take_batches(age) else chance.mean
        expected = _recovery(model, age, of_recovery)
        crashes.append(PossibleCrash(expected.seconds, expected.spread, stuck))
    return crashes


def binary_log_seconds(model: Model) -> float:
    """Return the seconds in which the last file of the binary log is read; 0 where that was not measured.

    The server reads it whole, in order: as fast as it parses it, or as the disk gives it. MySQL then reads it once more,
    from memory (docs/results/binary-log.md).
    """
    server, megabytes = model.server, model.binary_log / _MEGABYTE
    if server.binary_log_mb_s is None:
        return 0.0
    again = 0.0 if server.binary_log_again_mb_s is None else megabytes / server.binary_log_again_mb_s
    return megabytes / min(server.binary_log_mb_s, model.disk.sequential_mb_s) + again


def prepared_seconds(model: Model) -> float:
    """Return the seconds before ready in which a transaction is rolled back that the crash cut off in the binary log.

    0 where that comes after ready, or where no rate is known.
    """
    rate = prepared_rate(model) if model.dialect.undoes_cut_off_first else None
    return 0.0 if rate is None else (model.question.prepared_rows or 0) / rate.rows_per_s


def prepared_rate(model: Model) -> RollbackRate | None:
    """Return the server's rate of such rollbacks of at least as many rows on the storage, else of the most measured.

    Without any, the rate of rollbacks after ready.
    """
    rows, known = model.question.prepared_rows or 0, model.server.prepared_on.get(model.storage, ())
    if not known:
        return rollback_rate(model)
    return next((each for each in known if each.most_rows >= rows), known[-1])


def rollback_seconds(model: Model) -> float | None:
    """Return the seconds to roll back the rows asked about; None if there are none, or their rate is not known."""
    rows, rate = model.question.undo_rows, rollback_rate(model)
    return None if rows is None or rate is None else rows / rate.rows_per_s


def rollback_rate(model: Model) -> RollbackRate | None:
    """Return the server's rate of rollback on the storage, else the slowest of its family; None without any."""
    servers = model.calibration.servers
    rates = {name: each.rollback_on for name, each in servers.items()}
    families = {name: each.family for name, each in servers.items()}
    own = model.server.rollback_on.get(model.storage)
    return own or slowest_of_family(rates, families, model.measured_as, model.storage)
