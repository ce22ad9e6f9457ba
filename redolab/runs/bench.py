"""What carries out a plan on this machine: groups of steps as context managers, steps as functions."""

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
    """Its position in the plan."""
    product: str = ""
    """Name of the product that was made or found for it; empty if its experiment keeps none."""


@dataclass(frozen=True, slots=True)
class StepContext(Generic[T]):
    """The place of a step in its run, and the way of its trial to the disk."""

    run: Run
    group: int
    position: int
    """Position of the step in the plan."""
    repeat: int
    """From 1: which of the equal steps of its group it is."""
    product: str
    keep: Callable[[T, Sequence[Finding]], None]
    """Write the trial to the disk at once, with what about it is bad for the server."""


class Bench(ABC, Generic[G, S, C, M, T]):
    """The groups and steps of one plan on this machine. Only `group` and `measure` must be written."""

    brief = False
    """Steps are short: do not print progress for each."""
    trials_stand_alone = False
    """Trials of a group remain valid when a later session enters the group anew, as those of a load that was recorded."""

    def __init__(self, lab: Lab, plan: Plan[G, S, C]) -> None:
        self.lab = lab
        self.plan = plan

    @property
    def conditions(self) -> C:
        """What holds for the whole run."""
        return self.plan.conditions

    def check(self, positions: Sequence[int]) -> None:
        """Refuse what this machine cannot have for the steps at these positions. Raises `LabError`."""

    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        """Return what the steps at these positions take at most, when these groups are still to be made."""
        return Needs()

    @contextmanager
    def opened(self, run: Run) -> Iterator[None]:
        """While in it groups can be entered: what all of them share is there."""
        yield

    @abstractmethod
    def group(self, group: G, at: GroupContext) -> AbstractContextManager[M]:
        """While in it: what the steps of a group are measured on, as a server under load. Raises `LabError`."""

    @abstractmethod
    def measure(self, group: G, step: S, made: M, at: StepContext[T]) -> T | None:
        """Measure a step. Return its trial, or None after `at.keep` has taken it. Raises `LabError`."""

    def findings(self, group: G, step: S, trial: T) -> Sequence[Finding]:
        """Return what about a trial that `measure` returned is bad for the server."""
        return ()


class KeepsProducts(ABC):
    """An ability of some benches: what their groups share is on the disk, and later runs can use it again.

    A product is known by its name.
    """

    @abstractmethod
    def find(self, group: int, name: str | None) -> str | None:
        """Return the product of that name if it is still there; without a name any that serves the group."""

    @abstractmethod
    def make(self, group: int, run: Run) -> str:
        """Make the product of a group and return its name. Raises `LabError`."""

    @abstractmethod
    def remove(self, name: str, run: Run) -> None:
        """Remove a product unless another run uses it. May be called on a bench that was never opened."""


def find_product(bench: Bench[Any, Any, Any, Any, Any], group: int, name: str | None = None) -> str | None:
    """Return the product that serves a group, or on which its trials stand; None if the group is to be made anew."""
    if isinstance(bench, KeepsProducts):
        return bench.find(group, name)
    return name if bench.trials_stand_alone else None
