"""Benches that make and release a group in two methods: those of durability, logging-impact, resizing and slowlog-plugin."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic

from redolab.runs.bench import Bench, G, GroupContext, S, StepContext, T
from redolab.runs.plan import Planned
from redolab.runs.schema import Finding
from redolab.runs.store import Run


@dataclass(frozen=True, slots=True)
class Measured(Generic[T]):
    """A trial, and what about it is bad for the server."""

    trial: T
    findings: Sequence[Finding] = ()


class OldBench(Bench[G, S, Any, str, T]):
    """A bench whose groups are made by `make` and put away by `release`; it becomes a `with` when its experiment is one file."""

    @abstractmethod
    def make(self, group: int, run: Run) -> str:
        """Make what the steps of a group share."""

    @abstractmethod
    def release(self, group: int, name: str) -> None:
        """Put away what `make` made for a group, after its last step."""

    @abstractmethod
    def measure_at(
        self, position: int, planned: Planned[S], name: str, run: Run, keep: Callable[[Measured[T]], None]
    ) -> None:
        """Measure a step."""

    @contextmanager
    def group(self, group: G, at: GroupContext) -> Iterator[str]:
        """While in it: what `make` made is there."""
        name = self.make(at.group, at.run)
        yield name
        self.release(at.group, name)

    def measure(self, group: G, step: S, made: str, at: StepContext[T]) -> None:
        """Measure a step."""
        planned = self.plan.steps[at.position]
        self.measure_at(at.position, planned, made, at.run, lambda measured: at.keep(measured.trial, measured.findings))
