"""Columns of declared quantities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from redolab.report.quantities import Quantity, quantity_columns


@dataclass(frozen=True)
class Measured:
    name: str
    stall_s: Annotated[float | None, Quantity("stall", "ms", 1, 1000)]
    share: Annotated[float, Quantity("share", "%", 0, 100)] = 0.25


def test_a_column_shows_a_quantity_in_its_unit_and_places() -> None:
    def itself(row: Measured) -> Measured:
        return row

    stall, share = quantity_columns(Measured, itself)
    assert [each.heading for each in (stall, share)] == ["stall, ms", "share, %"]
    assert [stall.cell(Measured("a", seconds)) for seconds in (0.0123, None)] == ["12.3", "–"]
    assert share.cell(Measured("a", None)) == "25"
    assert [each.heading for each in quantity_columns(Measured, itself, ["share"])] == ["share, %"]
