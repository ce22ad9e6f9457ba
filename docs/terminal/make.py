"""`python docs/terminal/make.py`: crash a server, and draw what the terminal shows as docs/terminal/recovery.svg.

It takes what `make experiment recovery LOGSIZE=1G` takes: three to six minutes, and no other database server on the machine.
"""

from __future__ import annotations

import io
import re
import subprocess
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from redolab.runs.store import RunStore

_HERE = Path(__file__).parent
_CLONE = _HERE.parent.parent
_COLUMNS, _LINES = 112, 12
_FONTS_FROM_ELSEWHERE = re.compile(r"\s*@font-face \{\{.*?\}\}", re.DOTALL)


def output_of(*command: str) -> list[str]:
    """Return the lines that a command prints, run in the clone."""
    done = subprocess.run(command, cwd=_CLONE, check=True, capture_output=True, text=True)
    return done.stdout.rstrip().splitlines()


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
    """Run the commands of README's picture, and write it."""
    measured = output_of("make", "experiment", "recovery", "LOGSIZE=1G")
    [log, *_] = sorted((RunStore().get("latest").folder / "logs").glob("*.log"))
    told = output_of(".venv/bin/redolab", "timeline", str(log.relative_to(_CLONE)))
    scenes = [
        ("make experiment recovery LOGSIZE=1G", ["…", *measured[-_LINES:]]),
        ("redolab timeline data/runs/latest/logs/*.log", told),
    ]
    (_HERE / "recovery.svg").write_text(svg_of(scenes))


if __name__ == "__main__":
    main()
