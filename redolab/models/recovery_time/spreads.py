"""Errors of predictions by kind of held-out recovery, with the crash's dirty pages given and from its redo alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from redolab.models.recovery_time.held_out import FITTED_UP_TO, HeldOut, HeldOutPrediction, counts_once
from redolab.models.recovery_time.spread import LEAST_SPREAD, Spread, spread_by_distance, spread_of, wider

BY_DISTANCE = (HeldOut.LOG_SIZE, HeldOut.CALIBRATED_LARGER)
"""Kinds whose error grows with the size of the log."""
ByKind: TypeAlias = Mapping[HeldOut, Spread]


class Spreads(msgspec.Struct, frozen=True, kw_only=True):
    """Errors with dirty pages given, and from redo alone: a person who plans a log does not know a crash's pages."""

    pages_given: ByKind = {}
    by_redo: ByKind = {}

    @property
    def kinds(self) -> frozenset[HeldOut]:
        """Kinds of held-out predictions."""
        return frozenset(self.pages_given)

    def of(self, *, pages_given: bool) -> ByKind:
        """Return the errors of predictions with the dirty pages given or not."""
        return self.pages_given if pages_given else self.by_redo

    def each(self, change: Callable[[ByKind], ByKind]) -> Spreads:
        """Return both sets, each changed by `change`."""
        return Spreads(pages_given=change(self.pages_given), by_redo=change(self.by_redo))


def spreads_of(judged: Sequence[HeldOutPrediction]) -> Spreads:
    """Return the errors of held-out predictions, none smaller than the differences between recoveries of one crash."""
    return Spreads(
        pages_given=_by_kind(judged, lambda each: each.error), by_redo=_by_kind(judged, lambda each: each.error_by_redo)
    )


def wider_of_each(one: Spreads, other: Spreads) -> Spreads:
    """Return the wider of two, in both sets."""
    return Spreads(
        pages_given=wider_of_both(one.pages_given, other.pages_given), by_redo=wider_of_both(one.by_redo, other.by_redo)
    )


def wider_of_both(some: ByKind, others: ByKind) -> ByKind:
    """Return the wider errors of each kind, or the only ones for a kind that one mapping lacks."""
    shared = {kind: wider(spread, others[kind]) for kind, spread in some.items() if kind in others}
    return {**others, **some, **shared}


def doublings_beyond(each: HeldOutPrediction) -> float:
    """Return how many doublings the log exceeds the largest one trained on, if larger logs are held out; else 0."""
    return math.log2(each.observation.log_size / FITTED_UP_TO) if each.held_out in BY_DISTANCE else 0.0


def _by_kind(judged: Sequence[HeldOutPrediction], error: Callable[[HeldOutPrediction], float]) -> ByKind:
    found: dict[HeldOut, Spread] = {}
    for kind in HeldOut:
        own = [(counts_once(each), error(each), doublings_beyond(each)) for each in judged if each.held_out is kind]
        if not own:
            continue
        if kind in BY_DISTANCE and HeldOut.CRASH in found:
            found[kind] = spread_by_distance(own, found[HeldOut.CRASH].deviation)
        else:
            found[kind] = spread_of((unit, off) for unit, off, _ in own).at_least(LEAST_SPREAD)
    return found
