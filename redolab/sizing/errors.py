"""Errors of held-out predictions, beside the bounds that were given with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from redolab.models.recovery_time.fit import Observation, Struck
from redolab.models.recovery_time.held_out import (
    HeldOut,
    HeldOutPrediction,
    counts_once,
    weighted_median,
    weights,
)
from redolab.models.recovery_time.spread import Spread, coverage, interval, together
from redolab.models.recovery_time.spreads import ByKind, Spreads, doublings_beyond, spreads_of
from redolab.report.table import Column, ReportTable
from redolab.storage.profiles import HOME
from redolab.units import GIB, MIB

_NINETY = 0.9
ALL_SERVERS = "all"
"""Name in the rows of all servers together."""


@dataclass(frozen=True, slots=True)
class BoundedError:
    """A held-out prediction with its 90 % interval; 5 % of recoveries are expected above the upper end."""

    judged: HeldOutPrediction
    predicted: float
    """Predicted seconds, with the dirty pages given or from the redo alone."""
    low: float
    high: float

    @property
    def relative(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted / self.judged.observation.ready - 1

    @property
    def is_above(self) -> bool:
        """True if the recovery took longer than the 95 % upper bound."""
        return self.judged.observation.ready > self.high

    @property
    def is_inside(self) -> bool:
        """True if the 90 % interval contains the measured time."""
        return self.low <= self.judged.observation.ready <= self.high


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors of several predictions, of which each unit counts once: a crash, a server, a machine."""

    of: Sequence[BoundedError]
    units: Sequence[str]

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
        return self.share([each.is_above for each in self.of])

    @property
    def width(self) -> float:
        """Upper bound over prediction."""
        return weighted_median([each.high / each.predicted for each in self.of], self.units)

    def share(self, held: Sequence[bool]) -> tuple[float, float, float]:
        """Return the share of predictions for which `held` is true, and its 95 % interval."""
        share, count = float(np.average(held, weights=weights(self.units))), len(set(self.units))
        return share, *coverage(share * count, count)

    def only(self, is_of_it: Callable[[Observation], bool]) -> Errors:
        """Return the errors of the recoveries that `is_of_it` selects."""
        kept = [place for place, each in enumerate(self.of) if is_of_it(each.judged.observation)]
        return Errors([self.of[place] for place in kept], [self.units[place] for place in kept])


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
        return len({each.judged.observation.crash_name for each in self.given.of})

    def only(self, name: str, is_of_it: Callable[[Observation], bool]) -> ErrorRow:
        """Return the row, named `name`, of the recoveries that `is_of_it` selects."""
        return ErrorRow(self.held_out, name, self.given.only(is_of_it), self.by_redo.only(is_of_it))


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
        if len(servers) > 1:
            rows.append(_row(kind, ALL_SERVERS, of_kind, of_all, by_others))
        rows += [
            _row(kind, server, [each for each in of_kind if each.observation.server == server], of_all, by_others)
            for server in servers
        ]
    return rows


def _row(
    kind: HeldOut,
    server: str,
    predictions: Sequence[HeldOutPrediction],
    of_all: Spreads,
    by_others: Mapping[str, Spreads],
) -> ErrorRow:
    def bounded(each: HeldOutPrediction, *, pages_given: bool) -> BoundedError:
        others = by_others[each.observation.server].of(pages_given=pages_given)
        known = others if kind in others else of_all.of(pages_given=pages_given)
        predicted = each.predicted if pages_given else each.by_redo
        return BoundedError(each, predicted, *interval(predicted, _spread(each, known), _NINETY))

    is_one = server != ALL_SERVERS and kind is HeldOut.SERVER
    units = [each.observation.crash_name if is_one else counts_once(each) for each in predictions]
    given, by_redo = (
        Errors([bounded(each, pages_given=pages_given) for each in predictions], units) for pages_given in (True, False)
    )
    return ErrorRow(kind, server, given, by_redo)


def _spread(each: HeldOutPrediction, known: ByKind) -> Spread:
    """Return the spread that `redolab predict` would use for it."""
    own = known[each.held_out]
    return together(known.get(HeldOut.CRASH, own), [own.at(doublings_beyond(each))])


def errors_table(rows: Sequence[ErrorRow]) -> ReportTable:
    """Return the errors, with the dirty pages given and not, beside the share above the bound and its width."""
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


_SOME = 4


def _is_struck(struck: Struck, each: Observation) -> bool:
    return each.struck is struck


_BY_CRASH: Mapping[str, Callable[[Observation], bool]] = {str(struck): partial(_is_struck, struck) for struck in Struck}
_STRATA: Mapping[str, Callable[[Observation], bool]] = {
    **_BY_CRASH,
    "log up to 512M": lambda each: each.log_size <= 512 * MIB,
    "log of 1G": lambda each: 512 * MIB < each.log_size <= GIB,
    "larger log": lambda each: each.log_size > GIB,
    "one batch": lambda each: each.batches == 1,
    "2 to 4 batches": lambda each: each.batches is not None and 1 < each.batches <= _SOME,
    "5 batches and more": lambda each: each.batches is not None and each.batches > _SOME,
    "virtual disk": lambda each: each.storage == HOME,
    "model of a disk": lambda each: each.storage != HOME,
}
"""Strata of recoveries of another run: name → predicate of an observation."""
_STRATIFIED: Mapping[HeldOut, Mapping[str, Callable[[Observation], bool]]] = {
    HeldOut.RUN: _STRATA,
    HeldOut.MACHINE: _BY_CRASH,
    HeldOut.LIMITED: _BY_CRASH,
    HeldOut.CALIBRATED: _BY_CRASH,
}


def strata(rows: Sequence[ErrorRow]) -> list[ErrorRow]:
    """Return the errors by stratum: on another run by work and storage, on other machines by the state at the crash."""
    return [
        row.only(name, is_of_it)
        for kind, named in _STRATIFIED.items()
        for row in rows
        if row.held_out is kind and row.server == ALL_SERVERS
        for name, is_of_it in named.items()
        if any(is_of_it(each.judged.observation) for each in row.given.of)
    ]


def strata_table(rows: Sequence[ErrorRow]) -> ReportTable:
    """Return the errors by stratum as a table."""
    columns = [
        Column[ErrorRow]("held out", lambda row: str(row.held_out)),
        Column[ErrorRow]("of it", lambda row: row.server),
        *_FIGURES,
    ]
    return ReportTable.of("Errors by what there was to recover", strata(rows), columns, [])
