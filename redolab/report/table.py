"""Tables for people, on the terminal, as text and as Markdown; and their numbers for programs, as CSV and Parquet."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from redolab.report.numbers import NONE

R = TypeVar("R")
T = TypeVar("T")
_MOST_TURNED = 4
"""Most rows of a table that is shown with each row as a column."""
_ANY_WIDTH = 10_000
PAGE = 240
"""Most characters of a line if there is no terminal."""
SCREEN = 120
"""Most characters of a brief table's line."""


@dataclass(frozen=True)
class Column(Generic[R]):
    """A column: its heading, and the function from a row to the cell's text."""

    heading: str
    cell: Callable[[R], str]
    right: bool = False
    shared: Callable[[str], str] | None = None
    """Function from the common text of all cells to the words above the table that replace the column."""
    spare: bool = False
    """True to leave it out of a brief table that is too wide with it."""
    note: str = ""
    """Explanation that stands below a brief table only if the column is in it."""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table with its title, caption and notes."""

    title: str
    headings: Sequence[tuple[str, bool]]
    """Heading, and whether the column is right-aligned."""
    cells: Sequence[Sequence[str]]
    notes: Sequence[str]
    caption: str = ""
    """Values that all rows share."""

    @classmethod
    def of(cls, title: str, rows: Sequence[R], columns: Sequence[Column[R]], notes: Sequence[str]) -> ReportTable:
        """Return the table of these rows in these columns."""
        headings = [(column.heading, column.right) for column in columns]
        return cls(title, headings, [[column.cell(row) for column in columns] for row in rows], notes)

    @classmethod
    def brief(
        cls, title: str, rows: Sequence[R], columns: Sequence[Column[R]], notes: Sequence[str], widest: int = SCREEN
    ) -> ReportTable:
        """Return the table within `widest` characters: shared values go to the caption, and spare columns from the
        right.
        """
        shared = [
            column.shared(cell)
            for column in columns
            if column.shared is not None
            and _is_shared(rows, column)
            and (cell := column.cell(rows[0])) not in ("", NONE)
        ]
        kept = [column for column in columns if column.shared is None or not _is_shared(rows, column)]
        spare = [column for column in kept if column.spare]
        while True:
            explained = [*notes, *(column.note for column in kept if column.note)]
            table = replace(cls.of(title, rows, kept, explained), caption=" · ".join(part for part in shared if part))
            if not spare or table.width <= widest:
                return table
            kept.remove(spare.pop())

    @property
    def width(self) -> int:
        """Number of characters of its lines on a terminal that is wide enough."""
        return self._width(box.SIMPLE_HEAD)

    def show(self, console: Console) -> None:
        """Print the table; on a narrow terminal, each row as a column."""
        if self.caption:
            print_lines(console, self.caption)
        is_turned = self.width > console.width and len(self.cells) <= _MOST_TURNED
        console.print(self._turned() if is_turned else self._drawn(box.SIMPLE_HEAD))
        print_lines(console, *self.notes, style="dim")

    def as_text(self) -> str:
        """Return the table as plain text."""
        return self._written(box.ASCII2, "\n", PAGE)

    def as_markdown(self) -> str:
        """Return the table as Markdown."""
        # A row of Markdown must be one line, however long.
        return self._written(box.MARKDOWN, "\n\n", max(PAGE, self._width(box.MARKDOWN)))

    def _drawn(self, style: box.Box) -> Table:
        table = Table(box=style, show_edge=style is box.MARKDOWN, collapse_padding=style is box.SIMPLE_HEAD)
        for heading, right in self.headings:
            table.add_column(Text(heading), justify="right" if right else "left", overflow="fold")
        for row in self.cells:
            table.add_row(*map(Text, row))
        return table

    def _turned(self) -> Table:
        table = Table(box=box.SIMPLE, show_edge=False, show_header=False)
        for place in range(1 + len(self.cells)):
            table.add_column(justify="right" if place else "left", overflow="fold")
        for (heading, _), *cells in zip(self.headings, *self.cells, strict=True):
            table.add_row(Text(heading), *map(Text, cells))
        return table

    def _width(self, style: box.Box) -> int:
        return Console(width=_ANY_WIDTH).measure(self._drawn(style)).maximum

    def _written(self, style: box.Box, between: str, width: int) -> str:
        page = Console(
            file=io.StringIO(), width=width, color_system=None, markup=False, highlight=False, force_jupyter=False
        )
        with page.capture() as capture:
            page.print(self._drawn(style))
        lines = [line.strip() for line in capture.get().splitlines() if line.strip()]
        caption = [self.caption] if self.caption else []
        return between.join([*caption, "\n".join(lines), *self.notes]) + "\n"


def print_lines(console: Console, *lines: str, style: str | None = None) -> None:
    """Print lines as they are: without markup, and without line breaks where the terminal ends."""
    for line in lines:
        console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)


def _is_shared(rows: Sequence[R], column: Column[R]) -> bool:
    return len(rows) > 1 and len({column.cell(row) for row in rows}) == 1


def known(value: T | None, words: Callable[[T], str]) -> str:
    """Return a value in words, or a dash if it is not known."""
    return NONE if value is None else words(value)


def write_tables(folder: Path, name: str, answer: str, tables: Sequence[ReportTable]) -> None:
    """Write an answer and its tables into a run's folder as `NAME.txt` and `NAME.md`."""
    folder.joinpath(f"{name}.txt").write_text("\n".join([f"{answer}\n", *(table.as_text() for table in tables)]))
    folder.joinpath(f"{name}.md").write_text("\n".join([f"{answer}\n", *(table.as_markdown() for table in tables)]))


def write_rows(folder: Path, name: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Write the numbers behind a table into a run's folder as `NAME.csv` and `NAME.parquet`."""
    import polars

    frame = polars.DataFrame(rows, infer_schema_length=None)
    frame.write_csv(folder / f"{name}.csv")
    frame.write_parquet(folder / f"{name}.parquet")
