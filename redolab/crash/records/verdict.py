"""Consistency checks of a recovered server, in a record of their own: they follow the trial, and can be repeated."""

from __future__ import annotations

from datetime import datetime

import msgspec

from redolab.runs.schema import Ruling
from redolab.workloads.data import TableCheck


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """Consistency checks of a recovered server, and their result."""

    image: str
    """Name of the recovered image."""
    server: str
    version: str
    judged: datetime
    afresh: bool = False
    """True if the checks are of another recovery than the timed one."""
    thorough: bool
    """True if everything was checked, false for a part."""
    ruling: Ruling
    checks: tuple[TableCheck, ...] = ()
    why: str = ""
    """Reason why an unknown result could not be checked."""

    @property
    def failed_checks(self) -> tuple[TableCheck, ...]:
        """Checks that did not pass."""
        return tuple(check for check in self.checks if not check.passed)
