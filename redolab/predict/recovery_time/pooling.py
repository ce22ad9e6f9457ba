"""Partial pooling: the rates of a family of servers, fitted together as logarithms.

The logarithm of a rate of one server under one workload is a sum of four numbers: one of the family, and the deviations
of the server, of the workload and of both together. Deviations are shrunk to 0 (ridge), so that a server with three
crashes borrows from its family and one with a hundred hardly does. Minimised over recoveries, where a crash on a
storage counts once:

ln²(predicted / ready) + ½ · Σ over parts ((predicted part - measured part) / ready)² + Σ held · deviation²

See A. Gelman, J. Hill: Data Analysis Using Regression and Multilevel/Hierarchical Models (2007), chapter 12.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
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
    stretches: Array
    """Measured seconds, n × s."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Recoveries of all subjects of a family, one after the other: arrays of one length, computed once for a fit."""

    bounds: Sequence[int]
    """First row of each subject, and the number of rows."""
    counts: NDArray[np.int64]
    """Rows of each subject."""
    shares: Array
    """Amount of each term over the seconds to ready, n × t."""
    root: Array
    """Square root of each recovery's weight, n."""
    members: Array
    """Membership of the stretches by the root of their weight, n × s × t."""
    stretches: Array
    """Measured stretches over the seconds to ready, by the root of their weight, n × s."""

    @classmethod
    def of(cls, subjects: Sequence[SubjectData]) -> _Rows:
        """Return the recoveries of these subjects."""
        ready = np.concatenate([each.ready for each in subjects])
        root = np.sqrt(np.concatenate([each.weight for each in subjects]))
        of_parts = np.sqrt(PARTS_WEIGHT) * root
        counts = np.array([len(each.ready) for each in subjects])
        return cls(
            bounds=[0, *np.cumsum(counts).tolist()],
            counts=counts,
            shares=np.concatenate([each.amounts for each in subjects]) / ready[:, None],
            root=root,
            members=np.concatenate([each.members for each in subjects]) * of_parts[:, None, None],
            stretches=np.concatenate([each.stretches for each in subjects]) * (of_parts / ready)[:, None],
        )

    def squares(self, logs: Array) -> tuple[float, Array, Array]:
        """Return the sum of squares at logarithms of rates (subjects × t), half its gradient and the Gauss-Newton matrices."""
        shares = self.shares * np.repeat(np.exp(logs), self.counts, axis=0)
        whole = shares.sum(axis=1)
        derivatives = np.empty((len(shares), 1 + self.members.shape[1], logs.shape[1]))
        derivatives[:, 0] = shares * (self.root / whole)[:, None]
        np.multiply(self.members, shares[:, None, :], out=derivatives[:, 1:])
        residuals = np.empty(derivatives.shape[:2])
        residuals[:, 0] = self.root * np.log(whole)
        residuals[:, 1:] = derivatives[:, 1:].sum(axis=2) - self.stretches
        slopes, matrices = np.empty_like(logs), np.empty((*logs.shape, logs.shape[1]))
        for place, (first, last) in enumerate(pairwise(self.bounds)):
            own = derivatives[first:last].reshape(-1, logs.shape[1])
            slopes[place] = residuals[first:last].ravel() @ own
            matrices[place] = own.T @ own
        return float((residuals**2).sum()), slopes, matrices


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
    shared = list(dict.fromkeys(block for subject in subjects for block in _blocks_of(subject)[:-1]))
    names = [*shared, *subjects]
    held = _ERROR**2 * np.array([_held(block, is_disk, pooling) for block in names])
    target = np.zeros_like(held)
    target[names.index(_FAMILY)] = _guess(list(subjects.values()))
    levels = np.array([[float(block in _blocks_of(subject)) for block in names] for subject in subjects])
    theta = target.copy()
    if start is not None:
        for place, block in enumerate(names):
            theta[place] = start.blocks.get(block, target[place])
    problem = _Problem(_Rows.of(list(subjects.values())), levels, held, target)
    return PooledRates(dict(zip(names, problem.minimum(theta), strict=True)))


@dataclass(frozen=True, slots=True)
class _Problem:
    """Least squares of a family: blocks that subjects share come first, then each subject's own."""

    rows: _Rows
    levels: Array
    """Subjects × blocks: 1 where a block is among the numbers that a subject's logarithms are sums of."""
    held: Array
    """Strength of the shrinkage, blocks × t."""
    target: Array
    """Numbers to which the blocks are shrunk, blocks × t."""

    def evaluate(self, theta: Array) -> tuple[float, Array, Array]:
        """Return the sum of squares, half its gradient and the subjects' Gauss-Newton matrices."""
        squares, slopes, matrices = self.rows.squares(self.levels @ theta)
        off = theta - self.target
        return squares + float((self.held * off**2).sum()), self.levels.T @ slopes + self.held * off, matrices

    def step(self, slope: Array, matrices: Array, damping: float) -> Array:
        """Return the damped step: first the shared blocks', which is a small system, then each subject's own (Schur)."""
        count, size = len(self.levels), slope.shape[1]
        diagonal = np.arange(size)
        curvature = self.levels.T @ matrices[:, diagonal, diagonal]
        added = self.held + damping * (curvature + self.held)
        own = matrices.copy()
        own[:, diagonal, diagonal] += added[-count:]
        solved = np.linalg.solve(own, np.concatenate([matrices, slope[-count:, :, None]], axis=2))
        through, alone = solved[..., :-1], solved[..., -1]
        levels = self.levels[:, :-count]
        pairs = (levels[:, :, None] * levels[:, None, :]).reshape(count, -1).T
        left = (pairs @ (matrices - matrices @ through).reshape(count, -1)).reshape(*[levels.shape[1]] * 2, size, size)
        whole = left.swapaxes(1, 2).reshape(*[levels.shape[1] * size] * 2)
        whole[np.diag_indices_from(whole)] += added[:-count].ravel()
        right = levels.T @ (matrices @ alone[..., None])[..., 0] - slope[:-count]
        shared = cho_solve(cho_factor(whole), right.ravel()).reshape(right.shape)
        return np.concatenate([shared, -alone - (through @ (levels @ shared)[..., None])[..., 0]])

    def minimum(self, theta: Array) -> Array:
        """Return where the sum of squares is least, by Levenberg and Marquardt's method."""
        cost, slope, matrices = self.evaluate(theta)
        damping = _FIRST_DAMPING
        for _ in range(_MOST_STEPS):
            there = theta + np.clip(self.step(slope, matrices, damping), -_LARGEST_STEP, _LARGEST_STEP)
            tried = self.evaluate(there)
            gain = cost - tried[0]
            if gain < 0:
                damping *= _DAMPING_STEP
                continue
            theta, (cost, slope, matrices) = there, tried
            damping /= _DAMPING_STEP
            if gain <= _CONVERGED * cost:
                break
        return theta


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
