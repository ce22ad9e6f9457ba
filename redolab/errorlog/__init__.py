"""Recoveries and their phases, from error logs of MySQL and Percona Server 5.0 to 9.7 and MariaDB 5.5 to 11.8.

docs/recovery.md says where each phase begins and ends, docs/timeline.md what each server's log leaves blank, and why. A
phase that the log cannot time is None with the reason; what such phases took together stands in the notes. A start of
MySQL without InnoDB's notes is a recovery where what it writes at every verbosity proves the crash, else an
`UndecidedStart`. Nothing here touches a file: `redolab.errorlog.files` reads them.
"""

from redolab.errorlog.kinds import Event, Phase
from redolab.errorlog.phases import BINARY_LOG_PART
from redolab.errorlog.reader import events, starts, timelines
from redolab.errorlog.timeline import FoundStart, PhasePart, PhaseTime, Timeline, UndecidedStart, as_json

__all__ = [
    "BINARY_LOG_PART",
    "Event",
    "FoundStart",
    "Phase",
    "PhasePart",
    "PhaseTime",
    "Timeline",
    "UndecidedStart",
    "as_json",
    "events",
    "starts",
    "timelines",
]
