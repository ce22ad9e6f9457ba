"""Build of `redolab-incident.pyz`: `make incident`, or `python -m redolab.incident.build FILE`.

The same commit gives the same bytes: files in order, uncompressed, without times.
"""

from __future__ import annotations

import ast
import importlib.metadata
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import redolab
from redolab.errors import LabError, said
from redolab.incident.main import COMMIT, PROGRAM, RECOVERIES
from redolab.machine.commit import lab_commit
from redolab.project import PROJECT

OLDEST = (3, 9)
"""Oldest Python that runs it."""
_BEGIN = "redolab.incident.main"
_MAIN = f"""\
import sys

if sys.version_info < {OLDEST}:
    sys.exit("redolab: this Python is older than {OLDEST[0]}.{OLDEST[1]}: choose a newer one, or run it elsewhere on a copy of the log")

from redolab.incident.older import add_to_python

add_to_python()

from redolab.incident.main import main

main()
"""
_ROOT = Path(redolab.__file__).parents[1]
_STANDINS = Path(__file__).with_name("standins")
_PACKED = "pymysql"
"""Package in pure Python that is packed as it is: `follow --socket` asks a server with it."""
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
"""Earliest time that a zip can hold."""


def build(output: Path) -> None:
    """Write the file. Raises `LabError` if a module needs what a server's Python does not have."""
    files = {
        "__main__.py": _MAIN.encode(),
        f"redolab/incident/{RECOVERIES}": (PROJECT.provision / RECOVERIES).read_bytes(),
        f"redolab/incident/{COMMIT}": lab_commit().encode(),
        **{str(path.relative_to(_ROOT)): path.read_bytes() for path in modules_to_pack(_BEGIN, _ROOT)},
        **{str(path.relative_to(_STANDINS)): path.read_bytes() for path in _standins()},
        **dict(_packed()),
    }
    with output.open("wb") as file:
        file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w") as packed:
            for name in sorted(files):
                packed.writestr(zipfile.ZipInfo(name, _FIRST_DATE), files[name])
    output.chmod(0o755)


def modules_to_pack(begin: str, root: Path) -> Iterable[Path]:
    """Return the files below `root` of all modules that the module `begin` imports, and of the packages around them.

    Raises `LabError` if one needs what a server's Python does not have.
    """
    known = sys.stdlib_module_names | {_PACKED, *(path.stem for path in _STANDINS.iterdir())}
    files = dict[str, Path]()
    wanted = [begin, "redolab.incident.older"]
    while wanted:
        name = wanted.pop()
        path = _file(name, root)
        if name in files or path is None:
            continue
        files[name] = path
        if name == "redolab":
            # `load_runs` is for notebooks.
            continue
        parent = name.rpartition(".")[0]
        for imported in [parent, *_imported(_tree(path))]:
            top = imported.partition(".")[0]
            if top == "redolab":
                wanted.append(imported)
            elif top and top not in known:
                raise LabError(f"{name} imports {top}", f"keep it out of what {PROGRAM} packs")
    return files.values()


def _file(module: str, root: Path) -> Path | None:
    """Return a module's file; None if there is no such module: the name is of something in one."""
    path = root.joinpath(*module.split("."))
    return next((each for each in (path / "__init__.py", path.with_suffix(".py")) if each.exists()), None)


def _tree(path: Path) -> ast.Module:
    """Return a module's syntax. Raises `LabError` if the oldest Python does not know it."""
    try:
        return ast.parse(path.read_bytes(), feature_version=OLDEST)
    except SyntaxError as error:
        raise LabError(
            f"{path}, line {error.lineno}: {error.msg}", f"{PROGRAM} packs it, for Python {OLDEST}"
        ) from error


def _imported(node: ast.AST) -> Iterator[str]:
    """Yield the names that a module imports when it runs, also inside functions."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING":
            continue
        if isinstance(each, ast.Import):
            yield from (alias.name for alias in each.names)
        elif isinstance(each, ast.ImportFrom):
            yield each.module or ""
            yield from (f"{each.module}.{alias.name}" for alias in each.names)
        yield from _imported(each)


def _standins() -> list[Path]:
    return [path for path in _STANDINS.rglob("*.py") if path.parent != _STANDINS or path.name != "__init__.py"]


def _packed() -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of a package's modules, and of its licence."""
    for each in importlib.metadata.files(_PACKED) or ():
        if each.suffix == ".py" or "licenses" in each.parts:
            yield str(each), each.read_binary()


if __name__ == "__main__":
    try:
        build(Path(sys.argv[1]))
    except (LabError, OSError) as error:
        sys.exit(said(error))
