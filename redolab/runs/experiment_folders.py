"""Where experiments are, by name: found without importing any, so that a shell can ask for their names."""

from __future__ import annotations

from pathlib import Path

from redolab.project import PROJECT


def experiment_names() -> list[str]:
    """The experiments there are: the folders under `experiments/`, and under the user's own folder of them.

    A folder is a package, whose name has underscores where a person types hyphens.
    """
    return sorted({path.name.replace("_", "-") for folder in _folders() for path in folder.glob("*") if _is_one(path)})


def experiment_folder_name(name: str) -> str:
    """What the folder of an experiment is called."""
    return name.replace("-", "_")


def experiment_folder(name: str) -> Path | None:
    """The folder of an experiment, the project's before one of the user's own; None if there is none."""
    places = (folder / experiment_folder_name(name) for folder in _folders())
    return next((path for path in places if _is_one(path)), None)


def _folders() -> list[Path]:
    return [PROJECT.experiments, *([PROJECT.own_experiments] if PROJECT.own_experiments else [])]


def _is_one(path: Path) -> bool:
    return (path / "__init__.py").exists() and not path.name.startswith("_")
