"""Tables as Markdown has them."""

from __future__ import annotations

import pytest
from rich.console import Console

from redolab.report.table import Column, ReportTable


def test_a_wide_table_has_one_head_and_each_row_one_line() -> None:
    columns = [
        Column[str](f"what is told in column {place}, in units of it", lambda row: f"{row} and more of it")
        for place in range(12)
    ]
    table = ReportTable.of("Wide", ["one", "two"], columns, [])
    head, line, *rows = table.as_markdown().splitlines()
    assert len(head) > 240
    assert all(f"column {place}, in units of it" in head for place in range(12))
    assert set(line) <= set("|- ")
    assert [row.count("and more of it") for row in rows] == [12, 12]


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
