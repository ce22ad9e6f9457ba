"""Long commands of other programs, their lines shown beside the stage they are part of."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

from redolab.errors import LabError
from redolab.machine import processes
from redolab.machine.processes import Command
from redolab.progress import Stage

_WIDTH = 70
_LAST_LINES = 8
_IN_RUBY = re.compile(r"\s+from /")
_TO_CLEAN_UP = 60.0
_PREFIX = re.compile(r"^(\s*(==>|\S+:)\s)+")
"""What Vagrant puts before each of its lines."""


def watch(command: Command, log: Path, stage: Stage, seconds: float, failed: str) -> None:
    """Run a command to its end; what it says goes to `log`. Interrupted, it is too. Raises `LabError` with its last words."""
    process = processes.start(command, log)
    deadline = time.monotonic() + seconds
    try:
        for line in process.lines(deadline):
            stage.say(_PREFIX.sub("", line.text).strip()[:_WIDTH])
        status = process.wait(max(0.0, deadline - time.monotonic()))
    finally:
        process.stop(signal.SIGINT, _TO_CLEAN_UP)
    if status != 0:
        why = "it took too long" if status is None else f"status {status}"
        raise LabError(f"{failed} ({why})", f"all it said is in {log}", details=_last(log))


def _last(log: Path) -> list[str]:
    """The last lines that say something: of what was written over itself the end, and not where in Ruby it was."""
    said = [line.rpartition("\r")[2].rstrip() for line in log.read_text(errors="replace").split("\n")]
    return [line for line in said if line.strip() and not _IN_RUBY.match(line)][-_LAST_LINES:]
