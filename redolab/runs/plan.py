"""What is to be done, as data: groups of steps, in which order; apart from who carries it out."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
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

    def cost_keys(self) -> Sequence[str]:
        """What earlier runs may have made that took about as long, the closest first."""
        return [" ".join(self.described().values())]


class PlannedStep(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to measure; an experiment's own kind has the factors that vary within a group as fields."""

    def described(self) -> Mapping[str, str]:
        """What it is, heading → words, as the plan's table shows it."""
        return {name: words(getattr(self, name)) for name in self.__struct_fields__}

    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """What earlier runs may have measured that took about as long, the closest first; `group` are those of its group."""
        return [" ".join([*group[:1], *self.described().values()]), *group]


class Planned(msgspec.Struct, Generic[S], frozen=True, kw_only=True):
    """One step in a plan's order: of which group (its position in the plan), what, which of its repeats."""

    group: int
    step: S
    repeat: int


class Order(StrEnum):
    """In which order steps are done."""

    RANDOM = "random"
    """Drawn among the steps of all groups; within each group, one after the other, where nothing is kept."""
    BLOCKS = "in blocks"
    """Block after block, in each the groups one after the other as drawn: what a block compares is done within it."""
    GIVEN = "as given"
    """One group after the other, of each every step so often in a row."""


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
    order: Order = Order.RANDOM
    blocks: tuple[int, ...] = ()
    """The block of each group, from 1, where the order is in blocks."""

    @property
    def mixes_groups(self) -> bool:
        """Whether steps of several groups come in turns, so that what all groups share is there at once."""
        return self.keep and self.order is Order.RANDOM

    def positions(self, group: int) -> list[int]:
        """The positions of a group's steps."""
        return [position for position, planned in enumerate(self.steps) if planned.group == group]

    def cost_keys(self, planned: Planned[S]) -> Sequence[str]:
        """What took about as long as this step, the closest first."""
        return planned.step.cost_keys(self.groups[planned.group].cost_keys())


def draw_plan(
    groups: Sequence[tuple[G, Sequence[S]]],
    *,
    repeat: int,
    seed: int,
    conditions: C,
    keep: bool = True,
    order: Order = Order.RANDOM,
) -> Plan[G, S, C]:
    """Every group's steps `repeat` times, in a random order or as given: what drifts on the machine meets all of a random one.

    Where nothing is to be kept, the groups come one after the other, and the order is drawn within each.
    """
    of_groups = [_repeated(position, steps, repeat) for position, (_, steps) in enumerate(groups)]
    mixed = keep and order is Order.RANDOM
    stretches = [[each for of_one in of_groups for each in of_one]] if mixed else of_groups
    if order is Order.RANDOM:
        draw = random.Random(seed)
        for stretch in stretches:
            draw.shuffle(stretch)
    return Plan(
        seed=seed,
        groups=tuple(group for group, _ in groups),
        steps=tuple(each for stretch in stretches for each in stretch),
        keep=keep,
        conditions=conditions,
        order=order,
    )


def draw_in_blocks(
    blocks: Sequence[Sequence[tuple[G, Sequence[S]]]], *, repeat: int, seed: int, conditions: C, keep: bool = True
) -> Plan[G, S, C]:
    """Block after block, in each its groups in an order drawn at random, in each of these its steps `repeat` times so.

    The same whether or not anything is kept: what is compared within a block is done close together in time.
    """
    draw = random.Random(seed)
    drawn = [draw.sample(block, len(block)) for block in blocks]
    of_groups = [_repeated(position, steps, repeat) for position, (_, steps) in enumerate(itertools.chain(*drawn))]
    for stretch in of_groups:
        draw.shuffle(stretch)
    return Plan(
        seed=seed,
        groups=tuple(group for block in drawn for group, _ in block),
        steps=tuple(each for stretch in of_groups for each in stretch),
        keep=keep,
        conditions=conditions,
        order=Order.BLOCKS,
        blocks=tuple(number for number, block in enumerate(drawn, start=1) for _ in block),
    )


def _repeated(group: int, steps: Sequence[S], repeat: int) -> list[Planned[S]]:
    return [Planned(group=group, step=step, repeat=number) for step in steps for number in range(1, repeat + 1)]


def remaining(plan: Plan[G, S, C], done: Collection[int]) -> list[int]:
    """The positions of the steps that are still to be done, in the plan's order."""
    return [position for position in range(len(plan.steps)) if position not in done]


def last_positions(plan: Plan[G, S, C], positions: Sequence[int]) -> Mapping[int, int]:
    """Group → the last of these positions that is one of its steps': after it, nothing needs the group any more."""
    return {plan.steps[position].group: position for position in positions}
