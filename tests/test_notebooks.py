"""The notebooks run from beginning to end on the committed data, assertions in their cells included, and become pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from redolab.project import PROJECT

FOLDER = PROJECT.root / "notebooks"
LARGEST = 500_000
"""Bytes: what a code host still shows."""
LOADED = re.compile(
    r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//|\bimport\(|@import|url\(["']?https?:"""
)
"""What a browser would fetch from elsewhere."""
NAMES = ["01-inflation", "02-recovery", "03-storage", "04-sizing", "07-logging"]


def executed(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(FOLDER / "execute.py"), *arguments],
        cwd=PROJECT.root, capture_output=True, text=True, check=False,
    )  # fmt: skip


def code_cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def texts(cell: dict[str, Any]) -> list[str]:
    """What a cell gave as text: the same wherever it is run, as pictures are not."""
    found = []
    for output in cell["outputs"]:
        assert output["output_type"] != "error"
        found.append("".join(output.get("text", output.get("data", {}).get("text/plain", ""))))
    return found


def test_they_are_committed_with_their_outputs_and_check_themselves() -> None:
    assert [path.stem for path in sorted(FOLDER.glob("*.ipynb"))] == NAMES
    for path in FOLDER.glob("*.ipynb"):
        cells = code_cells(path)
        assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1)), path
        assert any("assert " in "".join(cell["source"]) for cell in cells), path
        assert path.stat().st_size < LARGEST, path
        kinds = {kind for cell in cells for output in cell["outputs"] for kind in output.get("data", {})}
        assert {"image/png", "text/html"} <= kinds, path


def test_each_becomes_a_page_with_its_plot_and_its_outputs_are_those_committed(tmp_path: Path) -> None:
    done = executed(str(tmp_path), "--keep", str(tmp_path))
    assert done.returncode == 0, done.stderr
    for name in NAMES:
        page = (tmp_path / f"{name}.html").read_text()
        assert re.search(r'<img[^>]+src="data:image/png;base64,', page), name
        assert not LOADED.search(page), f"{name} loads something from elsewhere"
        now, committed = code_cells(tmp_path / f"{name}.ipynb"), code_cells(FOLDER / f"{name}.ipynb")
        again = f"{name} has other outputs: 'make notebooks KEEP=on'"
        assert list(map(texts, now)) == list(map(texts, committed)), again


@pytest.mark.thorough
def test_runs_of_ones_own_are_taken_and_what_they_lack_is_left_out(tmp_path: Path) -> None:
    done = executed(str(tmp_path), "--runs", str(PROJECT.root / "data/measured/model"))
    assert done.returncode == 0, done.stderr
    assert "01-inflation: left out" in done.stdout
    assert "data/measured/model" in (tmp_path / "02-recovery.html").read_text()


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = executed(str(tmp_path), "--runs", str(tmp_path / "nowhere"))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "there is no folder" in done.stderr


def test_outputs_are_kept_of_the_committed_runs_alone(tmp_path: Path) -> None:
    done = executed(str(tmp_path), "--runs", str(tmp_path), "--keep", str(tmp_path))
    assert done.returncode == 1
    assert "--keep is for the runs committed with the project" in done.stderr
