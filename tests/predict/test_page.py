"""The report's page is read in a browser: names from runs and calibrations are text in it, and nothing else."""

from __future__ import annotations

from pathlib import Path

import msgspec

from redolab.predict.page import html_page
from redolab.report.table import ReportTable
from tests.predict.examples import calibration

SCRIPT = "<img/src=x/onerror=alert(1)>"
COMMENT = "<!--<script>"


def test_what_a_run_calls_itself_is_text(tmp_path: Path) -> None:
    given = calibration()
    storage = next(iter(given.storages.values()))
    servers = {
        name: msgspec.structs.replace(each, version=f"{each.version}-{SCRIPT}") for name, each in given.servers.items()
    }
    storages = {**given.storages, SCRIPT: msgspec.structs.replace(storage, about=COMMENT)}
    hostile = msgspec.structs.replace(given, servers=servers, storages=storages)
    (tmp_path / "plot.svg").write_text("<svg/>")
    page = tmp_path / "results.md"
    page.write_text(f"# {SCRIPT}\n\n**An answer {SCRIPT}.**\n\n![plot](plot.svg)\n")
    table = ReportTable("published", [("server", False)], [[SCRIPT]], [SCRIPT])
    made = html_page(hostile, [], [page], table)
    # Also the one in the calculator's data, inside a script element, which a comment and a tag would leave open.
    assert SCRIPT not in made
    assert COMMENT not in made
    assert "onerror" in made


def test_errors_are_of_the_calibration_that_comes_with_redolab() -> None:
    table = ReportTable("published", [("server", False)], [["one"]], [])
    own, shipped = (html_page(calibration(), [], [], table, is_shipped=is_shipped) for is_shipped in (False, True))
    assert own != shipped
    # Whoever has a calibration of his own is not advised to make one.
    assert ["<code>make experiment calibrate</code>" in page for page in (own, shipped)] == [False, True]
