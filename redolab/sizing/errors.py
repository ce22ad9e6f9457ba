"""How far predictions were off on what the fit had not seen, beside the intervals that were given with them."""

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
from redolab.report.table import Column, ReportTable
from redolab.sizing.calibration import doublings_beyond, spreads_of
from redolab.storage.profiles import HOME
from redolab.units import GIB, MIB

_NINETY = 0.9
ALL_SERVERS = "all"
"""What stands for the server in rows of all of them."""


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """How far predictions of one kind were off, for one server or for all."""

    held_out: HeldOut
    server: str
    errors: Sequence[HeldOutPrediction]
    inside: Sequence[bool]
    """Of which of them the 90 % interval held the measured time."""
    above: Sequence[bool]
    """Which of them took longer than its upper end: one in twenty is expected to."""

    @property
    def crashes(self) -> int:
        """Of how many crashes they are."""
        return len({each.observation.crash_name for each in self.errors})

    @property
    def units(self) -> list[str]:
        """Of each error what counts once: its crash, of all servers left out its server, of other machines the machine."""
        if self.server != ALL_SERVERS and self.held_out is HeldOut.SERVER:
            return [each.observation.crash_name for each in self.errors]
        return [counts_once(each) for each in self.errors]

    @property
    def median(self) -> float:
        """Absolute error as a share of the measured time."""
        return weighted_median([abs(each.relative) for each in self.errors], self.units)

    @property
    def bias(self) -> float:
        """The same with its sign: below 0 where predictions are too short."""
        return weighted_median([each.relative for each in self.errors], self.units)

    def share(self, held: Sequence[bool]) -> tuple[float, float, float]:
        """The share of `inside` or `above`, and its 95 % interval."""
        units = self.units
        share, count = float(np.average(held, weights=weights(units))), len(set(units))
        return share, *coverage(share * count, count)

    @property
    def worst(self) -> HeldOutPrediction:
        """The prediction that was farthest off."""
        return max(self.errors, key=lambda each: abs(each.error))


def error_rows(found: Sequence[HeldOutPrediction]) -> list[ErrorRow]:
    """A row for each kind and server, after one for all servers; each beside the intervals that the errors on other servers give.

    The server's own errors would be judged by themselves; with one server alone there are no others.
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
        of_servers = [
            _row_of(of_kind, kind, server, by_others[server] if kind in by_others[server] else of_all)
            for server in servers
        ]
        if len(of_servers) > 1:
            rows.append(
                ErrorRow(
                    kind,
                    ALL_SERVERS,
                    [each for row in of_servers for each in row.errors],
                    [each for row in of_servers for each in row.inside],
                    [each for row in of_servers for each in row.above],
                )
            )
        rows += of_servers
    return rows


def _row_of(
    of_kind: Sequence[HeldOutPrediction], kind: HeldOut, server: str, spreads: Mapping[HeldOut, Spread]
) -> ErrorRow:
    """The predictions of a server, beside intervals by these spreads, as `redolab predict` makes them."""
    own = [each for each in of_kind if each.observation.server == server]
    within = spreads.get(HeldOut.CRASH, spreads[kind])
    ends = [
        interval(each.predicted, together(within, [spreads[kind].at(doublings_beyond(each))]), _NINETY) for each in own
    ]
    return ErrorRow(
        kind,
        server,
        own,
        [low <= each.observation.ready <= high for each, (low, high) in zip(own, ends, strict=True)],
        [each.observation.ready > high for each, (_, high) in zip(own, ends, strict=True)],
    )


def errors_table(rows: Sequence[ErrorRow]) -> ReportTable:
    """The errors, the bad ones included."""
    notes = [
        "Predicted over measured seconds to ready, less one, of recoveries that the fit has not seen. Each crash counts once, of all "
        "servers left out each server, of other machines each machine, or server there. Intervals are from the errors on other servers; "
        "shares have a 95 % interval of their own. Above it: longer than the upper end that 'redolab size' goes by; 5 % should be."
    ]
    return ReportTable.of("Errors on what was held out", rows, _columns("server"), notes)


def _columns(named: str) -> list[Column[ErrorRow]]:
    return [
        Column[ErrorRow]("held out", lambda row: str(row.held_out)),
        Column[ErrorRow](named, lambda row: row.server),
        Column[ErrorRow]("recoveries", lambda row: str(len(row.errors)), right=True),
        Column[ErrorRow]("crashes", lambda row: str(row.crashes), right=True),
        Column[ErrorRow]("median error", lambda row: f"{row.median:.0%}", right=True),
        Column[ErrorRow]("bias", lambda row: f"{row.bias:+.0%}", right=True),
        Column[ErrorRow]("worst", lambda row: f"{row.worst.relative:+.0%}", right=True),
        Column[ErrorRow]("in the 90 % interval", lambda row: _share(row, row.inside), right=True),
        Column[ErrorRow]("above it", lambda row: _share(row, row.above), right=True),
    ]


def _share(row: ErrorRow, held: Sequence[bool]) -> str:
    share, low, high = row.share(held)
    return f"{share:.0%} ({low:.0%}–{high:.0%})"


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
"""What recoveries of another run are told apart by: in a name, whether one is of that kind."""
_STRATIFIED: Mapping[HeldOut, Mapping[str, Callable[[Observation], bool]]] = {
    HeldOut.RUN: _STRATA,
    HeldOut.MACHINE: _BY_CRASH,
    HeldOut.LIMITED: _BY_CRASH,
    HeldOut.CALIBRATED: _BY_CRASH,
}


def errors_by_stratum(rows: Sequence[ErrorRow]) -> ReportTable:
    """The errors on another run, by what there was to recover and where; on other machines by what the crash found."""
    found = []
    for kind, named in _STRATIFIED.items():
        of_servers = [row for row in rows if row.held_out is kind and row.server != ALL_SERVERS]
        judged = [each for row in of_servers for each in zip(row.errors, row.inside, row.above, strict=True)]
        for name, is_of_it in named.items():
            own = [each for each in judged if is_of_it(each[0].observation)]
            if own:
                errors, inside, above = zip(*own, strict=True)
                found.append(ErrorRow(kind, name, errors, inside, above))
    servers = Column[ErrorRow](
        "servers", lambda row: str(len({each.observation.server for each in row.errors})), right=True
    )
    held_out, of_it, *figures = _columns("of it")
    columns = [held_out, of_it, servers, *figures]
    return ReportTable.of("Errors by what there was to recover", found, columns, [])
