"""Tests that run beside each other: each process in namespaces of its own, with a lab of its own."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

from redolab.project import PROJECT

_FETCHED = ("redolab-lab.txt", "servers/*", "tools/*")
"""What a lab of tests takes over from the one in which it was fetched or built."""
_HALF_MADE = ".partial"


@functools.cache
def folder_of_tests() -> Path:
    """Return where the tests of this process have their lab and their runs.

    Tests that run beside each other are in namespaces of their own, without a network: each has a lab of its own.
    """
    folder = PROJECT.root / ".lab/tests"
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        return folder
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    own = folder / worker
    (own / "lab").mkdir(parents=True, exist_ok=True)
    for fetched in (each for pattern in _FETCHED for each in (folder / "lab").glob(pattern)):
        to = own / fetched.relative_to(folder)
        if not to.exists() and fetched.suffix != _HALF_MADE:
            to.parent.mkdir(parents=True, exist_ok=True)
            # Links to the same files: nobody writes into them, and copies of all servers take gigabytes.
            subprocess.run(["cp", "--archive", "--link", fetched, to], check=True)
    return own
