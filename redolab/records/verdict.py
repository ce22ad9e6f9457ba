"""What a judge found of a recovered server: a record of its own, given after the trial, and given again when asked."""

from __future__ import annotations

from datetime import datetime

import msgspec

from redolab.runs.schema import Ruling
from redolab.workloads.data import TableCheck


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at in a recovered server, and what came of it."""

    image: str
    """The state that was recovered."""
    server: str
    version: str
    judged: datetime
    afresh: bool = False
    """Whether it is of another recovery of the state than the one that was timed."""
    thorough: bool
    """Whether all was looked at, and not a part of it."""
    ruling: Ruling
    checks: tuple[TableCheck, ...] = ()
    why: str = ""
    """Of one that is unknown: what kept the judge from it."""

    @property
    def failed_checks(self) -> tuple[TableCheck, ...]:
        """What is not as it must be."""
        return tuple(check for check in self.checks if not check.passed)
