"""`python docs/terminal/make.py [RUN]`: draw what the terminal shows of an experiment as docs/terminal/recovery.svg.

Without RUN it makes one, `make experiment recovery LOGSIZE=1G`: three to six minutes, and no other database server on the
machine.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from redolab.runs.store import RunStore

_HERE = Path(__file__).parent
_CLONE = _HERE.parent.parent
_COLUMNS = 132
_FONTS_FROM_ELSEWHERE = re.compile(r"\s*@font-face \{\{.*?\}\}", re.DOTALL)


def output_of(*command: str) -> list[str]:
    """Return the lines that a command prints, run in the clone."""
    done = subprocess.run(command, cwd=_CLONE, check=True, capture_output=True, text=True)
    return done.stdout.replace(f"{_CLONE}/", "").rstrip().splitlines()


def svg_of(scenes: list[tuple[str, list[str]]]) -> str:
    """Return a terminal in which commands and what each printed follow one another, with nothing that a browser must fetch."""
    console = Console(record=True, width=_COLUMNS, file=io.StringIO())
    for command, lines in scenes:
        console.print(Text(f"$ {command}", style="bold"))
        for line in lines:
            console.print(Text(line, no_wrap=True, overflow="ellipsis"))
        console.print()
    template = _FONTS_FROM_ELSEWHERE.sub("", CONSOLE_SVG_FORMAT)
    return console.export_svg(title="redolab", code_format=template, unique_id="redolab")


def main() -> None:
    """Draw a run, made anew unless one is named."""
    if not sys.argv[1:]:
        output_of("make", "experiment", "recovery", "LOGSIZE=1G")
    run = RunStore().get(*(sys.argv[1:] or ["latest"]))
    shown = (run.folder / "table.txt").read_text().rstrip().splitlines()
    [log, *_] = sorted((run.folder / "logs").glob("*.log"))
    told = output_of(".venv/bin/redolab", "timeline", str(log.relative_to(_CLONE)))
    phases = next(place for place, line in enumerate(told) if line.strip().startswith("discover"))
    scenes = [
        ("make experiment recovery LOGSIZE=1G", ["…", *shown]),
        (f"redolab timeline {log.relative_to(_CLONE)}", [*told[:2], *told[phases:]]),
    ]
    (_HERE / "recovery.svg").write_text(svg_of(scenes))


if __name__ == "__main__":
    main()
