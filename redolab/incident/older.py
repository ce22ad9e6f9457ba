"""Features of Python 3.10 and 3.11 that the packed modules use, for 3.9 and 3.10. Import it before them.

Syntax cannot be added: the modules are kept to that of 3.9, which the build checks.
"""

from __future__ import annotations

import builtins
import dataclasses
import datetime
import enum
import itertools
from collections.abc import Iterable, Iterator
from typing import Any


def add_to_python() -> None:
    """Add to the standard library what this Python's lacks."""
    if not hasattr(enum, "StrEnum"):
        vars(enum)["StrEnum"] = _StrEnum
        vars(datetime)["UTC"] = datetime.timezone.utc  # noqa: UP017
    if not hasattr(itertools, "pairwise"):
        vars(itertools)["pairwise"] = _pairwise
        vars(dataclasses)["dataclass"] = _dataclass
        vars(builtins)["zip"] = _zip


class _StrEnum(str, enum.Enum):  # noqa: UP042
    __str__ = str.__str__
    __format__ = str.__format__  # type: ignore[assignment]

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[Any]) -> str:
        return name.lower()


_made_by_python, _zipped = dataclasses.dataclass, zip


def _dataclass(made: type | None = None, *, slots: bool = False, kw_only: bool = False, **options: Any) -> Any:
    """Make a data class without slots. `kw_only` only allows a field without a default behind one with."""

    def make(made: type) -> type:
        for name in vars(made).get("__annotations__", ()) if kw_only else ():
            if name not in vars(made):
                setattr(made, name, dataclasses.field(default=None))
        return _made_by_python(**options)(made)

    return make if made is None else make(made)


def _zip(*each: Iterable[Any], strict: bool = False) -> Iterator[Any]:
    return _zipped(*each)


def _pairwise(values: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    before, after = itertools.tee(values)
    next(after, None)
    return _zipped(before, after)
