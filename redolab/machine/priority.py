"""Lowest priority, which leaves the CPUs to all other programs."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_LOWEST = 19


def give_way() -> None:
    """Run at the lowest priority from now on.

    Where Linux groups tasks by their session (`man 7 sched`, autogroup), nice counts only within the session. The
    priority of the session is therefore lowered as well, if this process leads it and it is not a person's shell.
    """
    os.nice(_LOWEST)
    if os.getsid(0) == os.getpid():
        with suppress(OSError):
            Path("/proc/self/autogroup").write_text(str(_LOWEST), encoding="ascii")
