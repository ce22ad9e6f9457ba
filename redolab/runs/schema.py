"""What a run's folder holds, as data classes: format 3. Runs of version 1.0 stay readable to all later ones.

docs/run-data.md has every file and column in words.
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
"""Of something that lies in a folder of the lab's; a run may come from a machine that is anybody's."""


class RunState(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    """It came to its end, and steps failed."""
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
    servers: Mapping[str, str] = {}
    """Server of the catalogue → the version that was expected of it; empty in runs made before that was recorded."""
    identity: str = ""
    """Machine id (`redolab.machine.identity`); empty in runs made before ids were recorded."""
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
    state: RunState
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
    """Its position in the plan."""
    attempt: int
    """1, 2, …: trials of an earlier attempt no longer count, as they were measured on something that is gone."""
    session: int
    """The position of the session in the run's record."""
    name: FolderName
    made: bool
    """By this run; otherwise it was there."""
    seconds: float
    """That making it took."""
    cost_keys: tuple[str, ...] = ()
    """What took about as long, the closest first: an estimate looks for these words."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A result that is bad for the server, and where in the run's folder its evidence is."""

    what: str
    evidence: tuple[str, ...] = ()


class Ruling(StrEnum):
    """What a judge says of what a step left."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"
    """It could not be looked at: no finding, and to be judged again."""


class VerdictRecord(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """What a judge found of what a trial left (a line of `verdicts.jsonl`). The last line of a trial counts."""

    position: int
    """Of the step in the plan, as `group` and `attempt` those of the trial."""
    group: int
    attempt: int
    session: int
    findings: tuple[Finding, ...] = ()
    verdict: T


class FailureRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A step that could not be measured, or a group that could not be made (a line of `failed.jsonl`)."""

    position: int | None
    """Of the step in the plan; None: what its group shares could not be made, and none of its steps was tried."""
    group: int
    attempt: int
    session: int
    when: datetime
    took: float
    """Seconds until it failed."""
    problem: str
    remedy: str = ""
    details: tuple[str, ...] = ()
    """The last lines of a log or a program's output, if the error has any."""
    evidence: tuple[str, ...] = ()
    """The logs and other files that it left in the run's folder."""

    def in_words(self) -> str:
        """The error, as a person was told it."""
        return f"{self.problem}: {self.remedy}" if self.remedy else self.problem


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A measured step, as an experiment defines it: the columns of its tables are declared on its fields and properties."""

    def details(self) -> Mapping[str, object]:
        """Return further columns of CSV, Parquet and `redolab.load_runs`, which no table shows."""
        return {}


class TrialRecord(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A measured step (a line of `trials.jsonl`)."""

    position: int
    """Position of the step in the plan."""
    group: int = 0
    attempt: int = 1
    session: int = 0
    took: float | None = None
    """Seconds for all of it, what is not measured included."""
    cost_keys: tuple[str, ...] = ()
    """What took about as long, the closest first: an estimate looks for these words."""
    findings: tuple[Finding, ...] = ()
    trial: T


Rows: TypeAlias = Sequence[tuple[TrialRecord[Any], Mapping[str, object]]]
"""Trials, each with its row for tables and frames."""
