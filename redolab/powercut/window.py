"""Times of a server's life in which power is cut: under load, or while it starts or shuts down."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redolab.servers.instance import Instance

_ROLLED_BACK_WITHIN = 10.0
_LOOK = 0.05


class CutWindow(StrEnum):
    """Part of a recording in which the cuts lie."""

    LOAD = "load"
    """Clients commit."""
    SHUTDOWN = "shutdown"
    """The server is shut down cleanly, after a load."""
    START = "start"
    """The server starts after a clean shutdown, as every day."""
    RECOVERY = "recovery"
    """The server recovers from a SIGKILL under load: the power cut is a second crash."""
    FIRST_START = "first-start"
    """The server starts for the first time on an initialised data directory, which has no tables yet."""


@dataclass(frozen=True, slots=True)
class WindowTimes:
    """Limits of a window, and the time at which the server was gone, in nanoseconds of CLOCK_MONOTONIC."""

    began: int
    ended: int
    gone: int


def after_load(window: CutWindow, loaded: Instance, start: Callable[[], Instance]) -> WindowTimes:
    """Do with a server that was under load what a window is about, and return its times. In the end the server is gone.

    For a recovery it was killed already. `start` starts another server on the same instance folder. Raises `LabError`.
    """
    if window is not CutWindow.RECOVERY:
        began = time.monotonic_ns()
        loaded.shut_down()
        if window is CutWindow.SHUTDOWN:
            ended = time.monotonic_ns()
            return WindowTimes(began, ended, ended)
    return of_start(start)


def of_start(start: Callable[[], Instance]) -> WindowTimes:
    """Start a server, wait until it is ready and has rolled back, kill it, and return the times. Raises `LabError`."""
    began = time.monotonic_ns()
    with ExitStack() as stack:
        instance = stack.enter_context(start())
        instance.wait_ready()
        deadline = time.monotonic() + _ROLLED_BACK_WITHIN
        while not instance.has_recovered() and time.monotonic() < deadline:
            instance.read_log(_LOOK)
        ended = time.monotonic_ns()
        instance.kill()
    return WindowTimes(began, ended, time.monotonic_ns())
