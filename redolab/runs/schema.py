"""Files of a run's folder as data classes, format 3. Later versions will read every run of version 1.0.

docs/run-data.md describes every file and column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

import msgspec

from redolab.machine.facts import Machine

T = TypeVar("T")

RUN_FORMAT = 3

FolderName = Annotated[str, msgspec.Meta(pattern=r"\A(?!\.{1,2}\Z)[^/\0]*\Z")]
"""Name of a file or folder in the lab's folder, without a path: a run may come from anybody's machine."""


class RunState(StrEnum):
    """State of a run."""

    RUNNING = "running"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    """A run that came to its end with failed steps."""
    STOPPED = "stopped"


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a run, from its start or resumption to its end, on one machine."""

    began: datetime
    commit: str
    """Commit of the lab, with `+changes` if the tree was not as committed."""
    command: Sequence[str] = ()
    """Command line, by words."""
    tools: Mapping[str, str] = {}
    """Program that the lab needs → version that it reports."""
    machine: Machine
    servers: Mapping[str, str] = {}
    """Server of the catalogue → expected version; empty in runs made before that was recorded."""
    identity: str = ""
    """Machine id (`redolab.machine.identity`); empty in runs made before ids were recorded."""
    address: str = "local"
    """Address of the machine in the request, as in `ssh:db-spare`."""
    seconds: Mapping[str, float] = {}
    """Kind of stage → seconds it took."""


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Request, sessions and state of a run (`run.json`)."""

    format: int
    name: str
    experiment: str
    options: Mapping[str, str]
    state: RunState
    why_stopped: str = ""
    sessions: Sequence[Session]

    @property
    def began(self) -> datetime:
        """Time of the first start."""
        return self.sessions[0].began

    @property
    def seconds(self) -> Mapping[str, float]:
        """Kind of stage → seconds it took in all sessions."""
        kinds = dict.fromkeys(kind for session in self.sessions for kind in session.seconds)
        return {kind: sum(session.seconds.get(kind, 0.0) for session in self.sessions) for kind in kinds}


class GroupRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Product made or found for a group of steps (a line of `groups.jsonl`). The last line of a group counts."""

    group: int
    """Index of the group in the plan."""
    attempt: int
    """Number of the attempt, from 1: trials of an earlier attempt no longer count, because their product is gone."""
    session: int
    """Index of the session in the run's record."""
    name: FolderName
    made: bool
    """True if this run made it; false if it existed."""
    seconds: float
    """Seconds to make it."""
    cost_keys: tuple[str, ...] = ()
    """Keys of groups of similar duration, the closest first, for estimates."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A result that is bad for the server, and the paths of its evidence in the run's folder."""

    what: str
    evidence: tuple[str, ...] = ()


class Ruling(StrEnum):
    """Result of a consistency check."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"
    """The check could not be made: no finding, and the check should be repeated."""


class VerdictRecord(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """Result of checking a trial's server again (a line of `verdicts.jsonl`). The last line of a trial counts."""

    position: int
    """Index of the step in the plan; `group` and `attempt` are the trial's."""
    group: int
    attempt: int
    session: int
    findings: tuple[Finding, ...] = ()
    verdict: T


class FailureRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A step that could not be measured, or a group that could not be made (a line of `failed.jsonl`)."""

    position: int | None
    """Index of the step in the plan; None if the group could not be made, and none of its steps was tried."""
    group: int
    attempt: int
    session: int
    when: datetime
    took: float
    """Seconds until the failure."""
    problem: str
    remedy: str = ""
    details: tuple[str, ...] = ()
    """Last lines of a log or a program's output, if the error has any."""
    evidence: tuple[str, ...] = ()
    """Logs and other files of the failure, in the run's folder."""

    def in_words(self) -> str:
        """Return the error message that was printed."""
        return f"{self.problem}: {self.remedy}" if self.remedy else self.problem


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A measured step, as an experiment defines it: fields and properties declare the columns of its tables."""

    def details(self) -> Mapping[str, object]:
        """Return further columns of CSV, Parquet and `redolab.load_runs` that no table shows."""
        return {}


class TrialRecord(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A measured step (a line of `trials.jsonl`)."""

    position: int
    """Index of the step in the plan."""
    group: int = 0
    attempt: int = 1
    session: int = 0
    took: float | None = None
    """Seconds for the whole step, more than its measurements."""
    cost_keys: tuple[str, ...] = ()
    """Keys of steps of similar duration, the closest first, for estimates."""
    findings: tuple[Finding, ...] = ()
    trial: T


Rows: TypeAlias = Sequence[tuple[TrialRecord[Any], Mapping[str, object]]]
"""Trials, each with its row for tables and frames."""
