"""Tests that run beside each other: each process in namespaces of its own, with a lab of its own."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

from redolab.project import PROJECT

_FETCHED = ("servers", "tools")
"""What a lab of tests takes over from the one in which it was fetched or built."""


@functools.cache
def folder_of_tests() -> Path:
    """Where the tests of this process have their lab and their runs.

    Tests that run beside each other are in namespaces of their own, without a network: each has a lab of its own.
    """
    folder = PROJECT.root / ".lab/tests"
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        return folder
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    own = folder / worker
    (own / "lab").mkdir(parents=True, exist_ok=True)
    for name in ("redolab-lab.txt", *_FETCHED):
        if not (own / "lab" / name).exists() and (folder / "lab" / name).exists():
            subprocess.run(["cp", "--archive", "--reflink=auto", folder / "lab" / name, own / "lab"], check=True)
    return own
