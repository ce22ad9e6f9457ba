"""Which lines of a log show that a recovery gets on: its events, percents and LSNs. All else can be said without end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from redolab.lines import Line
from redolab.timeline.events import Event, event_in
from redolab.timeline.phase import Phase
from redolab.timeline.stamps import records

_GETS_ON = re.compile(
    r"\d\s?%|Progress in percent|\bLSN\b|\blsn\b|log sequence number|rows? (?:operations )?to undo|trx with id"
)
_PERCENT = re.compile(r"(\d{1,3})\s?%")
_BEGINS = {
    Event.CHECKPOINT: Phase.DISCOVER,
    Event.PROGRESSED: Phase.SCAN,
    Event.NOT_SHUT_DOWN: Phase.SCAN,
    Event.CRASH_RECOVERY: Phase.SCAN,
    Event.FROM_CHECKPOINT: Phase.SCAN,
    Event.SCANNED: Phase.SCAN,
    Event.PARSED: Phase.SCAN,
    Event.BATCH: Phase.APPLY,
    Event.TO_RECOVER: Phase.APPLY,
    Event.AFTER_APPLY: Phase.OPEN,
    Event.OPENED: Phase.ACCEPT,
    Event.READY: Phase.ROLLBACK,
}
"""Event → the phase in which a server is that has told nothing later."""


def progress_in(line: str) -> str | None:
    """What a line of a log says of progress, without its stamp; None for what a server that is stuck can say too."""
    for record in records(line):
        known = event_in(record.text)
        if known is not None and known.event is Event.NO_FREE_BLOCK:
            continue
        if known is not None or _GETS_ON.search(record.text):
            return record.text
    return None


@dataclass(frozen=True, slots=True)
class RecoveryProgress:
    """How far a recovery has come: in which phase, and which percent of it, where the log tells one."""

    phase: Phase = Phase.DISCOVER
    percent: int | None = None

    def __str__(self) -> str:
        return str(self.phase) if self.percent is None else f"{self.percent} % of {self.phase}"


def standing(lines: Iterable[Line]) -> RecoveryProgress:
    """How far the recovery has come of which these lines tell."""
    stands = RecoveryProgress()
    for line in lines:
        for record in records(line.text):
            known = event_in(record.text)
            phase = None if known is None else _BEGINS.get(known.event)
            if phase is not None:
                stands = RecoveryProgress(phase)
            elif (percent := _PERCENT.search(record.text)) is not None:
                stands = RecoveryProgress(stands.phase, int(percent[1]))
    return stands
