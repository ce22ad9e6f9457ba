"""The names there are of what a person can name, for completion in a shell.

Only keys and folders are read, nothing is imported or made for it, and a file that is broken or missing has no names.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path

from redolab.project import NATIVE, PROJECT
from redolab.runs.experiment_folders import experiment_names

LATEST = "latest"
_HERE = ("local", "vagrant")


def experiments() -> list[str]:
    """Of `redolab run`."""
    return experiment_names()


def pages() -> list[str]:
    """Pages of results."""
    return [path.stem for path in sorted(PROJECT.results.glob("*.md"))]


def servers() -> list[str]:
    """Of the catalogue, and the user's own."""
    return [*_keys(PROJECT.provision / "servers.toml", tomllib.loads), *_keys(PROJECT.own_servers, json.loads)]


def own_servers() -> list[str]:
    """Those that the user added."""
    return _keys(PROJECT.own_servers, json.loads)


def storages() -> list[str]:
    """Storage profiles of the project, and the user's own."""
    return [
        name
        for path in (PROJECT.provision / "storage.toml", PROJECT.own_storage)
        for name in _keys(path, tomllib.loads)
    ]


def workloads() -> list[str]:
    """Of the catalogue."""
    return _keys(PROJECT.provision / "workloads.toml", tomllib.loads)


def runs() -> list[str]:
    """Runs that are kept, the newest first, after the word for that."""
    found = sorted((path.parent.name for path in PROJECT.runs.glob("*/run.json")), reverse=True)
    return [LATEST, *found] if found else []


def images() -> list[str]:
    """Crash images that are kept."""
    return _folders(PROJECT.lab / NATIVE / "images")


def removable() -> list[str]:
    """Of `redolab rm`: runs, crash images and datasets."""
    return [*runs(), *images(), *_folders(PROJECT.lab / NATIVE / "datasets")]


def machines() -> list[str]:
    """This one, the virtual one, and those that the lab was on."""
    known = _read(PROJECT.own_machines, json.loads)
    return [*_HERE, *(name for name in (known if isinstance(known, list) else []) if isinstance(name, str))]


def machines_been_on() -> list[str]:
    """Those that the lab was on."""
    return machines()[len(_HERE) :]


def _keys(path: Path, decode: Callable[[str], object]) -> list[str]:
    content = _read(path, decode)
    return [str(name) for name in content] if isinstance(content, dict) else []


def _read(path: Path, decode: Callable[[str], object]) -> object:
    try:
        return decode(path.read_text())
    except (OSError, ValueError):
        return None


def _folders(folder: Path) -> list[str]:
    try:
        found: Iterable[Path] = sorted(folder.iterdir())
    except OSError:
        return []
    return [path.name for path in found if path.is_dir()]
