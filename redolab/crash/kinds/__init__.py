"""The kinds of crash, a file each: how the server is struck, and how the crash state is collected.

`CRASH=` takes the name of a kind.
"""

from __future__ import annotations

from collections.abc import Mapping

from redolab.crash.kinds.contract import CrashKind
from redolab.crash.kinds.disk_power import DiskPower
from redolab.crash.kinds.freeze import Freeze
from redolab.crash.kinds.kill import Kill
from redolab.errors import InvalidInput

KINDS: Mapping[str, CrashKind] = {"kill": Kill(), "freeze": Freeze(), "disk-power": DiskPower()}
"""Name → the kind."""


def crash_kind(name: str) -> CrashKind:
    """Return the kind of crash of that name. Raises `InvalidInput`, which lists the kinds."""
    if name not in KINDS:
        raise InvalidInput(f"there is no kind of crash '{name}'", f"choose from {', '.join(KINDS)}")
    return KINDS[name]
