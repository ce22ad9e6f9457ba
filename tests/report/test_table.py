"""Tables as Markdown has them."""

from __future__ import annotations

import pytest
from rich.console import Console

from redolab.report.table import Column, ReportTable


def test_what_looks_like_markup_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    columns = [Column[str]("device", lambda row: row), Column[str]("[b]size[/b]", lambda row: "[red]:smile:")]
    table = ReportTable.of("Disks", ["/dev/vda[/lab]"], columns, [])
    table.show(Console(width=100))
    for shown in (capsys.readouterr().out, table.as_text()):
        assert "/dev/vda[/lab]" in shown
        assert "[red]:smile:" in shown
        assert "[b]size[/b]" in shown


def test_a_column_that_is_left_out_is_not_explained() -> None:
    columns = [
        Column[str]("log", lambda row: row),
        Column[str]("CPU, us", lambda row: "12", spare=True, note="CPU: of a statement."),
    ]
    wide, narrow = (ReportTable.brief("Costs", ["one", "two"], columns, ["Lines."], widest) for widest in (100, 10))
    assert ("CPU, us", False) in wide.headings
    assert wide.notes == ["Lines.", "CPU: of a statement."]
    assert ("CPU, us", False) not in narrow.headings
    assert narrow.notes == ["Lines."]
