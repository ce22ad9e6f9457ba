"""What is to be done, as data: groups of steps, in which order; apart from who carries it out."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from redolab.runs.factors import words

G = TypeVar("G", bound="PlannedGroup")
S = TypeVar("S", bound="PlannedStep")
C = TypeVar("C")


class PlannedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """What some steps share and is made once for them, as a crash image; an experiment's own kind has more fields."""

    def described(self) -> Mapping[str, str]:
        """What it is, heading → words, as the plan's table shows it."""
        return {name: words(getattr(self, name)) for name in self.__struct_fields__}

    def alike(self) -> Sequence[str]:
        """What earlier runs may have made that took about as long, the most alike first."""
        return [" ".join(self.described().values())]


class PlannedStep(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to measure; an experiment's own kind has the factors that vary within a group as fields."""

    def described(self) -> Mapping[str, str]:
        """What it is, heading → words, as the plan's table shows it."""
        return {name: words(getattr(self, name)) for name in self.__struct_fields__}

    def alike(self, group: Sequence[str]) -> Sequence[str]:
        """What earlier runs may have measured that took about as long, the most alike first; `group` is what its group is like."""
        return [" ".join([*group[:1], *self.described().values()]), *group]


class Planned(msgspec.Struct, Generic[S], frozen=True, kw_only=True):
    """One step in a plan's order: of which group (its place in the plan), what, the how-manieth."""

    group: int
    step: S
    repeat: int


class Plan(msgspec.Struct, Generic[G, S, C], frozen=True, kw_only=True):
    """A whole run's plan."""

    seed: int
    """Of the random order."""
    groups: tuple[G, ...]
    steps: tuple[Planned[S], ...]
    """In the order in which they are to be done."""
    keep: bool
    """Whether what is made for the groups stays for later runs."""
    conditions: C
    """What holds for the whole run."""

    def places(self, group: int) -> list[int]:
        """The places of a group's steps."""
        return [place for place, planned in enumerate(self.steps) if planned.group == group]

    def alike(self, planned: Planned[S]) -> Sequence[str]:
        """What took about as long as this step, the most alike first."""
        return planned.step.alike(self.groups[planned.group].alike())


def draw_plan(
    groups: Sequence[tuple[G, Sequence[S]]],
    *,
    repeat: int,
    seed: int,
    conditions: C,
    keep: bool = True,
) -> Plan[G, S, C]:
    """Every group's steps `repeat` times in an order drawn at random: what changes on the machine meanwhile meets all alike.

    Where nothing is to be kept, the groups come one after the other, and the order is drawn within each.
    """
    draw = random.Random(seed)
    wanted = [
        [Planned(group=place, step=step, repeat=number) for step in steps for number in range(1, repeat + 1)]
        for place, (_, steps) in enumerate(groups)
    ]
    stretches = [[each for stretch in wanted for each in stretch]] if keep else wanted
    for stretch in stretches:
        draw.shuffle(stretch)
    return Plan(
        seed=seed,
        groups=tuple(group for group, _ in groups),
        steps=tuple(each for stretch in stretches for each in stretch),
        keep=keep,
        conditions=conditions,
    )


def remaining(plan: Plan[G, S, C], done: Collection[int]) -> list[int]:
    """The places of the steps that are still to be done, in the plan's order."""
    return [place for place in range(len(plan.steps)) if place not in done]


def last_places(plan: Plan[G, S, C], places: Sequence[int]) -> Mapping[int, int]:
    """Group → the last of these places that is one of its steps': after it, nothing needs the group any more."""
    return {plan.steps[place].group: place for place in places}
