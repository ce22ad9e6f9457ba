"""The phases of a recovery."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """The phases of a recovery, in their order; the package's docstring says where each begins and ends."""

    DISCOVER = "discover"
    SCAN = "scan"
    APPLY = "apply"
    OPEN = "open"
    ACCEPT = "accept"
    ROLLBACK = "rollback"
