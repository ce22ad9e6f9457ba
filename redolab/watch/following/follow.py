"""`redolab follow`: a recovery that is running, looked at until it is over."""

from __future__ import annotations

import lzma
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from redolab.clock import Instant, now
from redolab.errors import FindingsMade, InvalidInput
from redolab.project import PROJECT
from redolab.units import format_duration
from redolab.watch.following.advice import Advice
from redolab.watch.following.follow_view import caution_in_words, for_programs, line, rows, summary
from redolab.watch.following.follower import Followed, Follower, State
from redolab.watch.following.log_tail import LogTail
from redolab.watch.following.screen import Screen
from redolab.watch.following.server_process import ServerProcess, servers_here
from redolab.watch.following.time_left import RecordedRecoveries

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


def experience(packed: bytes | None = None) -> RecordedRecoveries:
    """Return the recorded recoveries that predictions rest on; `packed`: the bytes of their file, where it is none.

    Raises `InvalidInput` if they are damaged.
    """
    try:
        return msgspec.json.decode(lzma.decompress(packed or RECOVERIES.read_bytes()), type=RecordedRecoveries)
    except (OSError, lzma.LZMAError, msgspec.DecodeError) as error:
        raise InvalidInput(f"{RECOVERIES}: {error}", "take it again from the release that you have") from error


@dataclass(frozen=True, slots=True)
class FollowRequest:
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


def follow(request: FollowRequest, known: RecordedRecoveries, every: float | None, *, as_json: bool) -> None:
    """Follow a recovery until the server is ready, or to the end of its rollback where an address is given.

    `every`: seconds from one time that it is shown to the next; None for the usual ones. Raises `InvalidInput`,
    `FindingsMade`.
    """
    screen = Screen()
    if every is None:
        every = _USUALLY if screen.is_terminal or as_json else _USUALLY_LINES
    if every < EVERY:
        raise InvalidInput(f"a look every {every:g} s is not possible", f"choose {EVERY:g}s or more")
    process, tail = _process_and_log(request)
    follower = Follower(known, process, time.monotonic(), server=request.server, has_log=tail is not None)
    rollback = None
    if request.address is not None:
        # The client of a database server takes longer to load than all else here.
        from redolab.watch.following.rollback import RollbackWatch

        rollback = RollbackWatch(request.address)
    printer = _Printer(screen, every, as_json)
    first_predicted: Followed | None = None
    try:
        with suppress(KeyboardInterrupt):
            for followed, at in states(follower, tail, request):
                if first_predicted is None and followed.left is not None:
                    first_predicted = followed
                printer.show(followed, at.wall)
        at = now()
        last = follower.state_at(at.monotonic)
        if not as_json:
            for sentence in summary(last, at, follower.ready_after, first_predicted):
                screen.say(sentence)
        if last.state in (State.READY, State.ROLLING_BACK) and rollback is not None:
            with suppress(KeyboardInterrupt):
                _follow_rollback(screen, rollback, every, as_json)
    finally:
        screen.erase()
        if tail is not None:
            tail.close()
        if rollback is not None:
            rollback.close()
    _raise_findings(last, is_over=tail is not None and tail.has_ended)


def _raise_findings(last: Followed, *, is_over: bool) -> None:
    if last.state is State.ENDED:
        raise FindingsMade(f"{last.server}: {last.ended}")
    if last.advised.advice in (Advice.RESTART, Advice.LOOK):
        raise FindingsMade(last.advised.words[0])
    if is_over and last.state in (State.STARTING, State.RECOVERING):
        raise FindingsMade(f"{last.server}: the log ended before it was ready")


def _process_and_log(request: FollowRequest) -> tuple[ServerProcess | None, LogTail | None]:
    """Return the process and the log; find the one by the other if only one was named."""
    process = None if request.pid is None else ServerProcess(request.pid)
    if request.log is None:
        if process is None:
            raise InvalidInput("neither a log nor a process was named", "name the server's error log, or --pid")
        log = process.error_log
        return process, None if log is None else LogTail(log)
    if str(request.log) == "-":
        return process, LogTail(None)
    tail = LogTail(request.log)
    return process or _writer_of(request.log), tail


def _writer_of(log: Path) -> ServerProcess | None:
    """Return the server on this machine that writes this log; None if there is none or it may not be examined."""
    return next((each for each in servers_here() if each.writes_to(log)), None)


def states(follower: Follower, tail: LogTail | None, request: FollowRequest) -> Iterator[tuple[Followed, Instant]]:
    """Yield the server's state and its time on both clocks, again and again until the recovery is over."""
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
        followed = follower.state_at(at)
        yield followed, instant
        has_recovered = has_recovered or followed.state is State.RECOVERING
        is_new = has_recovered or (follower.began is not None and follower.began > began)
        if followed.is_over and (is_new or not request.waits):
            return
        says_nothing = followed.state is State.SILENT and not follower.complains(at)
        if says_nothing and at - began > _NOTHING_AFTER and not request.waits:
            return
        if tail is not None and tail.has_ended:
            return
        missing = follower.process is None or follower.is_gone
        if missing and request.log is not None and request.pid is None and at - sought >= _SEEK_EVERY:
            sought = at
            if (writer := _writer_of(request.log)) is not None:
                follower.attach(writer, at)
        time.sleep(EVERY)


def _hear(follower: Follower, tail: LogTail | None, instant: Instant) -> None:
    if tail is None:
        return
    for logged in tail.new_records(instant):
        follower.hear(logged)
    follower.hear_unfinished(tail.unfinished)


class _Printer:
    """Prints states: as JSON, in place on a terminal, elsewhere as lines. Unchanged ones only every `every` seconds."""

    def __init__(self, screen: Screen, every: float, as_json: bool) -> None:
        self._screen, self._every, self._as_json = screen, every, as_json
        self._shown_at = -math.inf
        self._shown: tuple[object, ...] = ()
        self._caution: str | None = None

    def show(self, followed: Followed, wall: float) -> None:
        """Print a state if phase or advice changed, or enough time has passed; `wall`: its wall time."""
        shown = followed.state, followed.phase, followed.advised.advice
        if shown == self._shown and followed.at - self._shown_at < self._every:
            return
        self._shown, self._shown_at = shown, followed.at
        if self._as_json:
            self._screen.say(_encoded(for_programs(followed, wall)))
        elif self._screen.is_terminal:
            self._screen.draw(followed.server, rows(followed, wall))
        else:
            # Said once, and again only where it has changed.
            caution = caution_in_words(followed)
            if caution is not None and caution != self._caution:
                self._caution = caution
                self._screen.say(caution)
            self._screen.say(line(followed, wall))


def _encoded(state: Mapping[str, object]) -> str:
    return msgspec.json.encode(state).decode()


def _follow_rollback(screen: Screen, rollback: RollbackWatch, every: float, as_json: bool) -> None:
    """Print how many rows are left to undo, until none is. Raises `FindingsMade` if the server is gone."""
    while True:
        at = now()
        rollback.look(at.monotonic)
        if rollback.has_stopped and rollback.rows is None:
            raise FindingsMade("the server does not answer any more: 'redolab timeline' on its log shows why")
        if as_json:
            state = {"at": at.wall, "rows_to_undo": rollback.rows, "left_s": rollback.seconds_left}
            screen.say(_encoded(state))
        else:
            screen.say(_in_words(rollback))
        if rollback.rows == 0 or rollback.has_stopped:
            return
        time.sleep(every)


def _in_words(rollback: RollbackWatch) -> str:
    rows, left = rollback.rows, rollback.seconds_left
    if rows is None:
        return "it cannot be asked yet"
    if rows == 0:
        return "nothing is left to be undone"
    if rollback.has_stopped:
        return f"{rows:,} row operations are left, and nothing undoes them: see XA RECOVER for what is prepared"
    ends = "" if left is None else f", {format_duration(left)} at this rate"
    return f"{rows:,} row operations are left to be undone{ends}"
