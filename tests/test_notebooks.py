"""The notebooks run from beginning to end on the committed data, assertions in their cells included."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from redolab.project import PROJECT

NOTEBOOKS = sorted((PROJECT.root / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_is_committed_without_outputs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    mpl.use("Agg")
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells)
    assert any("assert " in "".join(cell["source"]) for cell in cells)
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), path.name, "exec"), names)
    plt.close("all")


def test_there_is_one_for_each_question() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["01-inflation", "02-recovery", "03-storage", "04-sizing"]
