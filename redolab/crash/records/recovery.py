"""One measured recovery: its outcome and its times."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from redolab.errorlog import Phase, Timeline
from redolab.errorlog.collapse import Repetition
from redolab.machine.facts import Copy, CpuUse, DeviceUse, Disturbance

BACK = 0.9
"""Share of the mean throughput before the crash that counts as back."""
WINDOW = 5.0
"""Seconds over which throughput is averaged: single seconds scatter."""


class WarmTime(msgspec.Struct, frozen=True, kw_only=True):
    """Return of the clients that were stopped at the crash and restarted at ready; seconds from the server's start."""

    commits_before: float
    """Mean commits a second before the crash."""
    new_orders_before: float | None = None
    clients_started: float
    first_commit: float | None
    """Seconds to the end of the first report with a successful transaction; None without one."""
    back: float | None
    """Seconds to the first `WINDOW` with `BACK` of the mean before, after the first transaction; None without one."""
    best_share: float
    """Throughput of the best `WINDOW` seconds, as a share of the mean before."""
    followed: float
    """Seconds to the end of the last report that was read."""
    series: str = ""
    """File of all reports in the run's folder."""


class Outcome(StrEnum):
    """Outcome of a recovery."""

    READY = "ready"
    STUCK = "stuck"
    """The recovery ran without progress until the lab ended it."""
    GAVE_UP = "gave up"
    """The server ended before it was ready."""
    DIED = "died after ready"
    """The server ended after it was ready, before it had taken a write and rolled back open transactions."""
    REFUSED = "refused"
    """The server was ready, and refused the first write."""
    NO_CRASH_RECOVERY = "no crash recovery"
    """The server was ready, and its log shows no crash recovery: the image is of no crash, or the server missed it."""


class Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    """State of a recovery that did not end in a ready server. Times in seconds from the start of the process."""

    phase: Phase
    percent: int | None
    """Percent of the phase, by the log's last line about it."""
    progress_ended: float
    """Seconds at the last progress."""
    ended: float
    """Seconds at which the lab ended it, or the server did."""
    status: int | None = None
    """Exit status of the server (negative: the signal that ended it); None if it had not ended."""
    why: str = ""
    """The server's message, if it is not in its log."""
    cpu_seconds: float | None = None
    """Seconds of CPU used after the last progress."""
    device: DeviceUse | None = None
    """Use of the disk after the last progress."""
    repeated: tuple[Repetition, ...] = ()
    last_lines: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """Phase with its percent, as in `50 % of apply`."""
        return str(self.phase) if self.percent is None else f"{self.percent} % of {self.phase}"


DISTURBED_SHARE = 0.05
"""Share of all CPUs: recoveries of one image differ by as much (docs/results/model.md)."""
DISTURBED = 0.2
"""Least seconds of CPU: the kernel counts in hundredths, and an idle machine does some work too."""


class RecoveryTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One recovery, measured. Times in seconds from the start of the server's process, sizes in bytes."""

    image: str
    server: str
    version: str
    storage: str
    log_size: int
    buffer_pool: int
    settings: str = ""
    """Settings beyond the lab's own (`redolab.servers.extra_settings`)."""
    repeat: int
    started: datetime
    copy: Copy
    cache_dropped: bool
    """True if the page cache was dropped before the start, which needs root."""
    outcome: Outcome = Outcome.READY
    seconds_to_ready: float | None
    """Seconds to the log line that announces connections; None, like the next fields, if it never came.

    A server can die after that line: use `ready_s`.
    """
    first_connection: float | None
    first_write: float | None
    rollback_ended: float | None
    """Seconds to the end of rollback; None if there was nothing to roll back."""
    timeline: Timeline | None
    """Phases by the log; None if the server ended before it wrote about recovery."""
    instance: str
    """Hash under which the run keeps the server's settings, and its variables if it could be asked."""
    unfinished: Unfinished | None = None
    """State of a recovery that did not end in a ready server."""
    longest_quiet: float | None = None
    """Longest seconds without progress, before there was progress again."""
    device: DeviceUse | None = None
    """Use of the block device from start to ready; None if the storage has none."""
    cpu: CpuUse | None = None
    """Use of the CPUs by the server from start to ready."""
    peak_memory: int | None = None
    """Most memory that the server had resident until ready, or until it was ended (VmHWM); None before the lab looked."""
    pages_read: int | None = None
    """Pages that the server had read from its files before the first write.

    None after more than one batch, since its counter restarts with each.
    """
    buffered: bool = False
    """True if the disk model's file was read through the page cache, because its file system has no direct I/O."""
    late_share: float | None = None
    """Delay of a disk model's answers, as a share of all its latencies; None on other storages."""
    lab_cpu_seconds: float | None = None
    """Seconds of CPU that the lab used from start to ready: watching must not slow the recovery."""
    disturbance: Disturbance | None = None
    """CPU time that others used from start to ready; None if unknown."""
    looked_at: bool = False
    """True if its process was probed meanwhile as `redolab follow` does; models are not trained on it."""

    @property
    def ready_s(self) -> float | None:
        """Recovery time in seconds of a recovery that ended well; None for any other, even if its log said ready."""
        return self.seconds_to_ready if self.outcome is Outcome.READY else None

    @property
    def is_disturbed(self) -> bool:
        """True if others used so much of the CPUs that they may have slowed the recovery."""
        if self.disturbance is None or self.seconds_to_ready is None:
            return False
        taken = self.disturbance.others + self.disturbance.steal
        cores = (self.cpu.cores if self.cpu is not None else None) or 1
        return taken > max(DISTURBED, DISTURBED_SHARE * cores * self.seconds_to_ready)


class WarmRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Return of the workload's clients after a trial (a line of `warm.jsonl`)."""

    position: int
    """Index of the step in the plan."""
    group: int
    attempt: int
    warm: WarmTime
