"""The notebooks run from beginning to end on the committed data, assertions in their cells included, and become pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from redolab.project import PROJECT

FOLDER = PROJECT.root / "notebooks"
NAMES = ["01-inflation", "02-recovery", "03-storage", "04-sizing"]


def executed(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(FOLDER / "execute.py"), *arguments],
        cwd=PROJECT.root, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_they_are_committed_without_outputs_and_check_themselves() -> None:
    assert [path.stem for path in sorted(FOLDER.glob("*.ipynb"))] == NAMES
    for path in FOLDER.glob("*.ipynb"):
        cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
        assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells), path
        assert any("assert " in "".join(cell["source"]) for cell in cells), path


def test_each_becomes_a_page_with_its_plot(tmp_path: Path) -> None:
    done = executed(str(tmp_path))
    assert done.returncode == 0, done.stderr
    for name in NAMES:
        assert re.search(r'<img[^>]+src="data:image/png;base64,', (tmp_path / f"{name}.html").read_text()), name


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
