"""Names of the experiments, found without importing any: shell completion asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from redolab.project import PROJECT


def experiment_names() -> list[str]:
    """Return the names of the experiments, the project's and the user's own, as a person types them."""
    return sorted(_files())


def file_of(name: str) -> Path:
    """Return the file of an experiment: `NAME.py`, or `experiment.py` in a folder of that name."""
    return _files()[name]


def _files() -> Mapping[str, Path]:
    """Return name → file; one of the project's names takes precedence over a user's."""
    folders = [*([PROJECT.own_experiments] if PROJECT.own_experiments else []), PROJECT.experiments]
    files = [path for folder in folders for path in (*folder.glob("*.py"), *folder.glob("*/experiment.py"))]
    named = {(path.parent if path.name == "experiment.py" else path).stem: path for path in files}
    return {name.replace("_", "-"): path for name, path in named.items() if not name.startswith("_")}
