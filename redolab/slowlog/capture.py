"""Capturing every statement of a server for a while into a log of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from redolab.errors import Interrupted, InvalidInput, LabError
from redolab.progress import Progress
from redolab.servers.address import Address
from redolab.slowlog.log_file import LogFile, absolute_name, log_on_this_machine
from redolab.slowlog.settings.alone import user_server_alone
from redolab.slowlog.settings.changes import FILE, LOG, TIME, changes_to_log_all, file_of
from redolab.slowlog.settings.changing import TemporaryChanges, put_back_after, stamp_now, while_changed
from redolab.slowlog.settings.checks import check_privileges
from redolab.slowlog.settings.event import check_event
from redolab.slowlog.settings.guardian import Guardian
from redolab.slowlog.settings.restoring import Telling
from redolab.slowlog.settings.server import Refusal, Traffic, UserServer
from redolab.units import GIB, format_duration, format_size

SECONDS = 5.0
"""Default duration in seconds: that of B. Karwin's full-slow-log (data/published/query-logs.toml)."""
MOST = 4 * GIB
MOST_FROM_AFAR = GIB
"""Default limit in bytes where the log cannot be watched: its size is then underestimated."""
LEAST_FREE = 0.2
_LOOK_EVERY = 0.2
_TRAFFIC_EVERY = 1.0
_BESIDE_A_STATEMENT = (("log_slow_extra", 550), ("log_slow_verbosity", 470))
_BESIDE_A_PLAIN_STATEMENT = 200
"""Bytes that a log holds, roughly, for each statement beside its text; keyed by variables that add detail."""


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
    """Log under watch during a capture, and its limits."""

    named: str
    log: LogFile | None
    """Log file; None if this machine cannot see it."""
    seconds: float
    most: int
    least_free: float
    beside_a_statement: int


def capture(
    progress: Progress, address: Address, limits: CaptureLimits, say: Callable[[str], None], *, event: bool = False
) -> Captured:
    """Make a server log every statement for a while, then put everything back. Raises `LabError`.

    `say` receives each step; messages that a person must read go to `progress`.
    """
    telling = Telling(say, progress.note)
    with user_server_alone(address, progress) as (server, lock):
        return _captured(progress, server, limits, lock, telling, event=event)


def _captured(
    progress: Progress, server: UserServer, limits: CaptureLimits, lock: int, telling: Telling, *, event: bool
) -> Captured:
    variables = server.variables()
    stamp = stamp_now()
    file = new_file(file_of(variables), stamp)
    changes = changes_to_log_all(variables, file)
    if event:
        check_event(variables)
    check_privileges(server)
    watched = _watched(progress, server, variables, absolute_name(file, variables.get("datadir", "/")), limits)
    _check_goes_back(server, file_of(variables))
    for name in (LOG, FILE, TIME):
        telling.say(f"found {name} = {variables.get(name, '')!r}")
    before = server.connections()
    if before and "slow_query_log_use_global_control" not in variables:
        progress.note(f"connections that were there before: {len(before)}; they keep their own long_query_time")
    temporary = TemporaryChanges("capture", changes, watched.seconds, stamp, event)
    try:
        with while_changed(server, temporary, lock, telling) as guardian:
            try:
                telling.say("flushing the slow query log")
                server.flush()
                _check_written(server, watched)
                telling.say(f"sleeping {watched.seconds:g} s")
                return _watch(progress, server, guardian, watched)
            finally:
                _name_those_who_go_on(server, {*before, guardian.connection}, telling)
    except Interrupted as stop:
        raise put_back_after(stop, f"; {watched.named} has what was captured until then") from stop


def new_file(usual: str, stamp: str) -> str:
    """Return the name of a captured log: the usual name, followed by the stamp."""
    return f"{usual}-full-{stamp}"


def _check_goes_back(server: UserServer, usual: str) -> None:
    """Raise `InvalidInput` if SET GLOBAL could not put back the log's name, as with a device or a pipe."""
    try:
        server.carry_out("SET GLOBAL slow_query_log_file = @@GLOBAL.slow_query_log_file")
    except Refusal as error:
        raise InvalidInput(
            f"{server.address} would not take its slow_query_log_file, {usual}, back ({error.problem}): nothing was changed",
            "only a log that is a plain file can be captured beside: set one first",
        ) from error


def _name_those_who_go_on(server: UserServer, before: set[int], telling: Telling) -> None:
    with suppress(LabError):
        since = set(server.connections()) - before
        if since:
            telling.note(
                f"connections opened meanwhile: {len(since)}; until they end they keep long_query_time 0, "
                "and log every statement while the slow log is on"
            )


def _watched(
    progress: Progress, server: UserServer, variables: Mapping[str, str], named: str, limits: CaptureLimits
) -> _Watched:
    """Return the log to watch and its limits. Raises `InvalidInput` if the request needs more than can be watched."""
    if limits.seconds is not None and limits.seconds <= 0:
        raise InvalidInput(f"{limits.seconds:g} s is no time to capture in", "give -s SECONDS above 0")
    log = log_on_this_machine(server, named)
    beside = next((size for name, size in _BESIDE_A_STATEMENT if name in variables), _BESIDE_A_PLAIN_STATEMENT)
    if log is None:
        if limits.seconds is None:
            raise InvalidInput(
                "the log is not on this machine, or not to be seen by this account: its disk cannot be watched",
                "say how long: -s SECONDS; or run it on the server's machine as root",
            )
        progress.note("the log's disk cannot be watched from here: its size is estimated from what clients send")
        return _Watched(named, None, limits.seconds, limits.most or MOST_FROM_AFAR, limits.least_free, beside)
    if log.free_share() < limits.least_free:
        raise InvalidInput(
            f"the disk of {log.named} has {log.free_share():.0%} free, less than {limits.least_free:.0%}",
            "free some space, or say --min-free",
        )
    return _Watched(named, log, limits.seconds or SECONDS, limits.most or MOST, limits.least_free, beside)


def _check_written(server: UserServer, watched: _Watched) -> None:
    """Raise `LabError` if the log is not in its expected place: behind a proxy, the server is another process."""
    if watched.log is not None and not watched.log.here.exists():
        raise LabError(
            f"{server.address} does not write to {watched.log.here}: who listens there is not the server itself",
            "name the server's own address, or run it elsewhere with -s SECONDS; everything is put back",
        )


def _watch(progress: Progress, server: UserServer, guardian: Guardian, watched: _Watched) -> Captured:
    began = time.monotonic()
    first = last = server.traffic()
    looked = began
    stopped = ""
    size = 0
    with progress.stage(f"capturing into {watched.named}", brief=True) as stage:
        while (left := began + watched.seconds - time.monotonic()) > 0 and not stopped:
            time.sleep(min(_LOOK_EVERY, left))
            guardian.check()
            if time.monotonic() - looked >= _TRAFFIC_EVERY:
                last, looked = server.traffic(), time.monotonic()
                if watched.log is not None:
                    watched.log.sync()
            took = time.monotonic() - began
            size = _size(watched, first, last)
            stage.advance(took, watched.seconds, f"{format_size(size)}, {format_size(size / took)} a second")
            stopped = _reason_to_stop(size, watched)
        last = server.traffic()
        size = _size(watched, first, last)
        if watched.log is not None:
            watched.log.sync()
    took = time.monotonic() - began
    if stopped:
        progress.note(f"stopped after {format_duration(took)}: {stopped}")
    return Captured(
        file=watched.named,
        to_read=watched.log.to_read if watched.log is not None else watched.named,
        mode=watched.log.mode if watched.log is not None else None,
        size=size,
        size_is_estimate=watched.log is None,
        seconds=took,
        statements=max(0, last.statements - first.statements),
        stopped=stopped,
    )


def _size(watched: _Watched, first: Traffic, last: Traffic) -> int:
    """Return the bytes of the log: its size, or an estimate from the clients' traffic."""
    if watched.log is not None:
        return watched.log.size
    statements = last.statements - first.statements
    return max(0, last.received - first.received + watched.beside_a_statement * statements)


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
