"""What a run's folder holds, as data classes: format 2. Earlier formats are converted when they are read (`old_formats`).

docs/run-data.md has every file and column in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

import msgspec

from redolab.machine.description import Machine

T = TypeVar("T")

RUN_FORMAT = 2


class State(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    COMPLETE = "complete"
    STOPPED = "stopped"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch of a run, from its start or its resumption to its end, on one machine."""

    began: datetime
    commit: str
    """The lab's own commit, with `+changes` when the tree was not as committed."""
    command: Sequence[str] = ()
    """The command line."""
    tools: Mapping[str, str] = {}
    """The versions of the programs the lab needs, as they say them."""
    machine: Machine
    address: str = "local"
    """What that machine was called where the run was asked for, as in `ssh:db-spare`."""
    seconds: Mapping[str, float] = {}
    """Kind of stage → the time it took."""


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of a run, where, and how it ended (`run.json`)."""

    format: int
    name: str
    experiment: str
    options: Mapping[str, str]
    state: State
    why_stopped: str = ""
    sessions: Sequence[Session]

    @property
    def began(self) -> datetime:
        """When it was started first."""
        return self.sessions[0].began

    @property
    def seconds(self) -> Mapping[str, float]:
        """Kind of stage → the time it took in all sessions."""
        kinds = dict.fromkeys(kind for session in self.sessions for kind in session.seconds)
        return {kind: sum(session.seconds.get(kind, 0.0) for session in self.sessions) for kind in kinds}


class GroupRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What was made, or found, for a group of steps (a line of `groups.jsonl`). The last line of a group counts."""

    group: int
    """Its place in the plan."""
    attempt: int
    """1, 2, …: trials of an earlier attempt no longer count, as they were measured on something that is gone."""
    session: int
    """The place of the session in the run's record."""
    name: str
    made: bool
    """By this run; otherwise it was there."""
    seconds: float
    """That making it took."""
    alike: tuple[str, ...] = ()


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A result that is bad for the server, and where in the run's folder its evidence is."""

    what: str
    evidence: tuple[str, ...] = ()


class TrialRecord(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A measured step (a line of `trials.jsonl`)."""

    place: int | None
    """Of the step in the plan; None in runs that had none."""
    group: int = 0
    attempt: int = 1
    session: int = 0
    took: float | None = None
    """Seconds for all of it, what is not measured included."""
    alike: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    trial: T
