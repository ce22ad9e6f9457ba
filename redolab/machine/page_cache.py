"""Removal of files from the kernel's page cache."""

from __future__ import annotations

import os
from pathlib import Path

from redolab.machine.processes import Command, run, which

_DROP_CACHES = Path("/proc/sys/vm/drop_caches")


def drop_page_cache() -> bool:
    """Drop the page cache. Return False if the lab may not."""
    os.sync()
    try:
        _DROP_CACHES.write_text("3\n")
    except OSError:
        if which("sudo") is None:
            return False
        tee = Command(["sudo", "--non-interactive", "tee", str(_DROP_CACHES)], standard_input=b"3\n")
        return run(tee, check=False).status == 0
    return True
