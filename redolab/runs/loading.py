"""Experiments by name, each found by its file: `NAME.py`, or `experiment.py` in a folder of that name."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType

from redolab.errors import LabError
from redolab.project import PROJECT
from redolab.runs.experiment import Declaration
from redolab.runs.experiment_names import experiment_names, file_of
from redolab.runs.factors import factors_of, one_of

_OWN = "own_experiments"
"""Name of the package of the user's own experiments."""


class BrokenExperiment(LabError):
    """An experiment of the user that cannot be loaded."""


def load_experiment(name: str) -> type[Declaration]:
    """Return the experiment of that name. Raises `InvalidInput`, which lists the names, or `BrokenExperiment`."""
    one_of("experiment", experiment_names)(name)
    file = file_of(name)
    if file.is_relative_to(PROJECT.experiments):
        return _declared_in(_module(PROJECT.experiments_package, file.relative_to(PROJECT.experiments)))
    return _own_experiment(file)


def _module(package: str, file: Path) -> ModuleType:
    """Return the module in a file of a package, given by its path in the package's folder."""
    return importlib.import_module(".".join([package, *file.with_suffix("").parts]))


def _declared_in(module: ModuleType) -> type[Declaration]:
    """Return the one experiment that a module declares."""
    declared = [
        each
        for each in vars(module).values()
        if isinstance(each, type)
        and issubclass(each, Declaration)
        and each.__module__ == module.__name__
        and not inspect.isabstract(each)
    ]
    if len(declared) != 1:
        raise TypeError(f"it declares {len(declared)} experiments, and not one")
    return declared[0]


def _own_experiment(file: Path) -> type[Declaration]:
    """Return an experiment of the user's own. A bug in it is the user's to fix, and ends nothing else."""
    assert PROJECT.own_experiments is not None
    # The user's folder becomes a package, so that an experiment in a folder can import its neighbours.
    package = sys.modules.setdefault(_OWN, ModuleType(_OWN))
    package.__path__ = [str(PROJECT.own_experiments)]
    try:
        experiment = _declared_in(_module(_OWN, file.relative_to(PROJECT.own_experiments)))
        factors_of(experiment.factors_type)
    except (Exception, SystemExit) as error:
        message = str(error).partition("\n")[0]
        frames = traceback.extract_tb(error.__traceback__)
        own = [each for each in frames if Path(each.filename).is_relative_to(file.parent)]
        where = f", line {own[-1].lineno} of {own[-1].filename}" if own else ""
        raise BrokenExperiment(
            f"the experiment {file} cannot be loaded ({type(error).__name__}: {message}{where})", "mend it"
        ) from error
    return experiment
