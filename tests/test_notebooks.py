"""Each notebook gives what is committed: its outputs, its page of docs/results, and the pictures up to their last digits."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from redolab.project import PROJECT
from tests.thorough import mostly_thorough

pytestmark = pytest.mark.slow

FOLDER = PROJECT.root / "notebooks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ipynb"))
SLOW = {"following", "model", "production"}
"""They fit models, or follow hundreds of recoveries again, which takes minutes."""
LARGEST = 500_000
"""Bytes: what a code host still shows."""
MOST_LINES = 120
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_NAMED = re.compile(r"\b[a-z][0-9a-f]{10}\b")
"""Name that matplotlib gives a shape: a hash of its points."""

_SPEC = importlib.util.spec_from_file_location("results", FOLDER / "results.py")
assert _SPEC is not None
assert _SPEC.loader is not None
results = importlib.util.module_from_spec(_SPEC)
sys.modules["results"] = results
_SPEC.loader.exec_module(results)


@pytest.mark.parametrize("name", mostly_thorough(NAMES, set(NAMES) - SLOW))
def test_a_notebook_gives_its_committed_page(name: str) -> None:
    files = results.exported(results.executed(FOLDER / f"{name}.ipynb"), name)
    again = f"'make results NAME={name}' makes another"
    for path, content in files.items():
        committed = (PROJECT.results / path).read_text()
        alike = is_same_picture(content, committed) if path.endswith(".svg") else content == committed
        assert alike, f"{again} {path}"


@pytest.mark.parametrize("name", NAMES)
def test_a_committed_notebook_has_the_outputs_of_its_page(name: str) -> None:
    notebook = read(FOLDER / f"{name}.ipynb")
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
    files = results.exported(notebook, name)
    for path, content in files.items():
        assert (PROJECT.results / path).read_text() == content
    assert (FOLDER / f"{name}.ipynb").stat().st_size < LARGEST


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_short_and_guards_its_prose(name: str) -> None:
    cells = [cell.source for cell in read(FOLDER / f"{name}.ipynb").cells if cell.cell_type == "code"]
    assert sum(map(code_lines, cells)) <= MOST_LINES
    assert any("assert " in cell for cell in cells)
    assert not any("experiments" in line for cell in cells for line in cell.splitlines() if "import" in line)


def test_every_page_has_a_notebook_and_every_picture_a_page() -> None:
    assert {path.stem for path in PROJECT.results.glob("*.md")} == set(NAMES)
    shown = {
        picture
        for path in PROJECT.results.glob("*.md")
        for picture in re.findall(r"\(([\w-]+\.svg)\)", path.read_text())
    }
    assert {path.name for path in PROJECT.results.glob("*.svg")} == shown


def test_the_readme_begins_with_the_answer_of_the_page_of_recoveries() -> None:
    page, readme = ((PROJECT.root / path).read_text() for path in ("docs/results/recovery.md", "README.md"))
    answer = next(block for block in page.split("\n\n") if block.startswith("**"))
    assert answer.split() in [block.split() for block in readme.split("\n\n")]
    assert all((PROJECT.root / picture).exists() for picture in re.findall(r"docs/results/[\w-]+\.svg", readme))


def test_every_folder_of_runs_is_described() -> None:
    described = (PROJECT.measured / "README.md").read_text()
    assert [path.name for path in PROJECT.measured.glob("*/") if f"`{path.name}`" not in described] == []


def test_pictures_are_compared_but_for_the_last_digits() -> None:
    picture = '<path id="m0123456789" d="M 1.234567 20"/><use xlink:href="#m0123456789"/><text>17 %</text>'
    assert is_same_picture(picture, picture.replace("1.234567", "1.234568").replace("m0123456789", "mabcdef0123"))
    assert not is_same_picture(picture, picture.replace("1.234567", "1.334567"))
    assert not is_same_picture(picture, picture.replace("17 %", "18 %"))
    assert not is_same_picture(picture, picture.replace(" 20", ""))


def is_same_picture(one: str, other: str) -> bool:
    """Return True if two pictures differ in no more than last digits, and in names made of them: processors differ in these."""
    texts, numbers = zip(*(_apart(_NAMED.sub("", picture)) for picture in (one, other)), strict=True)
    return texts[0] == texts[1] and bool(numbers[0] == pytest.approx(numbers[1], rel=1e-5, abs=0.01))


def _apart(picture: str) -> tuple[str, list[float]]:
    return _NUMBER.sub("#", picture), [float(number) for number in _NUMBER.findall(picture)]


def code_lines(source: str) -> int:
    """Return the lines of a cell that are neither blank nor prose, which is in strings of several lines."""
    prose: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            prose |= set(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    return sum(bool(line.strip()) and number not in prose for number, line in enumerate(source.splitlines(), 1))


def read(path: Path) -> NotebookNode:
    notebook: NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return notebook
