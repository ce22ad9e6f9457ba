"""A folder that holds little, for tests of what a full disk does."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """While in it: a new folder that holds no more than `size`. Skips the test without root."""
    folder.mkdir()
    options = f"size={size},mode=0755"
    if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=False).returncode != 0:
        pytest.skip("only root may mount")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)
