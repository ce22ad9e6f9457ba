"""`redolab follow`: a recovery that is running, looked at until it is over."""

from __future__ import annotations

import lzma
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from redolab.clock import Instant, now
from redolab.errors import FindingsMade, InvalidInput
from redolab.project import PROJECT
from redolab.units import format_duration
from redolab.watch.following.advice import Advice
from redolab.watch.following.follower import Followed, Follower, State
from redolab.watch.following.log_tail import LogTail
from redolab.watch.following.screen import Screen
from redolab.watch.following.server_process import ServerProcess, servers_here
from redolab.watch.following.time_left import Experience, TimeLeft
from redolab.watch.following.view import RollbackNow, caution_in_words, for_programs, line, rows, summary

if TYPE_CHECKING:
    from redolab.servers.address import Address
    from redolab.watch.following.rollback import RollbackWatch

RECOVERIES = PROJECT.provision / "recoveries.json.xz"
"""Recorded recoveries, which come with redolab: `redolab.crash.recovery.follow_judged` makes them."""
EVERY = 0.25
"""Seconds from one look to the next."""
_USUALLY, _USUALLY_LINES = 1.0, 10.0
"""Seconds from one time that it is shown to the next: in place or as objects, and as lines."""
_NOTHING_AFTER = 10.0
"""Seconds after which a log that shows no start is said to show none, unless it is to be waited for."""
_SEEK_EVERY = 2.0
"""Seconds between two looks for the process that writes a log."""

Show = Callable[[Followed, float], None]
"""Function that shows a state of the server and its wall time."""


def experience(packed: bytes | None = None) -> Experience:
    """Return the recorded recoveries that predictions rest on; `packed`: the bytes of their file, where it is none.

    Raises `InvalidInput` if they are damaged.
    """
    try:
        return msgspec.json.decode(lzma.decompress(packed or RECOVERIES.read_bytes()), type=Experience)
    except (OSError, lzma.LZMAError, msgspec.DecodeError) as error:
        raise InvalidInput(f"{RECOVERIES}: {error}", "take it again from the release that you have") from error


@dataclass(frozen=True, slots=True)
class Asked:
    """Recovery to follow, as the user named it."""

    log: Path | None
    """The error log, "-" for standard input; None to find it by the process."""
    pid: int | None
    """The server's process; None to find it by who writes the log."""
    address: Address | None
    """Address at which to ask for the progress of the rollback once the server is ready; None: do not ask."""
    server: str | None
    waits: bool
    """True to wait for the next start if none is in progress."""


def follow(asked: Asked, known: Experience, every: float | None, *, as_json: bool) -> None:
    """Follow a recovery until the server is ready, or to the end of its rollback where an address is given.

    `every`: seconds from one time that it is shown to the next; None for the usual ones. Raises `InvalidInput`,
    `FindingsMade`.
    """
    screen = Screen()
    if every is None:
        every = _USUALLY if screen.is_terminal or as_json else _USUALLY_LINES
    if every < EVERY:
        raise InvalidInput(f"a look every {every:g} s is not possible", f"choose {EVERY:g}s or more")
    process, tail = _found(asked)
    follower = Follower(known, process, time.monotonic(), server=asked.server, has_log=tail is not None)
    rollback = None if asked.address is None else _rollback_of(asked.address)
    first: tuple[TimeLeft, float] | None = None
    try:
        with _shown(screen, every, as_json) as show, suppress(KeyboardInterrupt):
            for stands, at in _looks(follower, tail, asked):
                if first is None and stands.left is not None:
                    first = stands.left, stands.at
                show(stands, at.wall)
        at = now()
        last = follower.stands(at.monotonic)
        if not as_json:
            for said in summary(last, at, follower.ready_after, first):
                screen.say(said)
        if last.state in (State.READY, State.ROLLING_BACK) and rollback is not None:
            with suppress(KeyboardInterrupt):
                _undone(screen, rollback, every, as_json)
    finally:
        if tail is not None:
            tail.close()
        if rollback is not None:
            rollback.close()
    _raise_what_was_found(last, is_over=tail is not None and tail.has_ended)


def _rollback_of(address: Address) -> RollbackWatch:
    # The client of a database server takes longer to load than all else here.
    from redolab.watch.following.rollback import RollbackWatch

    return RollbackWatch(address)


def _raise_what_was_found(last: Followed, *, is_over: bool) -> None:
    if last.state is State.ENDED:
        raise FindingsMade(f"{last.server}: {last.ended}")
    if last.advised.advice in (Advice.RESTART, Advice.LOOK):
        raise FindingsMade(last.advised.words[0])
    if is_over and last.state in (State.STARTING, State.RECOVERING):
        raise FindingsMade(f"{last.server}: the log ended before it was ready")


def _found(asked: Asked) -> tuple[ServerProcess | None, LogTail | None]:
    """Return the process and the log; find the one by the other if only one was named."""
    process = None if asked.pid is None else ServerProcess(asked.pid)
    if asked.log is None:
        if process is None:
            raise InvalidInput("neither a log nor a process was named", "name the server's error log, or --pid")
        log = process.error_log
        return process, None if log is None else LogTail(log)
    if str(asked.log) == "-":
        return process, LogTail(None)
    tail = LogTail(asked.log)
    return process or _writer_of(asked.log), tail


def _writer_of(log: Path) -> ServerProcess | None:
    """Return the server on this machine that writes this log; None if there is none or it may not be examined."""
    return next((each for each in servers_here() if each.writes_to(log)), None)


def _looks(follower: Follower, tail: LogTail | None, asked: Asked) -> Iterator[tuple[Followed, Instant]]:
    """Yield how it stands, and when that was on both clocks, again and again until it is over."""
    began = sought = time.monotonic()
    has_recovered = False
    while True:
        instant = now()
        at = instant.monotonic
        _hear(follower, tail, instant)
        follower.look(at)
        if follower.is_gone:
            # The server may have logged the reason meanwhile.
            _hear(follower, tail, instant)
        stands = follower.stands(at)
        yield stands, instant
        has_recovered = has_recovered or stands.state is State.RECOVERING
        is_new = has_recovered or (follower.began is not None and follower.began > began)
        if stands.is_over and (is_new or not asked.waits):
            return
        says_nothing = stands.state is State.SILENT and not follower.complains(at)
        if says_nothing and at - began > _NOTHING_AFTER and not asked.waits:
            return
        if tail is not None and tail.has_ended:
            return
        missing = follower.process is None or follower.is_gone
        if missing and asked.log is not None and asked.pid is None and at - sought >= _SEEK_EVERY:
            sought = at
            if (writer := _writer_of(asked.log)) is not None:
                follower.attach(writer, at)
        time.sleep(EVERY)


def _hear(follower: Follower, tail: LogTail | None, instant: Instant) -> None:
    if tail is None:
        return
    for said in tail.said(instant):
        follower.hear(said)
    follower.hear_unfinished(tail.unfinished)


@contextmanager
def _shown(screen: Screen, every: float, as_json: bool) -> Iterator[Show]:
    """Yield a function that prints states: in place on a terminal, elsewhere as new lines or objects."""
    shown_at, said = -math.inf, ""

    def is_due(followed: Followed) -> bool:
        nonlocal shown_at, said
        what = f"{followed.state} {followed.phase} {followed.advised.advice}"
        if what == said and followed.at - shown_at < every:
            return False
        shown_at, said = followed.at, what
        return True

    if as_json:
        yield lambda followed, wall: screen.say(_object(for_programs(followed, wall))) if is_due(followed) else None
    elif screen.is_terminal:
        try:
            yield (
                lambda followed, wall: screen.draw(followed.server, rows(followed, wall)) if is_due(followed) else None
            )
        finally:
            screen.erase()
    else:
        cautioned = ""

        def show_line(followed: Followed, wall: float) -> None:
            nonlocal cautioned
            if is_due(followed):
                # Said once, and again only where it has changed.
                caution = caution_in_words(followed) or cautioned
                if caution != cautioned:
                    cautioned = caution
                    screen.say(caution)
                screen.say(line(followed, wall))

        yield show_line


def _object(what: msgspec.Struct) -> str:
    return msgspec.json.encode(what).decode()


def _undone(screen: Screen, rollback: RollbackWatch, every: float, as_json: bool) -> None:
    """Say how many rows are left to be undone, until none is. Raises `FindingsMade` if the server is gone."""
    while True:
        at = now()
        rollback.look(at.monotonic)
        left_over, left = rollback.rows, rollback.seconds_left
        if rollback.has_stopped and left_over is None:
            raise FindingsMade("the server does not answer any more: 'redolab timeline' on its log shows why")
        if as_json:
            screen.say(_object(RollbackNow(at=at.wall, rows_to_undo=left_over, left_s=left)))
        else:
            screen.say(_in_words(left_over, left, has_stopped=rollback.has_stopped))
        if left_over == 0 or rollback.has_stopped:
            return
        time.sleep(every)


def _in_words(rows: int | None, left: float | None, *, has_stopped: bool) -> str:
    if rows is None:
        return "it cannot be asked yet"
    if rows == 0:
        return "nothing is left to be undone"
    if has_stopped:
        return f"{rows:,} row operations are left, and nothing undoes them: see XA RECOVER for what is prepared"
    ends = "" if left is None else f", {format_duration(left)} at this rate"
    return f"{rows:,} row operations are left to be undone{ends}"
