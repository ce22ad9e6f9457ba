"""What is to be done, as data: groups of steps, in which order; apart from who carries it out."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from enum import StrEnum
from typing import Generic, TypeVar

import msgspec

from redolab.runs.factors import words
from redolab.runs.options import options_of

G = TypeVar("G", bound="PlannedGroup")
S = TypeVar("S", bound="PlannedStep")
C = TypeVar("C")


class _Described(msgspec.Struct, frozen=True, kw_only=True):
    """Part of a plan, in words."""

    def described(self) -> Mapping[str, str]:
        """Return heading → words, as the plan's table shows it."""
        options = options_of(type(self))
        described = {}
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name in options:
                _, option = options[name]
                described[option.name or name] = option.written(value)
            else:
                described[name] = words(value)
        return described


class PlannedGroup(_Described, frozen=True, kw_only=True):
    """Product that some steps share, as a crash image; it is made once for them. An experiment's own kind has more fields."""

    def cost_keys(self) -> Sequence[str]:
        """What earlier runs may have made that took about as long, the closest first."""
        return [" ".join(self.described().values())]


class PlannedStep(_Described, frozen=True, kw_only=True):
    """One thing to measure; an experiment's own kind has the factors that vary within a group as fields."""

    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """What earlier runs may have measured that took about as long, the closest first; `group` are those of its group."""
        return [" ".join([*group[:1], *self.described().values()]), *group]


class Planned(msgspec.Struct, Generic[S], frozen=True, kw_only=True):
    """One step in a plan's order: of which group (its position in the plan), what, which of its repeats."""

    group: int
    step: S
    repeat: int


class Order(StrEnum):
    """Order of a plan's steps."""

    RANDOM = "random"
    """The steps of all groups, drawn together."""
    BLOCKS = "in blocks"
    """Block after block; in each the groups one after the other in a drawn order, and the steps of each in a drawn order."""
    WITHIN_GROUPS = "random within groups"
    """Groups in the order of their factors, and only the steps of each drawn: runs of November 2026, no new plan."""
    GIVEN = "as given"
    """Groups, and the steps of each, in the order of their factors."""


class Plan(msgspec.Struct, Generic[G, S, C], frozen=True, kw_only=True):
    """A whole run's plan."""

    seed: int
    """Of the random order."""
    groups: tuple[G, ...]
    """In the order of their factors."""
    steps: tuple[Planned[S], ...]
    """In the order in which they are to be done."""
    keep: bool
    """Whether what is made for the groups stays for later runs."""
    conditions: C
    """What holds for the whole run."""
    order: Order
    blocks: tuple[int, ...] = ()
    """The block of each group, from 1, where the order is in blocks."""

    @property
    def mixes_groups(self) -> bool:
        """Whether steps of several groups come in turns, so that what all groups share is there at once."""
        return self.order is Order.RANDOM

    def positions(self, group: int) -> list[int]:
        """The positions of a group's steps."""
        return [position for position, planned in enumerate(self.steps) if planned.group == group]

    def cost_keys(self, planned: Planned[S]) -> Sequence[str]:
        """What took about as long as this step, the closest first."""
        return planned.step.cost_keys(self.groups[planned.group].cost_keys())


def draw_plan(
    blocks: Sequence[Sequence[tuple[G, Sequence[S]]]],
    *,
    repeat: int,
    seed: int,
    conditions: C,
    keep: bool = True,
    together: Callable[[G], Hashable] | None = None,
) -> Plan[G, S, C]:
    """Draw the steps of all groups together where what is made for the groups is kept, and in blocks where it is not.

    A host that drifts then changes all groups alike.
    """
    groups = [group for block in blocks for group in block]
    if not keep and len(groups) > 1:
        return draw_in_blocks(blocks, repeat=repeat, seed=seed, conditions=conditions, keep=keep, together=together)
    steps = [each for position, (_, steps) in enumerate(groups) for each in _repeated(position, steps, repeat)]
    random.Random(seed).shuffle(steps)
    return Plan(
        seed=seed,
        groups=tuple(group for group, _ in groups),
        steps=tuple(steps),
        keep=keep,
        conditions=conditions,
        order=Order.RANDOM,
    )


def draw_in_blocks(
    blocks: Sequence[Sequence[tuple[G, Sequence[S]]]],
    *,
    repeat: int,
    seed: int,
    conditions: C,
    keep: bool = True,
    together: Callable[[G], Hashable] | None = None,
) -> Plan[G, S, C]:
    """Draw, block after block, the order of its groups, and of the steps of each, `repeat` times each.

    A block has every configuration once: its groups are compared with each other, close together in time.
    Groups of one block for which `together` gives the same key follow one another.
    """
    draw = random.Random(seed)
    every = [group for block in blocks for group in block]
    numbers = [number for number, block in enumerate(blocks, start=1) for _ in block]
    steps: list[Planned[S]] = []
    for number in range(1, len(blocks) + 1):
        of_block = [position for position, block in enumerate(numbers) if block == number]
        keys = {position: position if together is None else together(every[position][0]) for position in of_block}
        for group in _drawn(keys, draw):
            of_group = _repeated(group, every[group][1], repeat)
            steps += draw.sample(of_group, len(of_group))
    return Plan(
        seed=seed,
        groups=tuple(group for group, _ in every),
        steps=tuple(steps),
        keep=keep,
        conditions=conditions,
        order=Order.BLOCKS,
        blocks=tuple(numbers),
    )


def plan_as_given(groups: Sequence[tuple[G, Sequence[S]]], *, seed: int, conditions: C) -> Plan[G, S, C]:
    """Return the plan of these groups, and the steps of each, in this order; nothing is kept."""
    return Plan(
        seed=seed,
        groups=tuple(group for group, _ in groups),
        steps=tuple(each for position, (_, steps) in enumerate(groups) for each in _repeated(position, steps, 1)),
        keep=False,
        conditions=conditions,
        order=Order.GIVEN,
    )


def _drawn(keys: Mapping[int, Hashable], draw: random.Random) -> list[int]:
    """Return groups, given with their keys, in a drawn order in which those of one key follow one another."""
    of_keys: dict[Hashable, list[int]] = {}
    for group, key in keys.items():
        of_keys.setdefault(key, []).append(group)
    return [
        group
        for of_key in draw.sample(list(of_keys.values()), len(of_keys))
        for group in draw.sample(of_key, len(of_key))
    ]


def _repeated(group: int, steps: Sequence[S], repeat: int) -> list[Planned[S]]:
    return [Planned(group=group, step=step, repeat=number) for step in steps for number in range(1, repeat + 1)]


def remaining(plan: Plan[G, S, C], done: Collection[int]) -> list[int]:
    """The positions of the steps that are still to be done, in the plan's order."""
    return [position for position in range(len(plan.steps)) if position not in done]


def last_positions(plan: Plan[G, S, C], positions: Sequence[int]) -> Mapping[int, int]:
    """Group → the last of these positions that is one of its steps': after it, nothing needs the group any more."""
    return {plan.steps[position].group: position for position in positions}
