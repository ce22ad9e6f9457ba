"""A recovery as it is to be done, and where what it leaves goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from redolab.records.crash import CrashImage
from redolab.records.recovery import STUCK_AFTER, RecoveryTrial, WarmTime
from redolab.records.verdict import Judgement
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.extra_settings import settings_from
from redolab.servers.install import InstalledServer
from redolab.servers.instance import UsedInstance


@dataclass(frozen=True, slots=True)
class RecoveryTask:
    """One recovery: of what, by whom, with which buffer pool in bytes, and which of its repeats."""

    image: CrashImage
    server: InstalledServer
    pool: int
    repeat: int
    stuck_after: float = STUCK_AFTER
    """Seconds without progress after which it counts as stuck."""
    settings: str = ""
    """What is set beyond the lab's own settings (`redolab.servers.extra_settings`)."""
    turn: int = 1
    """Which of the judgements of this state is to come: the first is the most thorough."""
    warm_for: float = 0.0
    """Seconds for which the workload's clients are followed at most, from ready; 0: they are not started."""
    looked_at: bool = False
    """Whether its server is looked at as `redolab follow` does."""

    @property
    def request(self) -> InstanceRequest:
        """What the recovering server is to be like."""
        asked = settings_from(self.settings)
        return replace(self.image.spec.instance, purpose=Purpose.RECOVER, buffer_pool=self.pool, overrides=asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Where what is left of a recovery goes: each on the disk as soon as it is known."""

    log: Path
    """Its error log."""
    evidence: Path
    """The folder for what shows a finding: the data directory of a wrong recovery, stacks and a script of one that is stuck."""
    instance: Callable[[UsedInstance], str]
    """Keeps settings and variables, and gives the hash under which they are."""
    trial: Callable[[RecoveryTrial], None]
    """Keeps what was measured."""
    warm: Callable[[WarmTime], None]
    """Keeps what the clients met afterwards."""
    judgement: Callable[[Judgement], None]
    """Keeps what the judge found of the recovered server."""

    @property
    def series(self) -> Path:
        """What the workload's clients report after the recovery."""
        return self.log.with_suffix(".clients.csv")
