"""Options that several commands have, alone or as a group whose values a command receives together."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import click

RECOVERS_ON = click.option(
    "--storage", default="local", show_default=True, metavar="NAME", help="Where it would recover: as for 'predict'."
)
WORKLOAD = click.option("--workload", metavar="NAME", help="Whose kind of redo it is.  [default: the slowest known]")
JSON = click.option("--json", "as_json", is_flag=True, help="For programs.")

Verb = Callable[..., None]


def gathered(parameter: str, kind: type[Any], *options: Callable[[Verb], Verb]) -> Callable[[Verb], Verb]:
    """Return a decorator that gives a command these options, whose values it receives as one `kind` in `parameter`.

    The options are named as the fields of `kind`, a data class.
    """

    def decorator(command: Verb) -> Verb:
        @functools.wraps(command)
        def with_gathered(**given: Any) -> None:
            values = {field.name: given.pop(field.name) for field in dataclasses.fields(kind)}
            command(**given, **{parameter: kind(**values)})

        decorated: Verb = with_gathered
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorator
