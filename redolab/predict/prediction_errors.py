"""Errors of held-out predictions, with the bounds that were given for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from redolab.disks.profiles import HOME
from redolab.predict.recovery_time.fit import CrashCondition, Observation
from redolab.predict.recovery_time.held_out import HeldOut, HeldOutPrediction, cluster_of, weighted_median, weights
from redolab.predict.recovery_time.spread import clopper_pearson, combined, interval
from redolab.predict.recovery_time.spreads import Spreads, doublings_beyond, spreads_of
from redolab.report.table import Column, ReportTable
from redolab.units import GIB, MIB

ALL_SERVERS = "all"
"""Name in the rows of all servers together."""
_Selects: TypeAlias = Callable[[Observation], bool]


@dataclass(frozen=True, slots=True)
class BoundedError:
    """Error of a held-out prediction, with the dirty pages given or from the redo alone; seconds."""

    observation: Observation
    cluster: str
    """Independent unit: several predictions of one count once."""
    predicted: float
    upper: float
    """95 % upper bound."""

    @property
    def relative(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted / self.observation.ready - 1

    @property
    def is_above(self) -> bool:
        """True if the recovery took longer than the upper bound."""
        return self.observation.ready > self.upper


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of several predictions, of which each unit counts once: a crash, a server, a machine."""

    of: Sequence[BoundedError]

    @property
    def units(self) -> list[str]:
        """Unit of each prediction."""
        return [each.cluster for each in self.of]

    @property
    def median(self) -> float:
        """Median absolute error as a share of the measured time."""
        return weighted_median([abs(each.relative) for each in self.of], self.units)

    @property
    def bias(self) -> float:
        """Error with its sign: below 0 if predictions are too short."""
        return weighted_median([each.relative for each in self.of], self.units)

    @property
    def above(self) -> tuple[float, float, float]:
        """Share above the 95 % upper bound, and its 95 % interval."""
        share = float(np.average([each.is_above for each in self.of], weights=weights(self.units)))
        count = len(set(self.units))
        return share, *clopper_pearson(share * count, count)

    @property
    def width(self) -> float:
        """Upper bound over prediction."""
        return weighted_median([each.upper / each.predicted for each in self.of], self.units)

    def only(self, selects: _Selects) -> Errors:
        """Return the errors of some recoveries."""
        return Errors([each for each in self.of if selects(each.observation)])


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """Errors of one kind, of one server or of all."""

    held_out: HeldOut
    server: str
    given: Errors
    """Errors with the crash's dirty pages given."""
    by_redo: Errors
    """Errors from the crash's redo alone."""

    @property
    def crashes(self) -> int:
        """Number of crashes."""
        return len({each.observation.crash_name for each in self.given.of})


def error_rows(found: Sequence[HeldOutPrediction]) -> list[ErrorRow]:
    """Return a row for each kind and server, after one for all servers; bounds are by the errors on other servers.

    A server's own errors would judge themselves; with one server alone there are no others.
    """
    rows: list[ErrorRow] = []
    of_all = spreads_of(found)
    by_others = {
        server: spreads_of([each for each in found if each.observation.server != server])
        for server in dict.fromkeys(each.observation.server for each in found)
    }
    for kind in HeldOut:
        of_kind = [each for each in found if each.held_out is kind]
        servers = list(dict.fromkeys(each.observation.server for each in of_kind))
        for name in [*([ALL_SERVERS] if len(servers) > 1 else []), *servers]:
            own = [each for each in of_kind if name in (ALL_SERVERS, each.observation.server)]
            by_crash = name != ALL_SERVERS and kind is HeldOut.SERVER
            given, by_redo = (
                Errors([_bounded(each, by_others, of_all, pages_given=pages_given, by_crash=by_crash) for each in own])
                for pages_given in (True, False)
            )
            rows.append(ErrorRow(kind, name, given, by_redo))
    return rows


def _bounded(
    each: HeldOutPrediction, by_others: Mapping[str, Spreads], of_all: Spreads, *, pages_given: bool, by_crash: bool
) -> BoundedError:
    """Return the error with the bound that `redolab predict` would give. `by_crash`: each crash counts once."""
    others = by_others[each.observation.server].of(pages_given=pages_given)
    known = others if each.held_out in others else of_all.of(pages_given=pages_given)
    own = known[each.held_out]
    spread = combined(known.get(HeldOut.CRASH, own), [own.at(doublings_beyond(each))])
    predicted = each.predicted if pages_given else each.by_redo
    cluster = each.observation.crash_name if by_crash else cluster_of(each)
    return BoundedError(each.observation, cluster, predicted, interval(predicted, spread)[1])


def errors_table(rows: Sequence[ErrorRow]) -> ReportTable:
    """Return the errors, the share above the bound and its width, with the dirty pages given and not."""
    notes = [
        "Errors of predictions of recoveries that the fit has not seen: predicted over measured seconds to ready, less one. Each crash "
        "counts once; of unmeasured storages each family and storage, of servers left out each server, of other machines each machine. "
        "Above: the share that took longer than the 95 % upper bound (5 % should), with its 95 % interval. Bound: as a multiple of the "
        "prediction. Bounds are by the errors on other servers."
    ]
    of_one = (
        [] if all(row.server == ALL_SERVERS for row in rows) else [Column[ErrorRow]("server", lambda row: row.server)]
    )
    columns = [Column[ErrorRow]("held out", lambda row: str(row.held_out)), *of_one, *_FIGURES]
    return ReportTable.of("Errors on what was held out", rows, columns, notes)


_FIGURES = [
    Column[ErrorRow]("crashes", lambda row: str(row.crashes), right=True),
    Column[ErrorRow]("units", lambda row: str(len(set(row.given.units))), right=True),
    Column[ErrorRow]("median error", lambda row: f"{row.given.median:.0%}", right=True),
    Column[ErrorRow]("bias", lambda row: f"{row.given.bias:+.0%}", right=True),
    Column[ErrorRow]("above", lambda row: _share(row.given.above), right=True),
    Column[ErrorRow]("bound", lambda row: f"×{row.given.width:.2f}", right=True),
    Column[ErrorRow]("pages not given: median error", lambda row: f"{row.by_redo.median:.0%}", right=True),
    Column[ErrorRow]("above", lambda row: _share(row.by_redo.above), right=True),
    Column[ErrorRow]("bound", lambda row: f"×{row.by_redo.width:.2f}", right=True),
]


def _share(share: tuple[float, float, float]) -> str:
    return "{:.0%} ({:.0%}–{:.0%})".format(*share)


def _is_after(condition: CrashCondition, each: Observation) -> bool:
    return each.condition is condition


_BY_CRASH: Mapping[str, _Selects] = {str(each): partial(_is_after, each) for each in CrashCondition}
_STRATA: Mapping[str, _Selects] = {
    **_BY_CRASH,
    "log up to 512M": lambda each: each.log_size <= 512 * MIB,
    "log of 1G": lambda each: 512 * MIB < each.log_size <= GIB,
    "larger log": lambda each: each.log_size > GIB,
    "one batch": lambda each: each.batches == 1,
    "2 to 4 batches": lambda each: each.batches is not None and 2 <= each.batches <= 4,
    "5 batches and more": lambda each: each.batches is not None and each.batches >= 5,
    "virtual disk": lambda each: each.storage == HOME,
    "model of a disk": lambda each: each.storage != HOME,
}
"""Strata of recoveries of another run: name → predicate of an observation."""
_STRATIFIED: Mapping[HeldOut, Mapping[str, _Selects]] = {
    HeldOut.RUN: _STRATA,
    HeldOut.MACHINE: _BY_CRASH,
    HeldOut.LIMITED: _BY_CRASH,
    HeldOut.CALIBRATED: _BY_CRASH,
}


def strata(rows: Sequence[ErrorRow]) -> list[ErrorRow]:
    """Return the errors by stratum: on another run by work and storage, on other machines by the state at the crash."""
    return [
        ErrorRow(kind, name, given, row.by_redo.only(selects))
        for kind, named in _STRATIFIED.items()
        for row in rows
        if row.held_out is kind and row.server == ALL_SERVERS
        for name, selects in named.items()
        if (given := row.given.only(selects)).of
    ]


def strata_table(rows: Sequence[ErrorRow]) -> ReportTable:
    """Return the errors by stratum as a table."""
    columns = [
        Column[ErrorRow]("held out", lambda row: str(row.held_out)),
        Column[ErrorRow]("of it", lambda row: row.server),
        *_FIGURES,
    ]
    return ReportTable.of("Errors by what there was to recover", strata(rows), columns, [])
