"""Factors and configurations of a plan, derived from the options of groups, steps and conditions."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from redolab.errors import InvalidInput
from redolab.runs.factors import CommonFactors, factor, keep_factor, on_or_off, one_of, repeat_factor, several
from redolab.runs.options import Option, options_of

if TYPE_CHECKING:
    from redolab.runs.experiment import Experiment

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class _Field:
    """A field that carries an option."""

    name: str
    option: Option
    parse: Callable[[str], Any]
    single: bool

    @property
    def factor(self) -> str:
        """Name of the field's factor."""
        return self.option.name or self.name


def _fields(kind: type, *, single: bool) -> list[_Field]:
    """Return the fields that carry an option. `single`: each has one value."""
    return [
        _Field(name, option, option.parse or _reading(of), single or option.single)
        for name, (of, option) in options_of(kind).items()
    ]


def _reading(kind: type) -> Callable[[str], Any]:
    if kind is bool:
        return on_or_off
    assert issubclass(kind, StrEnum)
    return lambda text: kind(one_of("value", lambda: [str(each) for each in kind])(text))


def crossed(values: Mapping[str, Sequence[V]]) -> list[dict[str, V]]:
    """Return every combination of the factors' values."""
    return [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]


def one_at_a_time(values: Mapping[str, Sequence[V]]) -> list[dict[str, V]]:
    """Return the first value of every factor, then each other value of each factor with the others at their first."""
    first = {name: each[0] for name, each in values.items()}
    changed = [{**first, name: value} for name, each in values.items() for value in each[1:]]
    return [first, *changed]


@cache
def factors_from(name: str, types: tuple[type, type, type], repeat: str | None, *, keeps: bool) -> type[CommonFactors]:
    """Return the class of the factors that the fields of group, step and conditions declare.

    `repeat`: the default of REPEAT; None: it is no factor. `keeps`: KEEP is one.
    """
    group, step, conditions = types
    fields = [
        *_fields(group, single=False),
        *_fields(step, single=False),
        *_fields(conditions, single=True),
    ]
    declared: list[tuple[str, Any, Any]] = [
        (
            each.factor,
            Any,
            factor(each.option.about, each.parse if each.single else several(each.parse), each.option.default),
        )
        for each in fields
    ]
    if keeps:
        declared.append(("keep", bool, keep_factor()))
    if repeat is not None:
        declared.append(("repeat", int, repeat_factor("How often each configuration is measured.", repeat)))
    return dataclasses.make_dataclass(f"{name}Factors", declared, bases=(CommonFactors,), frozen=True, kw_only=True)


def conditions_of(kind: type[Any], factors: CommonFactors) -> Any:
    """Return the conditions of these factors."""
    return kind(**{each.name: getattr(factors, each.factor) for each in _fields(kind, single=True)})


def cells_of(
    experiment: type[Experiment[Any, Any, Any, Any, Any]], factors: CommonFactors
) -> Mapping[Any, Sequence[Any]]:
    """Return group → its steps, in the order of the factors.

    Raises `InvalidInput` for combinations that cannot be measured.
    """
    of_group = _fields(experiment.group_type, single=False)
    of_step = _fields(experiment.step_type, single=False)
    conditions = experiment.conditions_from(factors)
    values = {
        each.name: (getattr(factors, each.factor),) if each.single else getattr(factors, each.factor)
        for each in (*of_group, *of_step)
    }
    cells: dict[Any, list[Any]] = {}
    measured: dict[str, set[object]] = {name: set() for name in values}
    for combination in experiment.combinations(values, conditions):
        group = experiment.group_type(**{each.name: combination[each.name] for each in of_group})
        step = experiment.step_type(**{each.name: combination[each.name] for each in of_step})
        if not experiment.exists(group, step):
            continue
        experiment.refuse(group, step, conditions)
        cells.setdefault(group, []).append(step)
        for name, value in combination.items():
            measured[name].add(value)
    if not cells:
        requested = [
            f"{each.factor} {','.join(map(each.option.written, values[each.name]))}" for each in (*of_group, *of_step)
        ]
        raise InvalidInput(f"no combination of these exists: {'; '.join(requested)}", "choose other values")
    for each in (*of_step, *of_group):
        for value in values[each.name]:
            if value not in measured[each.name]:
                raise InvalidInput(
                    f"{each.factor.replace('_', ' ')} {each.option.written(value)} exists with none of the other values",
                    "leave it out",
                )
    return cells
