"""CHANGELOG.md: the formats that this version writes, and one place for its number."""

from __future__ import annotations

from redolab import __version__
from redolab.crash.records.crash import IMAGE_FORMAT
from redolab.powercut.kept_cut import KEPT_CUT_FORMAT
from redolab.predict.calibration import CALIBRATION_FORMAT
from redolab.project import PROJECT
from redolab.runs.schema import RUN_FORMAT
from tests.command import redolab


def test_the_changes_of_this_version_name_its_formats() -> None:
    newest = (PROJECT.root / "CHANGELOG.md").read_text().split("\n## ")[1]
    assert newest.startswith(f"{__version__}\n")
    rows = [line.split("|")[1:3] for line in newest.splitlines() if line.startswith("| ")]
    formats = {what.split("(")[0].strip(" `"): number.strip() for what, number in rows}
    assert {what: int(number) for what, number in formats.items() if number.isdigit()} == {
        "a run": RUN_FORMAT,
        "a calibration": CALIBRATION_FORMAT,
        "a crash image": IMAGE_FORMAT,
        "a power cut that was kept as evidence": KEPT_CUT_FORMAT,
    }


def test_the_version_is_said_in_one_place() -> None:
    assert redolab("--version").stdout.startswith(f"redolab {__version__}, commit ")
    assert __version__ not in (PROJECT.root / "pyproject.toml").read_text()
