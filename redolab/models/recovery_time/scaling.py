"""Rates that were learnt elsewhere, as a few recoveries of one's own have them: on another machine, or of another server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.optimize import nnls

from redolab.models.recovery_time.fit import Fitted, Observation
from redolab.models.recovery_time.terms import TERMS, Part, Separable, Term

_Kind: TypeAlias = Part | None
"""The processor's work in a part of the recovery; None: what the disk does in all of them."""
_KINDS: tuple[_Kind, ...] = (*Part, None)
_HELD = 0.1
"""How much each factor is held to 1, against the error of a recovery: as if factors differed by 100 %, and errors were 10 %."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """By what the processor's work in each part takes longer, and what the disk does."""

    factors: Mapping[_Kind, float]

    def of(self, fitted: Fitted) -> Fitted:
        """Rates that were learnt elsewhere, scaled so."""
        rates = {
            term.name: fitted.rates[term.name] * self.factors[_kind(term)]
            for term in TERMS
            if term.name in fitted.rates
        }
        return Fitted(fitted.memory, rates)


def scaling(recoveries: Iterable[tuple[Fitted, Observation]]) -> Scaling:
    """The factors that bring rates learnt elsewhere nearest to recoveries, each with the rates of its workload.

    Non-negative least squares of the shares of the time to ready. Each factor is held to 1 as far as nothing tells it, so that a
    part that hardly took any time is not scaled by its noise.
    """
    rows, shares = [], []
    for fitted, each in recoveries:
        work = fitted.work(each.crash, each.pool)
        for together, took in each.stretches.items():
            seconds = dict.fromkeys(_KINDS, 0.0)
            for term in TERMS:
                if term.part in together:
                    seconds[_kind(term)] += fitted.rates.get(term.name, 0.0) * term.amount(work, each.disk)
            rows.append([seconds[kind] / each.ready for kind in _KINDS])
            shares.append(took / each.ready)
    held = _HELD * np.eye(len(_KINDS))
    found, _ = nnls(np.vstack([*rows, *held]), np.array([*shares, *(_HELD for _ in _KINDS)]))
    return Scaling(dict(zip(_KINDS, found.tolist(), strict=True)))


def _kind(term: Term) -> _Kind:
    return None if term.told_by is Separable.DISKS else term.part
