"""What an experiment needs of the machine while a run goes on: made for groups of steps, and measured on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from redolab.runs.plan import Planned, PlannedGroup, PlannedStep
from redolab.runs.room import Needs
from redolab.runs.schema import Finding
from redolab.runs.store import Run

G = TypeVar("G", bound=PlannedGroup)
S = TypeVar("S", bound=PlannedStep)
T = TypeVar("T", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Measured(Generic[T]):
    """What a step came to, and what about it is bad for the server."""

    trial: T
    findings: Sequence[Finding] = ()


class Bench(ABC, Generic[G, S, T]):
    """What a plan's groups share is made here, and its steps are measured. Only `measure` must be written.

    A group is known by its position in the plan; what was made for it by a name, under which it may be kept and found.
    """

    brief = False
    """Whether a step takes so little that where the run is need not be told at each."""

    def check(self, positions: Sequence[int]) -> None:
        """Refuse what this machine cannot have for the steps at these positions, before anything is started. Raises `LabError`."""

    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        """What the steps at these positions take at most, when these groups are still to be made."""
        return Needs()

    def remarks(self) -> Sequence[str]:
        """What somebody who is about to start the plan had better know."""
        return ()

    def find(self, group: int, name: str | None) -> str | None:
        """What was made for a group earlier, if it is still there: that of this name, or without one any that serves.

        Where nothing is made that could be gone, what a run has measured stays measured.
        """
        return name

    def is_made_ahead(self, group: int) -> bool:
        """Whether this run has made what the group needs already, along with another group's."""
        return False

    @contextmanager
    def opened(self, run: Run) -> Iterator[None]:
        """While in it: groups can be made and steps measured."""
        yield

    def catch_up(self, run: Run) -> None:
        """Do what earlier sessions have left undone of steps that they have measured. Raises `LabError`."""

    def make(self, group: int, run: Run) -> str:
        """Make what a group's steps share; its name. Raises `LabError`."""
        return ""

    def use(self, group: int, name: str, run: Run) -> None:
        """Take what was made earlier: see that it is as it was left, and keep with the run what belongs to it. Raises `LabError`."""

    @abstractmethod
    def measure(
        self, position: int, planned: Planned[S], name: str, run: Run, keep: Callable[[Measured[T]], None]
    ) -> None:
        """Measure the step at this position of the plan on what was made for its group.

        What it came to is given to `keep` as soon as it is known, before anything is cleared away. Raises `LabError`.
        """

    def release(self, group: int, name: str) -> None:
        """No step of the group is left to be done."""

    def remove(self, name: str, run: Run) -> None:
        """What a run made is not to be kept: remove it, unless others measure on it; also when nothing else was asked of the bench."""
