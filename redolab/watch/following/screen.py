"""Output of `redolab follow`: lines, or on a terminal a block that is drawn again in its place."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence

_DIM, _BOLD, _PLAIN = "\x1b[2m", "\x1b[1m", "\x1b[0m"
_NAMES = 6
"""Columns of the longest name of a row, and of the blanks behind it."""


class Screen:
    """Standard output."""

    def __init__(self) -> None:
        self.is_terminal = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        """True if a block can be drawn in place."""
        self._drawn = 0

    def say(self, text: str) -> None:
        """Write a line in place of the last block, at once: it may be for a program that waits for it."""
        self.erase()
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def draw(self, title: str, rows: Sequence[tuple[str, str]]) -> None:
        """Draw a block of names and values in place of the last one."""
        size = shutil.get_terminal_size()
        margin = " " * (_NAMES + 2)
        lines = [f"{margin}{_BOLD}{title[: size.columns - len(margin)]}{_PLAIN}"]
        for name, value in rows:
            first, *more = textwrap.wrap(value, max(1, size.columns - len(margin))) or [""]
            lines += [f"{_DIM}{name:>{_NAMES}}{_PLAIN}  {first}", *(f"{margin}{each}" for each in more)]
        # What scrolled away could not be drawn again.
        lines = lines[: size.lines - 1]
        self.say("\n".join(lines))
        self._drawn = len(lines)

    def erase(self) -> None:
        """Erase the last block."""
        if self._drawn:
            sys.stdout.write(f"\x1b[{self._drawn}A\r\x1b[J")
            sys.stdout.flush()
        self._drawn = 0
