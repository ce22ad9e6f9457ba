"""Quantities of a trial, declared on its fields and properties with title, unit and places, for tables and plots."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from redolab.report.annotations import annotated
from redolab.report.numbers import number
from redolab.report.table import Column

F = TypeVar("F", bound=Callable[[Any], Any])
R = TypeVar("R")
_DECLARED = "_quantity"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that each trial has: `stall_s: Annotated[float, Quantity("longest stall", "s")]`."""

    title: str
    unit: str = ""
    places: int = 2
    scale: float = 1.0
    """Factor from the value to the unit in tables, such as 1000 for seconds shown in milliseconds."""

    @property
    def heading(self) -> str:
        """Heading of a column, as in `longest stall, s`."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    def written(self, value: float | None) -> str:
        """Return a value as a table shows it; a dash for None."""
        return number(None if value is None else self.scale * value, self.places)


def quantity(title: str, unit: str = "", places: int = 2, scale: float = 1.0) -> Callable[[F], F]:
    """Declare a property of a trial a quantity; put it below `@property`."""

    def declare(function: F) -> F:
        setattr(function, _DECLARED, Quantity(title, unit, places, scale))
        return function

    return declare


def quantities_of(kind: type) -> Mapping[str, Quantity]:
    """Return name → quantity of a trial, its fields first."""
    fields = {name: each for name, (_, each) in annotated(kind, Quantity).items()}
    properties = {
        name: getattr(each.fget, _DECLARED)
        for name, each in vars(kind).items()
        if isinstance(each, property) and hasattr(each.fget, _DECLARED)
    }
    return {**fields, **properties}


def quantity_columns(
    kind: type, part: Callable[[R], Any], names: Collection[str] = (), *, spare: bool = False
) -> list[Column[R]]:
    """Return a column for each quantity of a part of a row, which is of that kind; with `names` for these alone."""

    def column(name: str, quantity: Quantity) -> Column[R]:
        return Column(quantity.heading, lambda row: quantity.written(getattr(part(row), name)), right=True, spare=spare)

    return [column(name, each) for name, each in quantities_of(kind).items() if not names or name in names]
