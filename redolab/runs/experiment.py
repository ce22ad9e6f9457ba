"""What an experiment declares, and where experiments are found: each is a folder under `experiments/`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from redolab.errors import LabError
from redolab.project import PROJECT
from redolab.report.contents import Page, Report
from redolab.runs.experiment_folders import experiment_folder_name, experiment_names
from redolab.runs.factors import CommonFactors, factors_of, one_of
from redolab.runs.plan import Plan
from redolab.runs.schema import TrialRecord
from redolab.runs.store import Run

if TYPE_CHECKING:
    from redolab.lab import Lab
    from redolab.runs.bench import Bench

Rows: TypeAlias = Sequence[tuple[TrialRecord[Any], Mapping[str, object]]]


class BrokenExperiment(LabError):
    """An experiment of the user's own cannot be loaded."""


@dataclass(frozen=True, slots=True)
class Noun:
    """What one and several of a thing are called."""

    one: str
    several: str

    def of(self, count: int) -> str:
        """As in `3 recoveries`."""
        return f"{count} {self.one if count == 1 else self.several}"


@dataclass(frozen=True, slots=True)
class CheckCell:
    """One small cell that is measured on every machine of a cluster, the same way: it says how alike they are."""

    factors: Callable[[Any], CommonFactors]
    """What is asked of the run → what is asked for the check."""
    column: str
    """Of the experiment's `rows`: its headline."""
    name: str
    """The headline in words, with its unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """What the package of an experiment declares as `EXPERIMENT`.

    Only `rows` and `plan_type` are what reading runs takes: the rest is `Named`, so that it is imported when it is used.
    """

    question: str
    factors: Callable[[], type[CommonFactors]]
    plan: Callable[[Any, Lab], Plan[Any, Any, Any]]
    """Makes the plan of these factors; refuses with `InvalidInput` what makes no sense."""
    plan_type: Callable[[], Any]
    """`Plan[group, step, conditions]` of its own types, with which a kept plan is read."""
    bench: Callable[[Lab, Plan[Any, Any, Any]], Bench[Any, Any, Any]]
    """What makes what a plan needs, and measures its steps."""
    report: Callable[[Run], Report]
    """Tables and plots of what a run has measured."""
    rows: Callable[[Run], Rows]
    """Its trials with the columns that `redolab.load_runs` gives of each."""
    pages: Mapping[str, Callable[[Sequence[Run]], Page]] = field(default_factory=dict)
    """Name → what makes the page of that name in docs/results from the runs that are committed for it."""
    page_runs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Name of a page → the folders under data/measured whose runs it is made from, where that is not the one of its own name."""
    check: CheckCell | None = None
    """None: its groups cannot be measured on several machines."""
    group: Noun = Noun("group", "groups")
    step: Noun = Noun("step", "steps")


@dataclass(frozen=True, slots=True)
class Named:
    """A function by its name, imported when it is first called."""

    package: str
    """What a name that begins with a dot is of: the experiment's `__name__`."""
    name: str
    """As in `.plan:plan`, or `redolab.bench.crash_bench:CrashBench`."""

    def __call__(self, *given: Any, **options: Any) -> Any:
        """Call it."""
        return self.found()(*given, **options)

    def found(self) -> Callable[..., Any]:
        """The function itself."""
        function: Callable[..., Any] = by_name(self.package, self.name)
        return function


def by_name(package: str, name: str) -> Any:
    """What is called so in a module, as in `.factors:Factors`."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module, package), attribute)


def load_experiment(name: str) -> Experiment:
    """The experiment of that name. Raises `InvalidInput`, which lists the names there are, or `BrokenExperiment`."""
    one_of("experiment", experiment_names)(name)
    folder = experiment_folder_name(name)
    if _is_the_projects(folder):
        experiment: Experiment = importlib.import_module(f"{PROJECT.experiments_package}.{folder}").EXPERIMENT
        return experiment
    assert PROJECT.own_experiments is not None
    return _own_experiment(folder, PROJECT.own_experiments / folder)


def _own_experiment(name: str, folder: Path) -> Experiment:
    """An experiment of the user's own: a bug in it is theirs to mend, and ends nothing else."""
    try:
        experiment = _loaded_from(folder, f"own_experiments_{name}").EXPERIMENT
        if not isinstance(experiment, Experiment):
            raise TypeError("its EXPERIMENT is no Experiment")
        factors_of(experiment.factors())
    except (Exception, SystemExit) as error:
        said = str(error).partition("\n")[0]
        own = [each for each in traceback.extract_tb(error.__traceback__) if Path(each.filename).is_relative_to(folder)]
        where = f", line {own[-1].lineno} of {own[-1].filename}" if own else ""
        raise BrokenExperiment(
            f"the experiment {folder} cannot be loaded ({type(error).__name__}: {said}{where})", "mend it"
        ) from error
    return experiment


def _is_the_projects(folder: str) -> bool:
    return (PROJECT.experiments / folder).is_dir()


def _loaded_from(folder: Path, module_name: str) -> ModuleType:
    """The package in a folder that is on no import path, under a name of its own."""
    if module_name in sys.modules:
        return sys.modules[module_name]
    specification = importlib.util.spec_from_file_location(
        module_name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    # Data classes look their module up by name.
    sys.modules[module_name] = module
    try:
        specification.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module
