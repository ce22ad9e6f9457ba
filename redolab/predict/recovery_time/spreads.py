"""Errors of predictions by kind of held-out recovery, with the crash's dirty pages given and from its redo alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

import msgspec

from redolab.predict.recovery_time.held_out import FITTED_UP_TO, HeldOut, HeldOutPrediction, cluster_of
from redolab.predict.recovery_time.spread import LEAST_SPREAD, Spread, elementwise_max, spread_by_distance, spread_of

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

    def without(self, kinds: Collection[HeldOut]) -> Spreads:
        """Return both sets without these kinds."""
        return self.each(lambda spreads: without(spreads, kinds))

    def wider(self, other: Spreads) -> Spreads:
        """Return the wider errors of each kind, in both sets."""
        return Spreads(
            pages_given=wider(self.pages_given, other.pages_given), by_redo=wider(self.by_redo, other.by_redo)
        )


def without(spreads: ByKind, kinds: Collection[HeldOut]) -> ByKind:
    """Return the errors without these kinds."""
    return {kind: spread for kind, spread in spreads.items() if kind not in kinds}


def wider(some: ByKind, others: ByKind) -> ByKind:
    """Return the wider errors of each kind, or the only ones for a kind that one mapping lacks."""
    shared = {kind: elementwise_max(spread, others[kind]) for kind, spread in some.items() if kind in others}
    return {**others, **some, **shared}


def spreads_of(judged: Sequence[HeldOutPrediction]) -> Spreads:
    """Return the errors of held-out predictions, none smaller than the differences between recoveries of one crash."""
    return Spreads(
        pages_given=_by_kind(judged, lambda each: each.error), by_redo=_by_kind(judged, lambda each: each.error_by_redo)
    )


def doublings_beyond(each: HeldOutPrediction) -> float:
    """Return how many doublings the log exceeds the largest one trained on, if larger logs are held out; else 0."""
    return math.log2(each.observation.log_size / FITTED_UP_TO) if each.held_out in BY_DISTANCE else 0.0


def _by_kind(judged: Sequence[HeldOutPrediction], error: Callable[[HeldOutPrediction], float]) -> ByKind:
    found: dict[HeldOut, Spread] = {}
    for kind in HeldOut:
        own = [(cluster_of(each), error(each), doublings_beyond(each)) for each in judged if each.held_out is kind]
        if not own:
            continue
        if kind in BY_DISTANCE and HeldOut.CRASH in found:
            found[kind] = spread_by_distance(own, found[HeldOut.CRASH].deviation)
        else:
            found[kind] = spread_of((cluster, off) for cluster, off, _ in own).at_least(LEAST_SPREAD)
    return found
