"""Completion of values in a shell: what stands there so far to the names that begin so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import click

Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[str]]


def completed_by(names: str) -> Completer:
    """One of the names that a function of `redolab.upkeep.known_names` gives."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        # What stands there already, where there can be several.
        named = context.params.get(parameter.name or "")
        given = named if isinstance(named, tuple) else ()
        return [name for name in _known(names) if name.startswith(incomplete) and name not in given]

    return complete


def list_completed_by(names: str) -> Completer:
    """The same in a list with commas, of which the last part is completed."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        given = before.split(",")
        return [f"{before}{comma}{name}" for name in _known(names) if name.startswith(last) and name not in given]

    return complete


def _known(names: str) -> Sequence[str]:
    from redolab.upkeep import known_names

    found: Sequence[str] = getattr(known_names, names)()
    return found
