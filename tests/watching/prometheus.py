"""A real Prometheus of the distribution's, unpacked beside the tests' lab: its package would start a service."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.errors import LabError
from redolab.machine import files
from redolab.machine.apt import PrivateApt, codename
from redolab.project import PROJECT

_FOLDER = PROJECT.root / ".lab/tests/prometheus"


def unpacked(program: str) -> Path:
    """`prometheus` or `promtool`. Skips the test where the distribution has none to be had."""
    found = _FOLDER / "usr/bin" / program
    if not found.exists():
        making = _FOLDER.with_name("prometheus.partial")
        files.remove(making)
        try:
            PrivateApt.prepare(making / "apt", codename()).unpack(["prometheus"], making / "root")
        except LabError as error:
            pytest.skip(f"no Prometheus: {error.problem}")
        files.move(making / "root", _FOLDER)
        files.remove(making)
    return found
