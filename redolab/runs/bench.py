"""Execution of a plan on this machine: groups of steps as context managers, steps as functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from redolab.runs.needs import Needs
from redolab.runs.plan import Plan, PlannedGroup, PlannedStep
from redolab.runs.schema import Finding
from redolab.runs.store import Run

if TYPE_CHECKING:
    from redolab.lab import Lab

G = TypeVar("G", bound=PlannedGroup)
S = TypeVar("S", bound=PlannedStep)
C = TypeVar("C")
M = TypeVar("M")
T = TypeVar("T", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class GroupContext:
    """The place of a group in its run."""

    run: Run
    group: int
    """Index of the group in the plan."""
    product: str = ""
    """Name of the product that was made or found for it; empty if its experiment keeps none."""


@dataclass(frozen=True, slots=True)
class StepContext(Generic[T]):
    """The place of a step in its run, and the function that writes its trial to disk."""

    run: Run
    group: int
    position: int
    """Index of the step in the plan."""
    repeat: int
    """Number of the step among the equal ones of its group, from 1."""
    product: str
    keep: Callable[[T, Sequence[Finding]], None]
    """Function that writes the trial to disk at once, with its findings: results that are bad for the server."""


class Bench(ABC, Generic[G, S, C, M, T]):
    """The groups and steps of one plan on this machine. Only `group` and `measure` must be written."""

    brief = False
    """Steps are short: do not print progress for each."""
    trials_stand_alone = False
    """True if a group's trials remain valid when a later session enters it anew, such as trials on a recorded load."""

    def __init__(self, lab: Lab, plan: Plan[G, S, C]) -> None:
        self.lab = lab
        self.plan = plan

    @property
    def conditions(self) -> C:
        """Conditions of the whole run."""
        return self.plan.conditions

    def check(self, positions: Sequence[int]) -> None:
        """Refuse steps, by their indexes, that this machine cannot carry out. Raises `LabError`."""

    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        """Return the most that the steps at these indexes need, when the `missing` groups are still to be made."""
        return Needs()

    @contextmanager
    def opened(self, run: Run) -> Iterator[None]:
        """Prepare what all groups share; groups can be entered inside the block."""
        yield

    @abstractmethod
    def group(self, group: G, at: GroupContext) -> AbstractContextManager[M]:
        """Provide the thing that the steps of a group measure, such as a server under load. Raises `LabError`."""

    @abstractmethod
    def measure(self, group: G, step: S, made: M, at: StepContext[T]) -> T | None:
        """Measure a step. Return its trial, or None after `at.keep` has taken it. Raises `LabError`."""

    def findings(self, group: G, step: S, trial: T) -> Sequence[Finding]:
        """Return findings about a trial that `measure` returned: results that are bad for the server."""
        return ()


class KeepsProducts(ABC):
    """Mixin of benches whose groups have a product on disk, which later runs can use again.

    A product is identified by its name.
    """

    @abstractmethod
    def find(self, group: int, name: str | None) -> str | None:
        """Return the product of that name if it still exists; without a name, any that suits the group."""

    @abstractmethod
    def make(self, group: int, run: Run) -> str:
        """Make the product of a group and return its name. Raises `LabError`."""

    @abstractmethod
    def remove(self, name: str, run: Run) -> None:
        """Remove a product unless another run uses it. Works on a bench that was never opened."""


def find_product(bench: Bench[Any, Any, Any, Any, Any], group: int, name: str | None = None) -> str | None:
    """Return the product for a group, or the one its trials were measured on; None if the group must be made anew."""
    if isinstance(bench, KeepsProducts):
        return bench.find(group, name)
    return name if bench.trials_stand_alone else None
