"""One recovery, measured: how it ended, and when."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from redolab.errorlog import Phase, Timeline
from redolab.machine.facts import Copy, CpuUse, DeviceUse, Disturbance

BACK = 0.9
"""Of the mean before the crash: from then on throughput is back."""
WINDOW = 5.0
"""Seconds over which it is looked at: single seconds scatter."""


class WarmTime(msgspec.Struct, frozen=True, kw_only=True):
    """What clients met that were stopped at the crash and started anew at ready; times in seconds from the server's start."""

    commits_before: float
    """Commits a second: the mean before the crash."""
    new_orders_before: float | None = None
    clients_started: float
    first_commit: float | None
    """To the end of the first report with a transaction that succeeded; None if none did."""
    back: float | None
    """To the beginning of the first `WINDOW` seconds with `BACK` of the mean before; None if there were none.

    Not before the first transaction.
    """
    best_share: float
    """The best `WINDOW` seconds, as a share of the mean before."""
    followed: float
    """To the end of the last report that was read."""
    series: str = ""
    """The file of all reports in the run's folder."""


class Outcome(StrEnum):
    """How a recovery ended."""

    READY = "ready"
    STUCK = "stuck"
    """It ran on without getting on, until the lab ended it."""
    GAVE_UP = "gave up"
    """The server ended by itself before it was ready."""
    DIED = "died after ready"
    """The server ended by itself once it was ready, before it had taken a write and rolled back what it found open."""
    REFUSED = "refused"
    """The server was ready, and refused the first write."""
    NO_CRASH_RECOVERY = "no crash recovery"
    """The server was ready, and its log tells of no crash recovery: the state was none of a crash, or it was not noticed."""


class Repeated(msgspec.Struct, frozen=True, kw_only=True):
    """A message that a server wrote again and again."""

    text: str
    times: int


class Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a recovery that did not end in a server that is ready. Times in seconds from the start of the process."""

    phase: Phase
    percent: int | None
    """Of the phase, as the log last said."""
    progress_ended: float
    """When it last got on."""
    ended: float
    """When the lab ended it, or the server did."""
    status: int | None = None
    """The server's exit status (negative: the signal that ended it); None if it had not ended."""
    why: str = ""
    """What the server said, where that is no line of its log."""
    cpu_seconds: float | None = None
    """Processor time used after progress had ended."""
    device: DeviceUse | None = None
    """What the disk did after progress had ended."""
    repeated: tuple[Repeated, ...] = ()
    last_lines: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """As in `50 % of apply`."""
        return str(self.phase) if self.percent is None else f"{self.percent} % of {self.phase}"


DISTURBED_SHARE = 0.05
"""Of all processors: recoveries of one image differ by as much (docs/results/model.md)."""
DISTURBED = 0.2
"""Seconds, at least: the kernel counts in hundredths, and a machine at rest has some work too."""
STUCK_AFTER = 60.0
"""Seconds: the longest that any of 1,127 good recoveries was quiet is 6.1 s, slow disks included (docs/watching.md)."""


class RecoveryTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One recovery, measured. Times in seconds from the start of the server's process, sizes in bytes."""

    image: str
    server: str
    version: str
    storage: str
    log_size: int
    buffer_pool: int
    settings: str = ""
    """What was set beyond the lab's own settings (`redolab.servers.extra_settings`)."""
    repeat: int
    started: datetime
    copy: Copy
    cache_dropped: bool
    """Whether the operating system's page cache was emptied before: without root it is not."""
    outcome: Outcome = Outcome.READY
    seconds_to_ready: float | None
    """To the arrival of the line that says it takes connections; None, as what follows, if it never did.

    A server can die after that line: readers take `ready_s`.
    """
    first_connection: float | None
    first_write: float | None
    rollback_ended: float | None
    """None when there was nothing to roll back."""
    timeline: Timeline | None
    """None of a server that did not get so far as to tell of a recovery."""
    instance: str
    """The hash under which the run keeps the server's settings, and the variables of one that could be asked."""
    unfinished: Unfinished | None = None
    """What is known of a recovery that did not end in a server that is ready."""
    longest_quiet: float | None = None
    """The longest stretch without progress after which it got on again."""
    device: DeviceUse | None = None
    """What the block device under the storage did from the start to ready; None where it has none."""
    cpu: CpuUse | None = None
    """What the server used of the processors from its start to ready."""
    pages_read: int | None = None
    """Pages that the server had read from its files when it was recovered, before the first write; None after more than one
    batch, between which its count begins anew."""
    buffered: bool = False
    """Whether the disk model's file was read through the page cache, as its file system knows no other way."""
    late_share: float | None = None
    """How late a disk model answered, as a share of all its latencies; None on other storages."""
    lab_cpu_seconds: float | None = None
    """What the lab itself used of the processors meanwhile, from the start to ready: watching must not slow what it watches."""
    disturbance: Disturbance | None = None
    """What others took of the processors, from the start to ready; None where that was not looked at."""
    looked_at: bool = False
    """Whether its process was looked at meanwhile as `redolab follow` does: no model learns from it."""

    @property
    def ready_s(self) -> float | None:
        """Recovery time: seconds to ready of a recovery that ended well; None of any other, also if its log said ready."""
        return self.seconds_to_ready if self.outcome is Outcome.READY else None

    @property
    def is_disturbed(self) -> bool:
        """Whether others took so much of the processors that its time may not be the server's own."""
        if self.disturbance is None or self.seconds_to_ready is None:
            return False
        taken = self.disturbance.others + self.disturbance.steal
        cores = (self.cpu.cores if self.cpu is not None else None) or 1
        return taken > max(DISTURBED, DISTURBED_SHARE * cores * self.seconds_to_ready)


class WarmRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What the workload's clients met after a trial (a line of `warm.jsonl`)."""

    position: int
    """Of the step in the plan."""
    group: int
    attempt: int
    warm: WarmTime
