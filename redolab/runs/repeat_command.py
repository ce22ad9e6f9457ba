"""How a run was asked for: the command that does it again."""

from __future__ import annotations

import re
from collections.abc import Sequence

from redolab.runs.factors import CommonFactors
from redolab.runs.store import Run
from redolab.units import MIB, format_size, parse_size

_SMALLEST_SIZE = MIB
"""No number from here on counts anything but bytes."""


def command(run: Run, defaults: CommonFactors, always: Sequence[str] = ()) -> str:
    """As in `make experiment throughput SERVER=mysql-9 LOGSIZE=256M,1G`: what is not the default, and `always` these factors.

    `defaults`: the factors of its experiment as they are where nothing is asked.
    """
    record = run.record()
    usual = defaults.in_words()
    asked = {
        name: value
        for name, value in record.options.items()
        if name in always or (name != "seed" and usual.get(name) != value)
    }
    variables = [
        f"{name.replace('_', '').upper()}={_as_written(asked[name])}"
        for name in (*(each for each in always if each in asked), *(each for each in asked if each not in always))
    ]
    return " ".join([f"make experiment {record.experiment}", *variables])


def _as_written(value: str) -> str:
    """Bytes and seconds, which is how a run keeps sizes and times, as people write them."""
    return ",".join(_one(part) for part in value.split(","))


def _one(value: str) -> str:
    if re.fullmatch(r"\d+\.\d+", value):
        return f"{float(value):g}s"
    if not value.isdigit() or int(value) < _SMALLEST_SIZE:
        return value
    written = format_size(int(value))
    return written if parse_size(written) == int(value) else value
