"""What goes to a machine of a cluster and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

TOPIC = "redolab"
"""Under which the machines of a run tell what they are doing: with the run's mark behind it."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A group of a plan, to be made and measured on whichever machine takes it."""

    mark: str
    """Of the run's session: what a machine has done for it once is not done again."""
    key: str
    """What Dask calls the task."""
    experiment: str
    options: Mapping[str, str]
    """What was asked, as texts of the experiment's factors."""
    plan: msgspec.Raw
    """All of it: positions, and names made of them, are the plan's everywhere."""
    group: int
    version: str
    """Of the lab that asks; no other measures for it."""
    commit: str
    logs: Sequence[str] = ()
    """Names of logs that the run has already, of an attempt that no longer counts."""


class ClusterJob(msgspec.Struct, frozen=True, kw_only=True):
    """A task as a machine gives it to the lab there."""

    task: Task
    check: bool
    """Whether the check cell is measured first."""
    known: Mapping[str, str] = {}
    """Name → lines (`NAME.jsonl`) of what is known of the machine from earlier groups of the run, as what fio found."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """An error of the lab on a machine."""

    problem: str
    remedy: str = ""
    details: Sequence[str] = ()


class TaskOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a task (as MessagePack: it carries files)."""

    machine: str
    """The worker's name."""
    group: bytes = b""
    """The folder of the run there, as `redolab.machine.bundle` packs it."""
    check: bytes = b""
    """The same of the check cell, where it was measured."""
    failure: Failure | None = None


class WorkerMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a machine tells while it works; an empty line when it has ended its work."""

    machine: str
    line: str = ""
    ended: bool = False
