"""The frame of experiments: each is one file under `experiments/` that says its question, its factors and how it is run.

Factors are the fields of a data class; the command line is built from them, so that `--log-size` and `LOGSIZE=` mean the
same and a new factor is one new field.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from redolab.errors import InvalidInput
from redolab.lab import server_catalogue, storage_profile
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.reporting import Report

MAKE_VARIABLES = "REDOLAB_MAKE_VARIABLES"
"""The environment variable in which the Makefile hands over what stood behind `make experiment NAME`."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """What an experiment file declares as `EXPERIMENT`."""

    question: str
    factors: type[Any]
    """A frozen data class whose fields are made by `factor`."""
    run: Callable[[Any, Progress], None]
    report: Report
    """How its runs are shown, also later."""


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor as the command line shows it."""

    name: str
    about: str
    parse: Callable[[str], Any]
    default: str | None
    switch: bool = False
    """Whether the option alone, without a value, turns it on."""

    @property
    def option(self) -> str:
        """As in `--log-size`."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """As in `LOGSIZE=`."""
        return self.name.replace("_", "").upper()


def factor(about: str, parse: Callable[[str], Any], default: str | None = None, *, switch: bool = False) -> Any:
    """A field of a factors class: what it is, how its text is read (raising `InvalidInput`), and its default as text.

    A `switch` is turned on by the option alone.
    """
    value = parse(default) if default is not None else None
    return dataclasses.field(
        default=value, metadata={"about": about, "parse": parse, "default": default, "switch": switch}
    )


def several(parse: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """The reading of a list with commas, each part read by `parse`; what stands there twice counts once."""

    def parse_all(text: str) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(parse(part.strip()) for part in text.split(",")))

    return parse_all


def whole_number(at_least: int, at_most: int) -> Callable[[str], int]:
    """The reading of a whole number within limits."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"\d{1,12}", text.strip()) or not at_least <= int(text) <= at_most:
            raise InvalidInput(f"'{text}' is not a whole number from {at_least} to {at_most}")
        return int(text)

    return parse


def one_of(noun: str, names: Callable[[], list[str]]) -> Callable[[str], str]:
    """The reading of a name of which there is a list."""

    def parse(text: str) -> str:
        if text not in names():
            raise InvalidInput(f"there is no {noun} '{text}'", f"choose from {', '.join(names())}")
        return text

    return parse


def server_names(text: str) -> tuple[str, ...]:
    """The reading of names of servers with commas, or of `all`. Raises `InvalidInput`."""
    names = server_catalogue().names()
    return tuple(names) if text == "all" else several(one_of("server", lambda: names))(text)


def storage_name(text: str) -> str:
    """The reading of the name of a storage profile, or of a folder's path. Raises `InvalidInput`."""
    storage_profile(text)
    return text


def on_or_off(text: str) -> bool:
    """The reading of `on` or `off`. Raises `InvalidInput` for anything else."""
    if text not in ("on", "off"):
        raise InvalidInput(f"'{text}' is neither on nor off")
    return text == "on"


def words(value: object) -> str:
    """A factor's value as a run keeps it."""
    if isinstance(value, tuple):
        return ",".join(words(part) for part in value)
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def factors_of(experiment: Experiment) -> list[Factor]:
    """The factors of an experiment in the order of its data class."""
    return [Factor(field.name, **field.metadata) for field in dataclasses.fields(experiment.factors)]


def read_factors(experiment: Experiment, given: Mapping[str, str | None]) -> Any:
    """The experiment's data class from the texts given for its fields. Raises `InvalidInput` naming the option."""
    values = {}
    for each in factors_of(experiment):
        text = given.get(each.name)
        if text is None:
            continue
        try:
            values[each.name] = each.parse(text)
        except InvalidInput as error:
            raise InvalidInput(f"{each.option} ({each.variable}=): {error.problem}", error.remedy) from error
    return experiment.factors(**values)


def experiment_names() -> list[str]:
    """The experiments there are: the files under `experiments/`."""
    return sorted(path.stem for path in PROJECT.experiments.glob("*.py") if not path.stem.startswith("_"))


def load_experiment(name: str) -> Experiment:
    """The experiment of that name. Raises `InvalidInput`, which lists the names there are."""
    one_of("experiment", experiment_names)(name)
    specification = importlib.util.spec_from_file_location(f"experiments.{name}", PROJECT.experiments / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    # Data classes look their module up by name.
    sys.modules[module.__name__] = module
    specification.loader.exec_module(module)
    experiment = module.EXPERIMENT
    assert isinstance(experiment, Experiment)
    return experiment


def given_to_make(experiment: Experiment) -> dict[str, str]:
    """Field → text of the variables behind `make experiment NAME`. Raises `InvalidInput` for one that means nothing."""
    variables = {each.variable: each.name for each in factors_of(experiment)}
    given = {}
    for word in shlex.split(os.environ.get(MAKE_VARIABLES, "")):
        variable, _, value = word.partition("=")
        if variable not in variables:
            known = ", ".join(variables)
            raise InvalidInput(f"{variable}= means nothing to this experiment", f"it knows {known}")
        given[variables[variable]] = value
    return given
