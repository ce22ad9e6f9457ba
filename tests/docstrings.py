"""Check of `make lint`: no docstring begins with a word that stands for a noun nobody has named yet, such as `What`."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_WORDS = frozenset(
    (
        "What", "Whether", "Of", "As", "How", "It", "None", "So", "See", "Which", "Who", "Whose", "That", "Those", "They", "Them",
        "Its", "Their", "Where", "When", "While", "Why",
    )
)  # fmt: skip


def _refused(path: Path) -> Iterator[str]:
    """Yield `FILE:LINE: first line` of each such docstring, those below fields and constants included."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            text = node.value.value.strip()
            if (first := re.match(r"\w+", text)) and first[0] in _WORDS:
                yield f"{path.relative_to(_ROOT)}:{node.lineno}: {text.splitlines()[0]}"


if __name__ == "__main__":
    files = [path for folder in ("redolab", "experiments") for path in sorted((_ROOT / folder).rglob("*.py"))]
    refused = [each for path in files for each in _refused(path)]
    if refused:
        sys.exit("\n".join([*refused, "Begin with a verb (function) or a noun phrase (all else): CONTRIBUTING.md"]))
