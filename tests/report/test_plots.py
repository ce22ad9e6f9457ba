"""Titles of pictures."""

from __future__ import annotations

import pytest

from redolab.report.plots import wrapped


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("from 256M to 1G: +4 s recovery", ["from 256M to 1G:", "+4 s recovery"]),
        ("ready after all of 12 min 30 s", ["ready after all of", "12 min 30 s"]),
        ("checkpoint age is 75 % of it", ["checkpoint age is", "75 % of it"]),
        ("the 4 servers that are oldest", ["the 4 servers that", "are oldest"]),
    ],
)
def test_a_number_and_its_unit_stay_on_one_line(text: str, lines: list[str]) -> None:
    assert wrapped(text, 18) == lines
