"""What can go wrong in ways a person can act on.

An error of the lab is one sentence naming the thing and what was wrong with it, and a second saying what to do. The command
line prints it as one line; anything that is not a `LabError` is a bug and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Sequence


class LabError(Exception):
    """Something the person at the terminal can act on.

    `problem` names the thing and what was wrong with it; `remedy` says what to do next, where that is known;
    `details` (the last lines of an error log, a program's output) are shown below the line.
    """

    exit_status = 1

    def __init__(self, problem: str, remedy: str = "", details: Sequence[str] = ()) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.details = tuple(details)

    def __str__(self) -> str:
        return f"{self.problem}: {self.remedy}" if self.remedy else self.problem


class InvalidInput(LabError):
    """What was asked for makes no sense or cannot be had here; nothing was started."""

    exit_status = 2


class CommandFailed(LabError):
    """A program that the lab ran ended with an error."""


class NotInArchive(LabError):
    """A package that the distribution's archive does not have, or does not hand out."""


class DiskFull(LabError):
    """There is not, or no longer, room enough."""


class StorageLost(LabError):
    """What a data directory lay on is gone."""


class StepsFailed(LabError):
    """Steps of a run failed, each of which is a record in the run's folder."""


class ServerFailed(LabError):
    """A server did not start, or ended when nobody had killed it."""


class WorkloadFailed(LabError):
    """The program that writes to the server ended by itself."""


class FindingsMade(LabError):
    """A run is complete, and something it measured is bad for the server: not a fault of the lab."""

    exit_status = 3


class Unreachable(LabError):
    """Nothing answers where a server was said to be; it may come."""


class Busy(LabError):
    """Another run has this machine."""


class Interrupted(BaseException):
    """Ctrl-C, or a signal that means the same: nothing on the way up may take it for a failure of its own."""
