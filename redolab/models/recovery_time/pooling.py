"""Partial pooling: the rates of a family of servers, fitted together as logarithms.

The logarithm of a rate of one server under one workload is a sum of four numbers: one of the family, and the deviations
of the server, of the workload and of both together. Deviations are shrunk to 0 (ridge), so that a server with three
crashes borrows from its family and one with a hundred hardly does. Minimised over recoveries, where a crash on a
storage counts once:

ln²(predicted / ready) + ½ · Σ over parts ((predicted part - measured part) / ready)² + Σ held · deviation²

See A. Gelman, J. Hill: Data Analysis Using Regression and Multilevel/Hierarchical Models (2007), chapter 12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Array: TypeAlias = NDArray[np.float64]
Subject: TypeAlias = tuple[str, str]
"""Server and workload: the same bytes of redo take a server another time under another workload."""
Block: TypeAlias = "tuple[str | None, str | None]"
"""Level of deviations: (None, None) the family's own numbers, (server, None), (None, workload), or both together."""
_FAMILY: Block = (None, None)

PARTS_WEIGHT = 0.5
"""Weight of an error in a part, relative to the same error in the whole."""
_ERROR = 0.1
"""Standard deviation of ln(measured / predicted) that a deviation is weighed against."""
_GUESS = 0.1
"""Share of a typical recovery that each term is guessed to take, and the weight of that guess."""
_MOST_STEPS = 100
_CONVERGED = 1e-7
"""Relative gain of a step below which the search ends."""
_FIRST_DAMPING, _DAMPING_STEP = 1e-3, 10.0
_LARGEST_STEP = 2.0
"""Largest change of a rate's logarithm in one step."""


class Pooling(msgspec.Struct, frozen=True, kw_only=True):
    """Strength of the shrinkage of deviations to 0: inverse variances, in units of an error of 10 %."""

    outer: float = 3.0
    """Strength for a server, and for a workload: rates differ by about e^±0.6."""
    inner: float = 10.0
    """Strength for a server under a workload: e^±0.3."""
    disk: float = 100.0
    """Strength for every rate that depends on the disk: nearly one rate for a family."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectData:
    """Recoveries of one server under one workload: n recoveries, t terms, at most s separately measured stretches."""

    amounts: Array
    """Amount of each term, n × t."""
    ready: Array
    """Seconds to ready, n."""
    weight: Array
    """Weight of each recovery, n."""
    members: Array
    """Membership, n × s × t: 1 if a term belongs to the stretch."""
    took: Array
    """Measured seconds, n × s."""

    def residuals(self, logs: Array) -> tuple[Array, Array]:
        """Return the residuals at these logarithms of rates, and their derivatives (rows × t)."""
        seconds = self.amounts * np.exp(logs)
        whole = seconds.sum(axis=1)
        root = np.sqrt(self.weight)
        parts = self.members * seconds[:, None, :] / self.ready[:, None, None]
        off = parts.sum(axis=2) - self.took / self.ready[:, None]
        of_parts = np.sqrt(PARTS_WEIGHT) * root[:, None]
        return (
            np.concatenate([root * np.log(whole / self.ready), (of_parts * off).ravel()]),
            np.concatenate(
                [root[:, None] * seconds / whole[:, None], (of_parts[..., None] * parts).reshape(-1, len(logs))]
            ),
        )


@dataclass(frozen=True, slots=True)
class PooledRates:
    """Logarithms of rates: the family's numbers and all deviations from them."""

    blocks: Mapping[Block, Array]

    def of(self, subject: Subject) -> Array:
        """Return the rates of a server under a workload; an unmeasured level has deviation 0."""
        known = [self.blocks[block] for block in _blocks_of(subject) if block in self.blocks]
        rates: Array = np.exp(np.sum(known, axis=0))
        return rates


def pooled(
    subjects: Mapping[Subject, SubjectData], is_disk: Sequence[bool], pooling: Pooling, start: PooledRates | None = None
) -> PooledRates:
    """Fit the rates of a family by Levenberg and Marquardt's method, from `start` if there is one.

    `is_disk`: for each term, whether it depends on the disk.
    """
    names = list(dict.fromkeys(block for subject in subjects for block in _blocks_of(subject)))
    held = _ERROR**2 * np.array([_held(block, is_disk, pooling) for block in names])
    target = np.zeros_like(held)
    target[names.index(_FAMILY)] = _guess(list(subjects.values()))
    places = {subject: [names.index(block) for block in _blocks_of(subject)] for subject in subjects}

    def evaluate(theta: Array) -> tuple[float, Array, Array]:
        """Return the sum of squares, half its gradient and the Gauss-Newton matrix."""
        slope = held * (theta - target)
        cost = float((slope * (theta - target)).sum())
        size = theta.shape[1]
        matrix = np.zeros((len(names), size, len(names), size))
        for subject, data in subjects.items():
            own = places[subject]
            residuals, derivatives = data.residuals(theta[own].sum(axis=0))
            cost += float(residuals @ residuals)
            slope[own] += derivatives.T @ residuals
            square = derivatives.T @ derivatives
            for row in own:
                matrix[row][:, own] += square[:, None, :]
        whole = matrix.reshape(theta.size, theta.size)
        whole[np.diag_indices_from(whole)] += held.ravel()
        return cost, slope, whole

    theta = target.copy()
    if start is not None:
        for place, block in enumerate(names):
            theta[place] = start.blocks.get(block, target[place])
    return PooledRates(dict(zip(names, _minimum(evaluate, theta), strict=True)))


def _blocks_of(subject: Subject) -> tuple[Block, ...]:
    server, workload = subject
    return _FAMILY, (server, None), (None, workload), subject


def _held(block: Block, is_disk: Sequence[bool], pooling: Pooling) -> list[float]:
    if block == _FAMILY:
        return [_GUESS] * len(is_disk)
    usual = pooling.outer if None in block else pooling.inner
    return [pooling.disk if disk else usual for disk in is_disk]


def _guess(subjects: Sequence[SubjectData]) -> Array:
    """Return logarithms of rates at which each term takes a tenth of the median recovery."""
    amounts = np.concatenate([each.amounts for each in subjects])
    ready = np.median(np.concatenate([each.ready for each in subjects]))
    typical = [np.median(column[column > 0]) if (column > 0).any() else 1.0 for column in amounts.T]
    guess: Array = np.log(_GUESS * ready / np.array(typical))
    return guess


def _minimum(evaluate: Callable[[Array], tuple[float, Array, Array]], theta: Array) -> Array:
    """Return where the sum of squares is least, by Levenberg and Marquardt's method."""
    cost, slope, matrix = evaluate(theta)
    damping = _FIRST_DAMPING
    for _ in range(_MOST_STEPS):
        damped = matrix + damping * np.diag(np.diag(matrix))
        step = cho_solve(cho_factor(damped), -slope.ravel()).reshape(theta.shape)
        there = theta + np.clip(step, -_LARGEST_STEP, _LARGEST_STEP)
        tried = evaluate(there)
        gain = cost - tried[0]
        if gain < 0:
            damping *= _DAMPING_STEP
            continue
        theta, (cost, slope, matrix) = there, tried
        damping /= _DAMPING_STEP
        if gain <= _CONVERGED * cost:
            break
    return theta
