"""The kinds of crash, a file each: how the server is struck, and how the crash state is collected.

`CRASH=` takes the name of a kind.
"""

from __future__ import annotations

from collections.abc import Mapping

from redolab.crash.kinds.contract import CrashKind
from redolab.crash.kinds.disk_power import DiskPower
from redolab.crash.kinds.freeze import Freeze
from redolab.crash.kinds.kill import Kill

KINDS: Mapping[str, CrashKind] = {"kill": Kill(), "freeze": Freeze(), "disk-power": DiskPower()}
"""Name → the kind."""
