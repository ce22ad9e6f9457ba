"""Options: the factor of a field of a group, a step or the conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from redolab.report.annotations import annotated
from redolab.runs.factors import words
from redolab.units import format_duration, format_size, parse_duration, parse_size

_WRITTEN: Mapping[Callable[[str], Any], Callable[[Any], str]] = {
    parse_size: format_size,
    parse_duration: format_duration,
}


@dataclass(frozen=True, slots=True)
class Option:
    """Factor of the field it annotates: `threads: Annotated[int, Option("Clients.", whole_number(1, 64), "1,4")]`.

    In a group or step it is a list with commas, and each value is measured; in conditions it is one value.
    """

    about: str
    parse: Callable[[str], Any] | None
    """Parser of one value; None for `bool` (on or off) and for an enumeration (its values)."""
    default: str | None
    """Text of the default; None: the experiment works it out from other factors."""
    single: bool = False
    """True for one value in the whole run, even in a group or step."""
    name: str = ""
    """Name of the option, if it differs from the field's."""

    def written(self, value: object) -> str:
        """Return a value as people write it."""
        return (_WRITTEN.get(self.parse, words) if self.parse is not None else words)(value)


@cache
def options_of(kind: type) -> Mapping[str, tuple[type, Option]]:
    """Return field → its type and option, for fields with an option."""
    return annotated(kind, Option)
