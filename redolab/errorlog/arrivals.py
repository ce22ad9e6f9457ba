"""Arrivals of a log's lines, kept beside it by the lab: some servers stamp their lines late or by whole seconds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from redolab.errorlog.files import read_log
from redolab.lines import Line

_ENDING = ".arrivals"


def arrivals_of(log: Path) -> Path:
    """Return the file of a log's arrivals: a line for each line, in seconds from the start of the server."""
    return log.with_name(log.name + _ENDING)


def read_stamped_log(log: Path) -> Iterator[Line]:
    """Yield all lines of a log that the lab saw arriving, each with its arrival; without arrivals, as `read_log`."""
    if not arrivals_of(log).exists():
        yield from read_log(log)
        return
    with (
        log.open(encoding="utf-8", errors="replace", newline="\n") as lines,
        arrivals_of(log).open(encoding="utf-8") as stamps,
    ):
        for line, stamp in itertools.zip_longest(lines, stamps):
            if line is None:
                return
            # Lines that the lab added have no arrival, and the last arrival can be torn.
            arrived = stamp is not None and stamp.endswith("\n") and stamp != "\n"
            yield Line(line.rstrip("\n"), float(stamp) if stamp and arrived else None)
