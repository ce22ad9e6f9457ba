"""Errors that a person can act on.

A `LabError` is one sentence on a thing and its fault, and a second with the remedy. The command line prints it as one
line. Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence

_FULL = (errno.ENOSPC, errno.EDQUOT)


class LabError(Exception):
    """An error that the person at the terminal can act on.

    `problem` names the thing and its fault; `remedy` says what to do next, if that is known; `details` (the last lines
    of an error log, a program's output) are shown below the line.
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
    """A request that makes no sense or cannot be met on this machine; nothing was started."""

    exit_status = 2


class CommandFailed(LabError):
    """A program that the lab ran ended with an error."""


class NotInArchive(LabError):
    """A package that the distribution's archive does not have, or does not hand out."""


class DiskFull(LabError):
    """A disk that has, or will have, too little free space."""


class StorageLost(LabError):
    """Storage under a data directory that is gone."""


class StepsFailed(LabError):
    """A run some of whose steps failed; the run's folder has a record of each."""


class ServerFailed(LabError):
    """A server that did not start, or that ended although nobody killed it."""


class WorkloadFailed(LabError):
    """A workload whose program ended before the lab stopped it."""


class FindingsMade(LabError):
    """A complete run whose results are bad for the server. The lab worked as it should."""

    exit_status = 3


class Unreachable(LabError):
    """A server that does not answer at its address, and may answer later."""


class Busy(LabError):
    """A machine that another run is using."""


class Interrupted(BaseException):
    """Ctrl-C, or a signal with the same meaning.

    Not an `Exception`, so that no caller takes it for a failure of its own.
    """


def said(error: BaseException, *, debug: bool = False) -> int:
    """Write one line about the error that ends a command to standard error. Return the exit status.

    Raises the error itself if it is a bug, or with `debug`.
    """
    if isinstance(error, BrokenPipeError):
        # The reader of the output (head, less) has seen enough.
        sys.stderr.close()
        return 1
    if isinstance(error, (Interrupted, KeyboardInterrupt)):
        sys.stderr.write(f"redolab: {error or 'stopped'}\n")
        return 130
    if isinstance(error, LabError) and not debug:
        details = "".join(f"    {line}\n" for line in error.details)
        sys.stderr.write(f"redolab: {error}\n{details}")
        return error.exit_status
    if isinstance(error, OSError) and not debug and (error.filename is not None or error.errno in _FULL):
        remedy = "free some space" if error.errno in _FULL else "look at who owns it and where it lies"
        sys.stderr.write(f"redolab: {error.filename or 'the disk'}: {error.strerror}: {remedy}\n")
        return 1
    raise error
