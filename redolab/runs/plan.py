"""A plan as data: groups of steps and their order, independent of the bench that carries it out."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from redolab.grouping import by_key
from redolab.runs.factors import words
from redolab.runs.options import options_of

G = TypeVar("G", bound="PlannedGroup")
S = TypeVar("S", bound="PlannedStep")
C = TypeVar("C")
Blocks: TypeAlias = Sequence[Sequence[tuple[G, Sequence[S]]]]
"""Blocks of groups, each group with its steps."""


class _Described(msgspec.Struct, frozen=True, kw_only=True):
    """Part of a plan, in words."""

    def described(self) -> Mapping[str, str]:
        """Return heading → words, for the plan's table."""
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
    """Product that some steps share, as a crash image; it is made once for them. An experiment adds its fields."""

    def cost_keys(self) -> Sequence[str]:
        """Return keys under which earlier groups of similar duration may be recorded, the closest first."""
        return [" ".join(self.described().values())]


class PlannedStep(_Described, frozen=True, kw_only=True):
    """One thing to measure; subclasses have the factors that vary within a group as fields."""

    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """Return keys under which earlier steps of similar duration may be recorded, the closest first.

        `group` has the keys of its group.
        """
        return [" ".join([*group[:1], *self.described().values()]), *group]


class Planned(msgspec.Struct, Generic[S], frozen=True, kw_only=True):
    """One step in a plan's order: the index of its group, the step, and the number of its repeat."""

    group: int
    step: S
    repeat: int


class Order(StrEnum):
    """Order of a plan's steps."""

    RANDOM = "random"
    """The steps of all groups, drawn together."""
    BLOCKS = "in blocks"
    """Blocks in turn; in each the groups in a drawn order, and the steps of each group in a drawn order."""
    WITHIN_GROUPS = "random within groups"
    """Groups in the order of their factors, only steps drawn: runs of November 2026, no new plan."""
    GIVEN = "as given"
    """Groups, and the steps of each, in the order of their factors."""


class Plan(msgspec.Struct, Generic[G, S, C], frozen=True, kw_only=True):
    """A whole run's plan."""

    seed: int
    """Seed of the random order."""
    groups: tuple[G, ...]
    """Groups in the order of their factors."""
    steps: tuple[Planned[S], ...]
    """Steps in the order in which they are to be done."""
    keep: bool
    """True if the groups' products stay for later runs."""
    conditions: C
    """Conditions of the whole run."""
    order: Order
    blocks: tuple[int, ...] = ()
    """Number of each group's block, from 1, if the order is in blocks."""

    @property
    def mixes_groups(self) -> bool:
        """True if steps of several groups alternate, so that the products of all groups exist at the same time."""
        return self.order is Order.RANDOM

    def positions(self, group: int) -> list[int]:
        """Return the indexes of a group's steps."""
        return [position for position, planned in enumerate(self.steps) if planned.group == group]

    def groups_of(self, positions: Sequence[int]) -> list[int]:
        """Return the groups of the steps at these positions, in that order."""
        return list(dict.fromkeys(self.steps[position].group for position in positions))

    def cost_keys(self, planned: Planned[S]) -> Sequence[str]:
        """Return keys of steps of similar duration, the closest first."""
        return planned.step.cost_keys(self.groups[planned.group].cost_keys())


def plan_type(group: Any, step: Any, conditions: Any) -> Any:
    """Return the type of a plan with these types, known only when an experiment's class is made."""
    return Plan[group, step, conditions]


def draw_plan(
    blocks: Blocks[G, S],
    *,
    repeat: int,
    seed: int,
    conditions: C,
    keep: bool = True,
    together: Callable[[G], Hashable] | None = None,
) -> Plan[G, S, C]:
    """Draw the steps of all groups together if the groups' products are kept, and in blocks otherwise.

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
    blocks: Blocks[G, S],
    *,
    repeat: int,
    seed: int,
    conditions: C,
    keep: bool = True,
    together: Callable[[G], Hashable] | None = None,
) -> Plan[G, S, C]:
    """Draw for each block the order of its groups, and the order of each group's steps, `repeat` times each.

    A block has every configuration once: its groups are compared with each other, close together in time. Groups of one
    block for which `together` returns the same key follow one another; a group with the key None may come anywhere.
    """
    draw = random.Random(seed)
    every = [group for block in blocks for group in block]
    numbers = [number for number, block in enumerate(blocks, start=1) for _ in block]
    steps: list[Planned[S]] = []
    for number in range(1, len(blocks) + 1):
        of_block = [position for position, block in enumerate(numbers) if block == number]
        keys = {position: None if together is None else together(every[position][0]) for position in of_block}
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
    """Return groups, given with their keys, in a drawn order; groups with one key, unless None, follow one another."""

    def stretch(group: int) -> Hashable:
        return group if keys[group] is None else (keys[group],)

    stretches = list(by_key(keys, stretch).values())
    return [group for each in draw.sample(stretches, len(stretches)) for group in draw.sample(each, len(each))]


def _repeated(group: int, steps: Sequence[S], repeat: int) -> list[Planned[S]]:
    return [Planned(group=group, step=step, repeat=number) for step in steps for number in range(1, repeat + 1)]


def remaining(plan: Plan[G, S, C], done: Collection[int]) -> list[int]:
    """Return the indexes of the steps still to be done, in the plan's order."""
    return [position for position in range(len(plan.steps)) if position not in done]


def last_positions(plan: Plan[G, S, C], positions: Sequence[int]) -> Mapping[int, int]:
    """Return group → the last of these indexes that is one of its steps; after it, the group is not needed."""
    return {plan.steps[position].group: position for position in positions}
