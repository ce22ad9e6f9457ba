"""Programs of the distribution around Prometheus, unpacked beside the tests' lab: their packages would start services."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.errors import LabError
from redolab.machine import files
from redolab.machine.apt import PrivateApt, codename
from redolab.project import PROJECT

_FOLDER = PROJECT.root / ".lab/tests"


def unpacked(program: str, package: str = "prometheus") -> Path:
    """A program of a package, as `promtool` of `prometheus`. Skips the test where the distribution has none to be had."""
    folder = _FOLDER / package
    found = folder / "usr/bin" / program
    if not found.exists():
        making = folder.with_name(f"{package}.partial")
        files.remove(making)
        try:
            PrivateApt.prepare(making / "apt", codename()).unpack([package], making / "root")
        except LabError as error:
            pytest.skip(f"no {package}: {error.problem}")
        files.move(making / "root", folder)
        files.remove(making)
    return found
