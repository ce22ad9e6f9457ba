"""Annotations of fields: `Annotated[float, Quantity("stall", "s")]`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, get_args, get_origin

T = TypeVar("T")


def annotated(kind: type, extra: type[T]) -> Mapping[str, tuple[Any, T]]:
    """Return field → its type and its annotation of class `extra`, for fields with one; base classes' fields first."""
    # Not typing.get_type_hints: it evaluates a lambda in an annotation without the names of its module.
    hints = {
        name: hint
        for base in reversed(kind.__mro__)
        for name, hint in inspect.get_annotations(base, eval_str=True).items()
    }
    return {
        name: (of, annotation)
        for name, hint in hints.items()
        if get_origin(hint) is Annotated
        for of, *extras in [get_args(hint)]
        for annotation in extras
        if isinstance(annotation, extra)
    }
