"""Task of a recovery, and destinations of its records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from redolab.crash.records.crash import CrashImage
from redolab.crash.records.recovery import RecoveryTrial, WarmTime
from redolab.crash.records.verdict import Judgement
from redolab.errorlog.watch import STUCK_AFTER
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.extra_settings import settings_from
from redolab.servers.install import InstalledServer
from redolab.servers.instance import UsedInstance


@dataclass(frozen=True, slots=True)
class RecoveryTask:
    """A recovery to run: crash image, server, size of the buffer pool in bytes, and number of the repeat."""

    image: CrashImage
    server: InstalledServer
    pool: int
    repeat: int
    stuck_after: float = STUCK_AFTER
    """Seconds without progress after which it counts as stuck."""
    settings: str = ""
    """Settings beyond the lab's own (`redolab.servers.extra_settings`)."""
    turn: int = 1
    """Number of the next consistency check of this crash state: the first is the most thorough."""
    warm_for: float = 0.0
    """Seconds for which the workload's clients are followed at most, from ready; 0: they are not started."""
    looked_at: bool = False
    """True if the server's process is recorded as `redolab follow` reads it."""

    @property
    def request(self) -> InstanceRequest:
        """Return the properties of the recovering server."""
        return recovery_request(self.image, self.pool, self.settings)


def recovery_request(image: CrashImage, pool: int, settings: str) -> InstanceRequest:
    """Return the properties of a server that recovers an image with a pool of that many bytes and these settings."""
    overrides = settings_from(settings)
    return replace(image.spec.instance, purpose=Purpose.RECOVER, buffer_pool=pool, overrides=overrides)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Destinations of a recovery's records, which go to the disk as soon as they exist."""

    log: Path
    """Path of the error log."""
    evidence: Path
    """Folder of evidence: the data directory of a wrong recovery, or stacks and a script of a stuck one."""
    instance: Callable[[UsedInstance], str]
    """Function that keeps settings and variables, and returns the hash under which they are stored."""
    trial: Callable[[RecoveryTrial], None]
    """Function that keeps the measurement."""
    warm: Callable[[WarmTime], None]
    """Function that keeps the clients' experience after ready."""
    judgement: Callable[[Judgement], None]
    """Function that keeps the result of the consistency check."""

    @property
    def series(self) -> Path:
        """Return the path of the reports of the workload's clients after the recovery."""
        return self.log.with_suffix(".clients.csv")
