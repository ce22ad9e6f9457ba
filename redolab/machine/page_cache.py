"""Forgetting what the kernel has cached of files."""

from __future__ import annotations

import os
from pathlib import Path

from redolab.machine.processes import Command, run, which

_DROP_CACHES = Path("/proc/sys/vm/drop_caches")


def drop_page_cache() -> bool:
    """Forget what the operating system has cached of files; False if the lab may not."""
    os.sync()
    try:
        _DROP_CACHES.write_text("3\n")
    except OSError:
        if which("sudo") is None:
            return False
        tee = Command(["sudo", "--non-interactive", "tee", str(_DROP_CACHES)], standard_input=b"3\n")
        return run(tee, check=False).status == 0
    return True
