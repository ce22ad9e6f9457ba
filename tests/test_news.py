"""What is new: said by version, with the formats that this version writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab import __version__
from redolab.errors import LabError
from redolab.powercut.kept_cut import KEPT_CUT_FORMAT
from redolab.project import PROJECT
from redolab.records.crash import IMAGE_FORMAT
from redolab.runs.schema import RUN_FORMAT
from redolab.sizing.calibration import CALIBRATION_FORMAT
from redolab.sizing.trade import TRADE_FORMAT
from redolab.upkeep.changes import changes_in
from tests.command import redolab


def test_the_newest_version_is_this_one_and_says_its_formats() -> None:
    said = redolab("news")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith(f"## {__version__}\n")
    rows = [line.split("|")[1:3] for line in said.stdout.splitlines() if line.startswith("| ")]
    formats = {what.split("(")[0].strip(" `"): number.strip() for what, number in rows}
    assert {what: int(number) for what, number in formats.items() if number.isdigit()} == {
        "a run": RUN_FORMAT,
        "a calibration": CALIBRATION_FORMAT,
        "a crash image": IMAGE_FORMAT,
        "a power cut that was kept as evidence": KEPT_CUT_FORMAT,
        "provision/throughput.json": TRADE_FORMAT,
    }


def test_the_version_is_said_in_one_place() -> None:
    assert redolab("--version").stdout.startswith(f"redolab {__version__}, commit ")
    assert __version__ not in (PROJECT.root / "pyproject.toml").read_text()


def test_versions_are_told_apart_and_a_file_without_any_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "CHANGELOG.md"
    file.write_text("# Changes\n\n## 1.1.0\n\n* a\n\n## 1.0.0\n\n* b\n")
    assert changes_in(file) == ["## 1.1.0\n\n* a\n", "## 1.0.0\n\n* b\n"]
    file.write_text("# Changes\n")
    with pytest.raises(LabError, match="names no version"):
        changes_in(file)
    with pytest.raises(LabError, match="cannot be read"):
        changes_in(tmp_path / "gone.md")
