"""The block that `redolab follow` draws on a terminal, again and again in one place."""

from __future__ import annotations

import re

import pytest

from redolab.watch.following.screen import Screen

ROWS = [("for", "5.88 s"), ("left", "17% of its time; ready in 28.0 s (11.3 s to 51.0 s), at 12:45:55")]


@pytest.mark.parametrize(("columns", "lines", "drawn"), [(80, 24, 3), (40, 24, 4), (80, 3, 2)])
def test_as_many_lines_are_erased_as_were_drawn(
    columns: int, lines: int, drawn: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values are wrapped to the terminal, and lines that it has no room for are left out."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", str(lines))
    screen = Screen()
    screen.draw("mysqld, process 27463", ROWS)
    said = capsys.readouterr().out
    assert said.count("\n") == drawn
    assert all(len(re.sub(r"\x1b\[\dm", "", line)) <= columns for line in said.splitlines())
    screen.erase()
    assert capsys.readouterr().out == f"\x1b[{drawn}A\r\x1b[J"
    screen.erase()
    assert not capsys.readouterr().out


def test_a_file_is_no_terminal() -> None:
    assert not Screen().is_terminal
