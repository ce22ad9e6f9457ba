"""Tables as Markdown has them."""

from __future__ import annotations

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
