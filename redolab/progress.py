"""Progress of a run: one line a stage, with a bar where the progress can be measured.

On a terminal the line is live; anywhere else each stage is one line when it begins and one when it ends.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as RichProgress

from redolab.units import format_duration


class Stage:
    """One stage of the lab's work; `say` and `advance` change its line."""

    def __init__(self, bars: RichProgress | None, title: str) -> None:
        self._bars = bars
        self._task = bars.add_task(title, total=None, detail="") if bars else None
        self.outcome = ""

    def advance(self, done: float, total: float, detail: str) -> None:
        """Show how far the stage is (`done` of `total`, in one unit) and a few words beside the bar."""
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, completed=min(done, total), total=total, detail=detail)

    def say(self, detail: str) -> None:
        """Show a few words about the stage."""
        if self._bars is not None and self._task is not None:
            self._bars.update(self._task, detail=detail)


class Progress:
    """The stages of a run, shown on `console`; `seconds` adds up the time that each kind of stage took."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def stage(self, title: str, kind: str = "lab", *, brief: bool = False) -> Iterator[Stage]:
        """Show a stage named `title` until the block ends. Add its duration to `seconds[kind]`.

        A `brief` stage that ends in order leaves no line: it is one of many.
        """
        began = time.monotonic()
        stage = None
        ended = "interrupted"
        try:
            if self.console.is_terminal:
                columns = (
                    SpinnerColumn(),
                    TextColumn("{task.description}", markup=False),
                    BarColumn(32),
                    TextColumn("{task.fields[detail]}", markup=False),
                )
                with RichProgress(*columns, console=self.console, transient=True) as bars:
                    stage = Stage(bars, title)
                    yield stage
            else:
                if not brief:
                    self.console.print(f"… {escape(title)}", highlight=False, soft_wrap=True)
                stage = Stage(None, title)
                yield stage
            ended = stage.outcome
        finally:
            took = time.monotonic() - began
            self.seconds[kind] += took
            outcome = f": {ended}" if ended else ""
            if not brief or ended == "interrupted":
                self.console.print(
                    f"[dim]{format_duration(took):>12}[/]  {escape(title + outcome)}", highlight=False, soft_wrap=True
                )

    def note(self, text: str) -> None:
        """Print one line for the person who watches."""
        self.console.print(f"[dim]{'':>12}[/]  {escape(text)}", highlight=False, soft_wrap=True)
