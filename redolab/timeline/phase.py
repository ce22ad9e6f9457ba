"""The phases of a recovery."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Phase(StrEnum):
    """The phases of a recovery, in their order; the package's docstring says where each begins and ends."""

    __hash__ = str.__hash__

    DISCOVER = "discover"
    SCAN = "scan"
    APPLY = "apply"
    OPEN = "open"
    ACCEPT = "accept"
    ROLLBACK = "rollback"


class PhaseTime(msgspec.Struct, frozen=True):
    """How long a phase took: `seconds`, or None and in `why` the reason in words."""

    phase: Phase
    seconds: float | None
    why: str | None
