"""Experiments by name, each found by its file: `NAME.py`, or `experiment.py` in a folder of that name."""

from __future__ import annotations

import importlib
import importlib.util
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


class BrokenExperiment(LabError):
    """An experiment of the user that cannot be loaded."""


def load_experiment(name: str) -> type[Declaration]:
    """Return the experiment of that name. Raises `InvalidInput`, which lists the names, or `BrokenExperiment`."""
    one_of("experiment", experiment_names)(name)
    file = file_of(name)
    if file.is_relative_to(PROJECT.experiments):
        inside = file.relative_to(PROJECT.experiments).with_suffix("").parts
        return _declared_in(importlib.import_module(".".join([PROJECT.experiments_package, *inside])))
    return _own_experiment(name, file)


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


def _own_experiment(name: str, file: Path) -> type[Declaration]:
    """Return an experiment of the user's own. A bug in it is the user's to fix, and ends nothing else."""
    folder = file.parent
    try:
        experiment = _declared_in(_module_from(file, f"own_experiments_{name.replace('-', '_')}"))
        factors_of(experiment.factors_type)
    except (Exception, SystemExit) as error:
        message = str(error).partition("\n")[0]
        own = [each for each in traceback.extract_tb(error.__traceback__) if Path(each.filename).is_relative_to(folder)]
        where = f", line {own[-1].lineno} of {own[-1].filename}" if own else ""
        raise BrokenExperiment(
            f"the experiment {file} cannot be loaded ({type(error).__name__}: {message}{where})", "mend it"
        ) from error
    return experiment


def _module_from(file: Path, package_name: str) -> ModuleType:
    """Return the module in a file outside the import path; one in a folder can import its neighbours."""
    is_folder = file.name == "experiment.py"
    name = f"{package_name}.experiment" if is_folder else package_name
    if name in sys.modules:
        return sys.modules[name]
    if is_folder:
        package = importlib.util.spec_from_loader(package_name, loader=None, is_package=True)
        assert package is not None
        package.submodule_search_locations = [str(file.parent)]
        sys.modules[package_name] = importlib.util.module_from_spec(package)
    specification = importlib.util.spec_from_file_location(name, file)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    # Data classes look their module up by name.
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
