"""Reservations: sentences that a reader needs before relying on a prediction."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from redolab.disks.profiles import HOME
from redolab.predict.chance_of_stuck import reservations_about_stuck
from redolab.predict.extrapolation import BEYOND, is_other_pool, machine_extrapolation
from redolab.predict.question import Model, Question
from redolab.predict.recovery import prepared_rate, rollback_rate
from redolab.predict.recovery_time.held_out import HeldOut
from redolab.predict.recovery_time.rollback import RollbackRate
from redolab.predict.server_names import recovers_equally
from redolab.servers.dialects import SERVER_NAME, Version, later_differ
from redolab.units import format_duration, format_size, size_span

_STALE = timedelta(days=365)


def reservations_of(model: Model) -> list[str]:
    """Return reservations about every prediction for the asked version on the asked storage."""
    calibration, question, storage = model.calibration, model.question, model.storage
    found = _of_version(model)
    if {HeldOut.STORAGE, HeldOut.UNSEEN_STORAGE} & set(model.extrapolations):
        found.append(
            f"no recovery of {model.measured_as} on {storage} was measured under {model.workload}: it is predicted from the figures of the "
            "disk"
        )
    if (to_machine := machine_extrapolation(calibration, storage)) is not None:
        times = _listed(
            f"{each:.1f}"
            for each in sorted(one.times[to_machine] for one in calibration.other_machines if to_machine in one.times)
        )
        not_for = ", not for a slower disk than the project's own" if storage == HOME else ""
        found.append(
            f"calibrated on redolab's machines, not on yours: recoveries of machines left out took {times} times as long as predicted, and "
            f"the upper end allows for that{not_for} ('make experiment calibrate SERVER={model.measured_as}' on yours makes it narrower)"
        )
    if datetime.now(UTC) - calibration.made > _STALE:
        found.append(
            f"the calibration is of {calibration.made:%Y-%m-%d}: servers, kernel and disk may be others by now"
        )
    if question.tables is not None and storage not in model.server.seconds_per_table_on:
        known = "".join(
            f"; on {name} {question.tables:,} add {format_duration(question.tables * seconds)}"
            for name, seconds in model.server.seconds_per_table_on.items()
        )
        found.append(
            f"what a table adds to a recovery of {model.measured_as} on {storage} was not measured: its time is left out{known}"
        )
    if model.binary_log and model.server.binary_log_mb_s is None:
        found.append(f"how fast {model.measured_as} reads its binary log was not measured: its time is left out")
    return [*found, *_of_rollback(model, question), *_of_prepared(model, question)]


def reservations_at(model: Model, log_size: int) -> list[str]:
    """Return sentences on how far the log size or the pool lies beyond the measured range."""
    found = []
    _, most = model.fitted.log_sizes
    if log_size > most * BEYOND:
        times = f"{log_size / most:.1f}".removesuffix(".0")
        found.append(f"{format_size(log_size)} is {times} times the largest log measured, {format_size(most)}")
    elif log_size > model.fitted.sure_up_to * BEYOND:
        found.append(f"few crashes with logs of more than {format_size(model.fitted.sure_up_to)} were measured")
    if is_other_pool(model):
        found.append(f"pools of {size_span(model.fitted.pools)} were measured, not {format_size(model.question.pool)}")
    return [*found, *reservations_about_stuck(model, log_size)]


def _of_version(model: Model) -> list[str]:
    """Return sentences if the asked version is not the measured one, or may not be the user's."""
    asked, version, measured, found = model.question.server, model.dialect.version, model.server.version, []
    if model.measured_as != asked and not recovers_equally(model.dialect, model.server.dialect):
        found.append(f"{asked} was not measured: the rates are those of {model.measured_as} ({measured})")
    elif version.patch and str(version) != str(Version.parse(measured)):
        found.append(f"measured was {measured}, not {version}")
    if (
        SERVER_NAME.fullmatch(asked) is not None
        and asked.count(".") == 1
        and later_differ(model.dialect.family, version)
    ):
        found.append(
            f"{asked} is {version} here, and later ones recover, or are resized, in other ways: give yours in full"
        )
    return found


def _of_rollback(model: Model, question: Question) -> list[str]:
    if question.undo_rows is None:
        return []
    rate = rollback_rate(model)
    found = _of_rows(model, question.undo_rows, rate)
    if rate is None or model.storage in model.server.rollback_on:
        return found
    there = f"of {model.measured_as} on {model.storage}"
    return [f"no large rollback {there} was measured: taken is the slowest of its family", *found]


def _of_prepared(model: Model, question: Question) -> list[str]:
    if question.prepared_rows is None:
        return []
    if not model.dialect.undoes_cut_off_first:
        return [f"{question.server} rolls back what is cut off in its binary log after it is ready"]
    return _of_rows(model, question.prepared_rows, prepared_rate(model))


def _of_rows(model: Model, rows: int, rate: RollbackRate | None) -> list[str]:
    there = f"of {model.measured_as} on {model.storage}"
    if rate is None:
        return [f"no large rollback {there} was measured: its time is left out"]
    if rows <= rate.most_rows * BEYOND:
        return []
    return [
        f"a rollback of {rows:,} rows is beyond those measured there, up to {rate.most_rows:,} rows in the order of the primary "
        "key: one whose pages do not fit into the pool takes longer for each row, and the interval does not allow for it"
    ]


def _listed(words: Iterable[str]) -> str:
    """Return words as in `1.0, 1.1 and 1.6`."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last
