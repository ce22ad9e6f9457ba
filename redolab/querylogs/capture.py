"""Capturing every statement of a server for a while into a log of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from redolab.errors import Interrupted, InvalidInput
from redolab.machine.interrupts import unwinding
from redolab.progress import Progress
from redolab.querylogs.log_file import LogFile, absolute_name, log_on_this_machine
from redolab.querylogs.settings.changes import FILE, LOG, TIME, changes_to_log_all, file_of, is_on
from redolab.querylogs.settings.changing import TemporaryChanges, changed, stamp_now
from redolab.querylogs.settings.checks import check_privileges
from redolab.querylogs.settings.event import check_event
from redolab.querylogs.settings.server import UserServer
from redolab.servers.address import Address
from redolab.units import GIB, format_duration, format_size

SECONDS = 5.0
"""As the source's own tool waits (data/published/query-logs.toml)."""
MOST = 4 * GIB
LEAST_FREE = 0.2
_LOOK_EVERY = 0.2
_TRAFFIC_EVERY = 1.0
_BYTES_BESIDE_STATEMENT = 200
"""What a log has of a statement beside its text, about: stamp, account, figures."""


@dataclass(frozen=True, slots=True)
class CaptureLimits:
    """When a capture ends."""

    seconds: float | None
    """None: the usual time, where the log can be watched."""
    most: int = MOST
    """Bytes of log."""
    least_free: float = LEAST_FREE
    """Share of the log's file system, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Captured:
    """What a capture has left."""

    file: str
    """As the server names it."""
    to_read: str
    """As it is named where the capture ran, or as the server does if it cannot be read there."""
    size: int
    """Bytes."""
    size_is_estimate: bool
    seconds: float
    statements: int
    stopped: str
    """Why it ended before its time; empty if it did not."""


def capture(
    progress: Progress, address: Address, limits: CaptureLimits, say: Callable[[str], None], *, event: bool = False
) -> Captured:
    """Have a server log every statement for a while, then put everything back. Raises `LabError`.

    `say` is told each step. What a person must know is noted on `progress`.
    """
    with unwinding():
        server = UserServer(address)
        server.telling(progress.note)
        try:
            return _captured(progress, server, limits, say, event=event)
        finally:
            server.close()


def _captured(
    progress: Progress, server: UserServer, limits: CaptureLimits, say: Callable[[str], None], *, event: bool
) -> Captured:
    variables = server.variables()
    stamp = stamp_now()
    file = f"{file_of(variables)}-full-{stamp}"
    changes = changes_to_log_all(variables, file)
    if event:
        check_event(variables.get("event_scheduler", ""))
    check_privileges(server, list(variables))
    named = absolute_name(file, variables.get("datadir", "/"))
    log = log_on_this_machine(server, named)
    seconds = _seconds(progress, limits, log)
    _check_room(log, limits)
    for name in (LOG, FILE, TIME):
        say(f"found {name} = {variables.get(name, '')!r}")
    before = server.connections()
    if before and "slow_query_log_use_global_control" not in variables:
        progress.note(f"{len(before)} connections were there before: they keep their own long_query_time")
    temporary = TemporaryChanges("capture", changes, seconds, stamp, event)
    try:
        with changed(server, temporary, say):
            say("flushing the slow query log")
            server.flush()
            say(f"sleeping {seconds:g} s")
            captured = _watched(progress, server, log, seconds, limits, named)
    except Interrupted as stop:
        by = str(stop).partition(":")[0]
        raise Interrupted(f"{by}: everything is put back; {named} has what was captured until then") from stop
    if is_on(variables):
        _name_those_who_go_on(progress, server, before)
    return captured


def _name_those_who_go_on(progress: Progress, server: UserServer, before: list[int]) -> None:
    since = [each for each in server.connections() if each > max(before, default=0)]
    if since:
        progress.note(
            f"{len(since)} connections that were opened meanwhile keep long_query_time 0 until they end: "
            "they go on logging every statement"
        )


def _seconds(progress: Progress, limits: CaptureLimits, log: LogFile | None) -> float:
    if limits.seconds is not None and limits.seconds <= 0:
        raise InvalidInput(f"{limits.seconds:g} s is no time to capture in", "give -s SECONDS above 0")
    if log is not None:
        return SECONDS if limits.seconds is None else limits.seconds
    if limits.seconds is None:
        raise InvalidInput(
            "the log is not on this machine, or not to be seen by this account: its disk cannot be watched",
            "say how long: -s SECONDS; or run it on the server's machine as root",
        )
    progress.note("the log's disk cannot be watched from here: its size is estimated from what clients send")
    return limits.seconds


def _check_room(log: LogFile | None, limits: CaptureLimits) -> None:
    if log is not None and log.free_share() < limits.least_free:
        raise InvalidInput(
            f"the disk of {log.named} has {log.free_share():.0%} free, less than {limits.least_free:.0%}",
            "free some space, or say --min-free",
        )


def _watched(
    progress: Progress, server: UserServer, log: LogFile | None, seconds: float, limits: CaptureLimits, named: str
) -> Captured:
    began = time.monotonic()
    first = last = server.traffic()
    looked = began
    stopped = ""
    size = 0
    with progress.stage(f"capturing into {named}", brief=True) as stage:
        while (left := began + seconds - time.monotonic()) > 0 and not stopped:
            time.sleep(min(_LOOK_EVERY, left))
            if time.monotonic() - looked >= _TRAFFIC_EVERY:
                last, looked = server.traffic(), time.monotonic()
            took = time.monotonic() - began
            estimate = last.received - first.received + _BYTES_BESIDE_STATEMENT * (last.statements - first.statements)
            size = log.size if log is not None else max(0, estimate)
            stage.advance(took, seconds, f"{format_size(size)}, {format_size(size / took)} a second")
            stopped = _reason_to_stop(size, log, limits)
        last = server.traffic()
        if log is not None:
            size = log.size
    took = time.monotonic() - began
    if stopped:
        progress.note(f"stopped after {format_duration(took)}: {stopped}")
    return Captured(
        named,
        log.to_read if log is not None else named,
        size,
        log is None,
        took,
        max(0, last.statements - first.statements),
        stopped,
    )


def _reason_to_stop(size: int, log: LogFile | None, limits: CaptureLimits) -> str:
    if size >= limits.most:
        return f"the log has {format_size(size)}, as much as --max-size allows"
    if log is not None and log.free_share() < limits.least_free:
        return f"its disk has less than {limits.least_free:.0%} free"
    return ""


def in_words(captured: Captured) -> list[str]:
    """What a capture has left, for a person."""
    about = "about " if captured.size_is_estimate else ""
    rate = captured.size / captured.seconds if captured.seconds else 0.0
    return [
        f"{captured.file}: {about}{format_size(captured.size)} in {format_duration(captured.seconds)} "
        f"({format_size(rate)} and {captured.statements / max(captured.seconds, 0.001):,.0f} statements a second)",
        f"read it with: redolab slowlog digest {captured.to_read}",
    ]
