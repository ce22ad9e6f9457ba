"""Capturing every statement of a server for a while into a log of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from redolab.errors import Interrupted, InvalidInput, LabError
from redolab.progress import Progress
from redolab.servers.address import Address
from redolab.slowlog.log_file import LogFile, absolute_path, log_on_this_machine
from redolab.slowlog.settings.alone import user_server_alone
from redolab.slowlog.settings.changes import FILE, LOG, TIME, changes_to_log_all, file_of
from redolab.slowlog.settings.changing import TemporaryChanges, put_back_after, stamp_now, while_changed
from redolab.slowlog.settings.event import check_event
from redolab.slowlog.settings.restoring import Messages
from redolab.slowlog.settings.user_server import Refusal, Traffic, UserServer
from redolab.slowlog.settings.watchdog import Watchdog
from redolab.units import GIB, format_duration, format_size

SECONDS = 5.0
"""Default duration in seconds: that of B. Karwin's full-slow-log (data/published/query-logs.toml)."""
MOST = 4 * GIB
MOST_FROM_AFAR = GIB
"""Default limit in bytes where the log cannot be watched: its size is then underestimated."""
LEAST_FREE = 0.2
_CHECK_EVERY = 0.2
_TRAFFIC_EVERY = 1.0
_HEADER_BYTES = (("log_slow_extra", 550), ("log_slow_verbosity", 470))
_PLAIN_HEADER_BYTES = 200
"""Bytes that a log holds, roughly, for each statement besides its text; by the variable that adds detail."""


@dataclass(frozen=True, slots=True)
class CaptureLimits:
    """Conditions that end a capture."""

    seconds: float | None
    """Duration in seconds; None: the default, which needs a log that can be watched."""
    most: int | None = None
    """Bytes of log; None: the default, which is lower where the log cannot be watched."""
    least_free: float = LEAST_FREE
    """Smallest free share of the log's file system, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Captured:
    """Result of a capture."""

    file: str
    """Path of the log in the server's own view."""
    to_read: str
    """Path for readers on the machine of the capture; the server's own path if that machine cannot read the file."""
    mode: int | None
    """Permission bits of the file; None where it cannot be seen from here."""
    size: int
    """Bytes."""
    size_is_estimate: bool
    seconds: float
    statements: int
    stopped: str
    """Reason for an early end; empty if the capture took its full time."""


@dataclass(frozen=True, slots=True)
class _Watched:
    """Log under watch during a capture, and its limits, as in `CaptureLimits`."""

    server_path: str
    log: LogFile | None
    """Log file; None if this machine cannot see it."""
    seconds: float
    most: int
    least_free: float
    header_bytes: int
    """Bytes of log for each statement besides its text."""


def capture(
    progress: Progress, address: Address, limits: CaptureLimits, say: Callable[[str], None], *, event: bool = False
) -> Captured:
    """Make a server log every statement for a while, then put everything back. Raises `LabError`.

    `say` receives each step; messages that a person must read go to `progress`.
    """
    messages = Messages(say, progress.note)
    with user_server_alone(address, progress) as (server, lock):
        return _captured(progress, server, limits, lock, messages, event=event)


def _captured(
    progress: Progress, server: UserServer, limits: CaptureLimits, lock: int, messages: Messages, *, event: bool
) -> Captured:
    variables = server.variables()
    stamp = stamp_now()
    file = f"{file_of(variables)}-full-{stamp}"
    changes = changes_to_log_all(variables, file)
    if event:
        check_event(variables)
    server.check_privileges()
    watched = _watched(progress, server, variables, absolute_path(file, variables), limits)
    _check_name_can_be_restored(server, file_of(variables))
    for name in (LOG, FILE, TIME):
        messages.say(f"found {name} = {variables.get(name, '')!r}")
    before = server.connections()
    if before and "slow_query_log_use_global_control" not in variables:
        progress.note(f"connections that were there before: {len(before)}; they keep their own long_query_time")
    temporary = TemporaryChanges("capture", changes, watched.seconds, stamp, event)
    try:
        with while_changed(server, temporary, lock, messages) as watchdog:
            try:
                messages.say("flushing the slow query log")
                server.flush()
                _check_written(server, watched)
                messages.say(f"sleeping {watched.seconds:g} s")
                return _watch(progress, server, watchdog, watched)
            finally:
                _count_new_connections(server, {*before, watchdog.connection}, messages)
    except Interrupted as stop:
        raise put_back_after(stop, f"; {watched.server_path} has what was captured until then") from stop


def _check_name_can_be_restored(server: UserServer, usual: str) -> None:
    """Raise `InvalidInput` if SET GLOBAL could not put back the log's name, as with a device or a pipe."""
    try:
        server.carry_out("SET GLOBAL slow_query_log_file = @@GLOBAL.slow_query_log_file")
    except Refusal as error:
        raise InvalidInput(
            f"{server.address} would not take its slow_query_log_file, {usual}, back ({error.problem}): nothing was changed",
            "only a log that is a plain file can be captured beside: set one first",
        ) from error


def _count_new_connections(server: UserServer, before: set[int], messages: Messages) -> None:
    """Tell the person of connections that were opened during the capture: they go on logging every statement."""
    with suppress(LabError):
        opened = set(server.connections()) - before
        if opened:
            messages.note(
                f"connections opened meanwhile: {len(opened)}; until they end they keep long_query_time 0, "
                "and log every statement while the slow log is on"
            )


def _watched(
    progress: Progress, server: UserServer, variables: Mapping[str, str], server_path: str, limits: CaptureLimits
) -> _Watched:
    """Return the log to watch and its limits. Raises `InvalidInput` if the request needs more than can be watched."""
    if limits.seconds is not None and limits.seconds <= 0:
        raise InvalidInput(f"{limits.seconds:g} s is no time to capture in", "give -s SECONDS above 0")
    log = log_on_this_machine(server, server_path)
    if log is None and limits.seconds is None:
        raise InvalidInput(
            "the log is not on this machine, or not to be seen by this account: its disk cannot be watched",
            "say how long: -s SECONDS; or run it on the server's machine as root",
        )
    if log is None:
        progress.note("the log's disk cannot be watched from here: its size is estimated from what clients send")
    elif log.free_share() < limits.least_free:
        raise InvalidInput(
            f"the disk of {server_path} has {log.free_share():.0%} free, less than {limits.least_free:.0%}",
            "free some space, or say --min-free",
        )
    return _Watched(
        server_path=server_path,
        log=log,
        seconds=limits.seconds or SECONDS,
        most=limits.most or (MOST_FROM_AFAR if log is None else MOST),
        least_free=limits.least_free,
        header_bytes=next((size for name, size in _HEADER_BYTES if name in variables), _PLAIN_HEADER_BYTES),
    )


def _check_written(server: UserServer, watched: _Watched) -> None:
    """Raise `LabError` if the log is not in its expected place: behind a proxy, the server is another process."""
    if watched.log is not None and not watched.log.path.exists():
        raise LabError(
            f"{server.address} does not write to {watched.log.path}: who listens there is not the server itself",
            "name the server's own address, or run it elsewhere with -s SECONDS; everything is put back",
        )


def _watch(progress: Progress, server: UserServer, watchdog: Watchdog, watched: _Watched) -> Captured:
    log = watched.log
    began = traffic_read = time.monotonic()
    first = last = server.traffic()
    stopped = ""
    with progress.stage(f"capturing into {watched.server_path}", brief=True) as stage:
        while (left := began + watched.seconds - time.monotonic()) > 0 and not stopped:
            time.sleep(min(_CHECK_EVERY, left))
            watchdog.check()
            if time.monotonic() - traffic_read >= _TRAFFIC_EVERY:
                last, traffic_read = server.traffic(), time.monotonic()
                if log is not None:
                    log.sync()
            elapsed = time.monotonic() - began
            size = _size(watched, first, last)
            stage.advance(elapsed, watched.seconds, f"{format_size(size)}, {format_size(size / elapsed)} a second")
            stopped = _reason_to_stop(size, watched)
        last = server.traffic()
        size = _size(watched, first, last)
        if log is not None:
            log.sync()
    elapsed = time.monotonic() - began
    if stopped:
        progress.note(f"stopped after {format_duration(elapsed)}: {stopped}")
    return Captured(
        file=watched.server_path,
        to_read=watched.server_path if log is None else log.to_read,
        mode=None if log is None else log.mode,
        size=size,
        size_is_estimate=log is None,
        seconds=elapsed,
        statements=max(0, last.statements - first.statements),
        stopped=stopped,
    )


def _size(watched: _Watched, first: Traffic, last: Traffic) -> int:
    """Return the bytes of the log: its size, or an estimate from the clients' traffic."""
    if watched.log is not None:
        return watched.log.size
    statements = last.statements - first.statements
    return max(0, last.received - first.received + watched.header_bytes * statements)


def _reason_to_stop(size: int, watched: _Watched) -> str:
    if size >= watched.most:
        return f"the log has {format_size(size)}, as much as --max-size allows"
    if watched.log is not None and watched.log.free_share() < watched.least_free:
        return f"its disk has less than {watched.least_free:.0%} free"
    return ""


def in_words(captured: Captured) -> list[str]:
    """Return the result of a capture as lines for people."""
    about = "about " if captured.size_is_estimate else ""
    rate = captured.size / captured.seconds if captured.seconds else 0.0
    mode = "" if captured.mode is None else f"its mode is {captured.mode:04o}, and "
    return [
        f"{captured.file}: {about}{format_size(captured.size)} in {format_duration(captured.seconds)} "
        f"({format_size(rate)} and {captured.statements / max(captured.seconds, 0.001):,.0f} statements a second)",
        f"{mode}it holds every literal of every statement: protect it as you protect the data",
        f"read it with: redolab slowlog digest {captured.to_read}",
    ]
