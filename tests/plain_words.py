"""Check of `make lint`: docstrings begin with a verb or a noun, and a file's or class's name occurs once.

No docstring begins with a word that stands for a noun nobody has named yet, such as `What`. Names that do occur again in
redolab/ are in same_names.toml, with what makes them differ.
"""

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_SAME_NAMES = Path(__file__).parent / "same_names.toml"
_WORDS = frozenset(
    (
        "What", "Whether", "Of", "As", "How", "It", "None", "So", "See", "Which", "Who", "Whose", "That", "Those", "They", "Them",
        "Its", "Their", "Where", "When", "While", "Why",
    )
)  # fmt: skip
_EVERYWHERE = frozenset(("__init__.py", "__main__.py"))


def _files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((_ROOT / folder).rglob("*.py"))]


def _refused_docstrings(path: Path) -> Iterator[str]:
    """Yield `FILE:LINE: first line` of each such docstring, those below fields and constants included."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            text = node.value.value.strip()
            if (first := re.match(r"\w+", text)) and first[0] in _WORDS:
                where = f"{path.relative_to(_ROOT)}:{node.lineno}: {text.splitlines()[0]}"
                yield f"{where}\n    begin with a verb (function) or a noun phrase (all else): CONTRIBUTING.md"


def _public_classes(paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        for node in ast.parse(path.read_bytes()).body:
            # A stand-in has the name of the class that it stands for.
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and "standins" not in path.parts:
                yield node.name


def _refused_names(kind: str, names: Iterator[str]) -> Iterator[str]:
    """Yield each name that occurs again without a reason, and each reason for a name that does not."""
    known = tomllib.loads(_SAME_NAMES.read_text())[kind]
    again = {name for name, count in Counter(names).items() if count > 1}
    yield from (
        f"{name}: the name occurs again ({kind}): choose another, or say in {_SAME_NAMES.name} why"
        for name in again - known.keys()
    )
    yield from (
        f"{name}: the name occurs once ({kind}): remove it from {_SAME_NAMES.name}" for name in known.keys() - again
    )


if __name__ == "__main__":
    instruments = _files("redolab")
    names_of_files = (
        path.name for path in instruments if path.name not in _EVERYWHERE and "standins" not in path.parts
    )
    refused = [
        *(each for path in _files("redolab", "experiments") for each in _refused_docstrings(path)),
        *_refused_names("files", names_of_files),
        *_refused_names("classes", _public_classes(instruments)),
    ]
    if refused:
        sys.exit("\n".join(refused))
