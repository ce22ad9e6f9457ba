"""Recoveries and their phases, from error logs of MySQL and Percona Server 5.0 to 9.7 and MariaDB 5.5 to
11.8.

The phases, in seconds, one beginning where the one before ends:

discover
    from the first line of the server's start to the line that shows that it must recover: "Log scan
    progressed past the checkpoint", "Database was not shutdown normally!", "Starting crash recovery from
    checkpoint". 5.7 prints the second only after the scan, so that there only the first counts.
scan
    to the first apply batch, or where nothing is applied to the last line of the scan. MySQL and Percona
    apply batches in the middle of the scan when their memory for parsed redo is full: scan and apply are then
    the sums of their turns.
apply
    to the line that says that the (last) batch is completed; MariaDB has none, so there it is the first line
    of what follows. With more than one batch MariaDB to 10.5 scans on between them, so that neither phase can
    be timed; later versions read the redo again between batches without saying when: all of that is apply.
open
    to "started; log sequence number", the end of InnoDB's own start.
accept
    to "ready for connections".
rollback
    from ready to "Rollback of non-prepared transactions completed", where that comes later. The rollback
    itself usually began earlier, or was over by then (5.5): `rollback_start` and `rollback_seconds` are its
    own.

The first five add up to `seconds_to_ready`, and with rollback to `seconds`. A phase that the log cannot time
is None with the reason; what such phases took together stands in the notes. Parts lie within a phase
(`redolab.errorlog.phases`). A start of MySQL without InnoDB's notes is a recovery where what it writes at every
verbosity proves the crash, else an `UndecidedStart`. Nothing here touches a file:
`redolab.errorlog.files` reads them.
"""

from redolab.errorlog.kinds import Event, Phase
from redolab.errorlog.reader import events, starts, timelines
from redolab.errorlog.timeline import FoundStart, PhasePart, PhaseTime, Timeline, UndecidedStart, as_json, to_json

__all__ = [
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
    "to_json",
]
