"""Quantities of a trial, declared on its fields and properties with title, unit and places, for tables and plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from redolab.report.annotations import annotated

F = TypeVar("F", bound=Callable[[Any], Any])
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
