"""Where experiments are, by name: found without importing any, so that a shell can ask for their names."""

from __future__ import annotations

from pathlib import Path

from redolab.project import PROJECT


def experiment_names() -> list[str]:
    """The experiments there are: the folders under `experiments/`, and under the user's own folder of them.

    A folder is a package, whose name has underscores where a person types hyphens.
    """
    folders = [PROJECT.experiments, *([PROJECT.own_experiments] if PROJECT.own_experiments else [])]
    return sorted({path.name.replace("_", "-") for folder in folders for path in folder.glob("*") if _is_one(path)})


def experiment_folder_name(name: str) -> str:
    """What the folder of an experiment is called."""
    return name.replace("-", "_")


def _is_one(path: Path) -> bool:
    return (path / "__init__.py").exists() and not path.name.startswith("_")
