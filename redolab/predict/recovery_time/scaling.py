"""Rates trained on other machines, scaled to a machine by a few recoveries: a factor for its CPU, one for its disk."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import numpy as np
from scipy.optimize import least_squares

from redolab.predict.recovery_time.fit import Fitted, Observation
from redolab.predict.recovery_time.pooling import Array
from redolab.predict.recovery_time.terms import TERMS

_ERROR = 0.1
"""Standard deviation of ln(measured / predicted) of another crash."""
_MACHINES = 0.5
"""Standard deviation of the logarithms of the factors: machines differ by about e^±0.5."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """Factors of the CPU time, and of the disk time relative to fio's figures."""

    cpu: float
    disk: float

    def of(self, fitted: Fitted) -> Fitted:
        """Return the rates, scaled."""
        factors = {term.name: self.disk if term.is_disk else self.cpu for term in TERMS}
        scaled = {name: rate * factors[name] for name, rate in fitted.rates.items()}
        return msgspec.structs.replace(fitted, rates=scaled)


def scaling(recoveries: Iterable[tuple[Fitted, Observation]]) -> Scaling:
    """Return the factors that fit rates from other machines best to these recoveries, each with the rates of its
    workload.

    Least squares of ln(measured / predicted), each factor shrunk to 1 (ridge), so that noise does not scale a disk that
    took hardly any time.
    """
    pairs = list(recoveries)
    crashes = {each.crash_name for _, each in pairs}
    if not pairs:
        return Scaling(1.0, 1.0)
    seconds = np.array([_seconds(fitted, each) for fitted, each in pairs])
    ready = np.array([each.ready for _, each in pairs])
    weight = math.sqrt(len(crashes) / len(pairs)) / _ERROR

    def residuals(logs: Array) -> Array:
        return np.concatenate([weight * np.log(seconds @ np.exp(logs) / ready), logs / _MACHINES])

    cpu, disk = np.exp(least_squares(residuals, np.zeros(2)).x).tolist()
    return Scaling(cpu, disk)


def _seconds(fitted: Fitted, each: Observation) -> tuple[float, float]:
    """Return the predicted seconds of the CPU and of the disk."""
    work, found = fitted.work(each.crash, each.pool), [0.0, 0.0]
    for term in TERMS:
        found[term.is_disk] += fitted.rates.get(term.name, 0.0) * term.amount(work, each.disk)
    cpu, disk = found
    return cpu, disk
