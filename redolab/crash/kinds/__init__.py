"""The kinds of crash, a file each: how the server is struck, and how what that leaves is brought home.

A kind is an object that is made anew for each crash; `CRASH=` takes its name.
"""

from __future__ import annotations

from collections.abc import Mapping

from redolab.crash.kinds.contract import CrashKind
from redolab.crash.kinds.disk_power import DiskPower
from redolab.crash.kinds.freeze import Freeze
from redolab.crash.kinds.kill import Kill
from redolab.errors import InvalidInput

KINDS: Mapping[str, type[CrashKind]] = {"kill": Kill, "freeze": Freeze, "disk-power": DiskPower}
"""Name → the kind."""


def crash_kind(name: str) -> CrashKind:
    """Return a crash of that kind. Raises `InvalidInput`, which lists the kinds."""
    if name not in KINDS:
        raise InvalidInput(f"there is no kind of crash '{name}'", f"choose from {', '.join(KINDS)}")
    return KINDS[name]()
