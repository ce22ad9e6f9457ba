"""Factors: choices of an experiment, as fields of a data class.

The command line is built from them: `--log-size` and `LOGSIZE=` mean the same, and a new factor is one new field.
"""

from __future__ import annotations

import dataclasses
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from redolab.errors import InvalidInput

F = TypeVar("F", bound="CommonFactors")
_SEEDS = 1_000_000


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor as the command line shows it."""

    name: str
    about: str
    parse: Callable[[str], Any]
    default: str | None
    switch: bool = False
    """True if the option alone, without a value, turns it on."""

    @property
    def option(self) -> str:
        """Name of the option, as in `--log-size`."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """Name of the variable, as in `LOGSIZE=`."""
        return self.name.replace("_", "").upper()


def factor(about: str, parse: Callable[[str], Any], default: str | None = None, *, switch: bool = False) -> Any:
    """Declare a field of a factors class: its description, parser (raising `InvalidInput`), and default as text.

    A `switch` is turned on by the option alone. The default is parsed when a value is needed, so that declaring a factor
    reads no catalogue.
    """
    metadata = {"about": about, "parse": parse, "default": default, "switch": switch}
    return dataclasses.field(default_factory=lambda: None if default is None else parse(default), metadata=metadata)


def several(parse: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Return the parser of a list with commas, each part parsed by `parse`; duplicates count once.

    A part may itself stand for several values, as `all`: then `parse` returns a tuple.
    """

    def parse_all(text: str) -> tuple[Any, ...]:
        parts = [parse(part.strip()) for part in text.split(",")]
        return tuple(dict.fromkeys(value for part in parts for value in (part if isinstance(part, tuple) else [part])))

    return parse_all


def whole_number(at_least: int, at_most: int) -> Callable[[str], int]:
    """Return the parser of a whole number within limits."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"\d{1,12}", text.strip()) or not at_least <= int(text) <= at_most:
            raise InvalidInput(f"'{text}' is not a whole number from {at_least} to {at_most}")
        return int(text)

    return parse


def one_of(noun: str, names: Callable[[], list[str]]) -> Callable[[str], str]:
    """Return the parser of a name from a list."""

    def parse(text: str) -> str:
        if text not in names():
            raise InvalidInput(f"there is no {noun} '{text}'", f"choose from {', '.join(names())}")
        return text

    return parse


def on_or_off(text: str) -> bool:
    """Parse `on` or `off`. Raises `InvalidInput` for anything else."""
    if text not in ("on", "off"):
        raise InvalidInput(f"'{text}' is neither on nor off")
    return text == "on"


def words(value: object) -> str:
    """Return a factor's value as text, as a run stores it."""
    if isinstance(value, tuple):
        return ",".join(words(part) for part in value)
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


@dataclass(frozen=True, kw_only=True)
class CommonFactors:
    """Factors of every experiment; a derived class adds its own as fields."""

    seed: int | None = factor("Of the random order (default: drawn, and kept).", whole_number(0, _SEEDS - 1))
    plan: bool = factor("Only show what would be done: cells, disk space, time.", on_or_off, "off", switch=True)
    resume: str | None = factor(
        "Go on with this run, which was stopped or has failed steps; nothing else is asked then.", str
    )
    beside_others: bool = factor(
        "Run even though a database server that is not the lab's runs on this machine.", on_or_off, "off", switch=True
    )
    machine: str = factor(
        "Where: local, ssh:HOST as in ~/.ssh/config, ssh:HOST:/folder/of/the/lab, or vagrant.", str, "local"
    )
    provider: str | None = factor("Of the Vagrant machine: libvirt or virtualbox (default: as its settings).", str)
    cluster: str | None = factor(
        "Or on many machines, those that have joined the Dask scheduler at tls://HOST:8786 ('redolab worker').", str
    )
    given: frozenset[str] = dataclasses.field(default=frozenset(), compare=False)
    """Names of the factors that were given; not a factor itself."""

    def drawn_seed(self) -> int:
        """Return the seed that was given, or one drawn now."""
        return secrets.randbelow(_SEEDS) if self.seed is None else self.seed

    def in_words(self) -> dict[str, str]:
        """Return the given factors as text, as a run stores them."""
        return {
            each.name: words(getattr(self, each.name))
            for each in _factor_fields(type(self))
            if getattr(self, each.name) is not None
        }


def keep_factor(default: str = "on") -> Any:
    """Declare the factor of experiments whose products later runs can use again."""
    return factor(
        "Keep datasets and crash images for later runs; off: one image at a time, in blocks.", on_or_off, default
    )


def repeat_factor(about: str, default: str) -> Any:
    """Declare the factor of experiments that measure the same more than once."""
    return factor(about, whole_number(1, 1000), default)


def factors_of(factors: type[CommonFactors]) -> list[Factor]:
    """Return the factors of an experiment: its own in the data class's order, then shared ones, then those of all."""
    common = {each.name for each in dataclasses.fields(CommonFactors)}
    own = list(factors.__annotations__)

    def rank(field: dataclasses.Field[Any]) -> tuple[bool, int]:
        # `fields` puts a field that a base class declares too at its place there.
        return field.name in common, own.index(field.name) if field.name in own else len(own)

    return [Factor(field.name, **field.metadata) for field in sorted(_factor_fields(factors), key=rank)]


def _factor_fields(factors: type[CommonFactors]) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(factors) if field.metadata]


def read_factors(factors: type[F], given: Mapping[str, str | None]) -> F:
    """Return the data class for the texts of its fields. Raises `InvalidInput` naming the option."""
    values = {}
    for each in factors_of(factors):
        text = given.get(each.name)
        if text is None:
            continue
        try:
            values[each.name] = each.parse(text)
        except InvalidInput as error:
            raise InvalidInput(f"{each.option} ({each.variable}=): {error.problem}", error.remedy) from error
    return factors(**values, given=frozenset(values))
