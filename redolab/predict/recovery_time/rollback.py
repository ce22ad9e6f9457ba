"""Rates at which servers roll back transactions that were open at a crash, by storage, and the errors of the rates."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from redolab.grouping import by_key
from redolab.predict.recovery_time.held_out import HeldOut
from redolab.predict.recovery_time.spread import LEAST_SPREAD, Spread, spread_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    """A measured rollback after a crash."""

    server: str
    family: str
    storage: str
    crash_name: str
    rows: int
    """Row operations that were undone."""
    seconds: float

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds


class RollbackRate(msgspec.Struct, frozen=True, kw_only=True):
    """Rate at which a server rolls back on a storage."""

    rows_per_s: float
    most_rows: int
    """Rows of the largest measured rollback."""


Rates: TypeAlias = Mapping[str, Mapping[str, RollbackRate]]
"""Server → storage → rate."""


def rollback_rates(rollbacks: Sequence[Rollback]) -> Rates:
    """Return the rates by server and storage: the median over crashes of each crash's median."""
    found: dict[str, dict[str, RollbackRate]] = defaultdict(dict)
    for (server, storage), own in _grouped(rollbacks).items():
        most = max(each.rows for each in own)
        found[server][storage] = RollbackRate(rows_per_s=_rate(own), most_rows=most)
    return found


def rates_by_rows(rollbacks: Sequence[Rollback]) -> Mapping[str, Mapping[str, tuple[RollbackRate, ...]]]:
    """Return server → storage → a rate for each number of rows, the fewest first."""
    found: dict[str, dict[str, tuple[RollbackRate, ...]]] = defaultdict(dict)
    for (server, storage), own in _grouped(rollbacks).items():
        by_rows = sorted(by_key(own, lambda each: each.rows).items())
        found[server][storage] = tuple(
            RollbackRate(rows_per_s=_rate(of_rows), most_rows=rows) for rows, of_rows in by_rows
        )
    return found


def slowest_of_family(rates: Rates, families: Mapping[str, str], server: str, storage: str) -> RollbackRate | None:
    """Return the slowest rate on a storage of the family's other servers; None if none was measured."""
    of_others = [
        of_server[storage]
        for other, of_server in rates.items()
        if other != server and families[other] == families[server] and storage in of_server
    ]
    return min(of_others, key=lambda each: each.rows_per_s, default=None)


def rollback_spreads(
    rollbacks: Sequence[Rollback], elsewhere: Sequence[tuple[str, HeldOut, Rollback]] = ()
) -> Mapping[HeldOut, Spread]:
    """Return the errors of rates: for another crash, for a server not measured on that storage, and on other machines.

    `elsewhere` has rollbacks on machines that are not trained on, each with its machine and kind. A machine's rollbacks
    are predicted without its own. Kinds without a held-out prediction are left out.
    """
    rates, families = rollback_rates(rollbacks), {each.server: each.family for each in rollbacks}
    errors: dict[HeldOut, list[tuple[str, float]]] = defaultdict(list)
    for (server, storage), own in _grouped(rollbacks).items():
        relative = slowest_of_family(rates, families, server, storage)
        for each in own:
            others = [other for other in own if other.crash_name != each.crash_name]
            if others:
                errors[HeldOut.CRASH].append((each.crash_name, math.log(_rate(others) / each.rate)))
            if relative is not None:
                errors[HeldOut.SERVER].append((server, math.log(relative.rows_per_s / each.rate)))
    for machine in dict.fromkeys(machine for machine, _, _ in elsewhere):
        of_machine = [(kind, each) for there, kind, each in elsewhere if there == machine]
        crashes = {each.crash_name for _, each in of_machine}
        by_others = rollback_rates([each for each in rollbacks if each.crash_name not in crashes])
        for kind, each in of_machine:
            if (known := by_others.get(each.server, {}).get(each.storage)) is not None:
                errors[kind].append((machine, math.log(known.rows_per_s / each.rate)))
    spreads = {kind: spread_of(found).at_least(LEAST_SPREAD) for kind, found in errors.items()}
    if HeldOut.SERVER in spreads:
        # The slowest rate is taken on purpose: faster servers do not make its upper bound later.
        slower = spread_of((name, max(0.0, error)) for name, error in errors[HeldOut.SERVER]).at_least(LEAST_SPREAD)
        spreads[HeldOut.SERVER] = msgspec.structs.replace(spreads[HeldOut.SERVER], above=slower.deviation)
    return spreads


def _rate(rollbacks: Sequence[Rollback]) -> float:
    crashes = by_key(rollbacks, lambda each: each.crash_name).values()
    return statistics.median(statistics.median(each.rate for each in own) for own in crashes)


def _grouped(rollbacks: Sequence[Rollback]) -> Mapping[tuple[str, str], list[Rollback]]:
    """Return server and storage → rollbacks."""
    return by_key(rollbacks, lambda each: (each.server, each.storage))
