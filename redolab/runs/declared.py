"""The factors that an experiment's source declares, read without importing it.

A shell that asks for an option's name waits for the answer, and importing an experiment takes seconds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from redolab.runs.experiment_folders import experiment_folder

_CLASS = "Factors"
_FILES = ("factors.py", "__init__.py")
_DECLARES = "factor"
"""What ends the name of a function that makes the field of a factor."""
_PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class DeclaredFactor:
    """A factor as its source has it."""

    name: str
    about: str
    """Empty where the source has no plain text there."""
    switch: bool


def declared_factors(experiment: str) -> list[DeclaredFactor]:
    """The factors of an experiment, those of the classes above its own included; none where its class cannot be found."""
    folder = experiment_folder(experiment)
    if folder is None:
        return []
    found = (list(_of_class(folder / name, _CLASS)) for name in _FILES)
    factors = next((each for each in found if each), [])
    return list({each.name: each for each in reversed(factors)}.values())


def _of_class(source: Path, name: str) -> Iterator[DeclaredFactor]:
    """The factors of a class in a source file, its own first."""
    try:
        tree = ast.parse(source.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    declared = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name), None)
    if declared is None:
        return
    for node in declared.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(node.value, ast.Call):
            function = node.value.func
            if isinstance(function, ast.Name) and function.id.endswith(_DECLARES):
                yield _factor(node.target.id, node.value)
    for base in declared.bases:
        if isinstance(base, ast.Name):
            where = _where_from(tree, base.id)
            if where is not None or base.id != name:
                yield from _of_class(where or source, base.id)


def _factor(name: str, call: ast.Call) -> DeclaredFactor:
    first = call.args[0] if call.args else None
    about = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    return DeclaredFactor(name, about, any(keyword.arg == "switch" for keyword in call.keywords))


def _where_from(tree: ast.Module, name: str) -> Path | None:
    """The source file of the lab's from which a module imports a name; None if it imports it from nowhere there."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and any(alias.name == name for alias in node.names):
            package, _, rest = node.module.partition(".")
            if package == _PACKAGE.name:
                return (_PACKAGE / rest.replace(".", "/")).with_suffix(".py")
    return None
