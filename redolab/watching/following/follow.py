"""`redolab follow`: a recovery that is running, looked at until it is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
import psutil
from rich.console import Console
from rich.live import Live

from redolab.errors import FindingsMade, InvalidInput
from redolab.models.time_left import Experience, TimeLeft
from redolab.project import PROJECT
from redolab.servers.address import Address
from redolab.units import format_duration
from redolab.watching.following.advice import Advice
from redolab.watching.following.follower import Followed, Follower, State
from redolab.watching.following.log_tail import LogTail
from redolab.watching.following.rollback import RollbackWatch
from redolab.watching.following.server_process import ServerProcess
from redolab.watching.following.view import block, for_programs, line, summary

_LOOK_EVERY = 0.25
"""Seconds between two looks at the log and the process."""
SHORTEST = 0.25
_QUIET_START = 10.0
"""Seconds after which a server that shows no recovery is said to have none, unless it is to be waited for."""

Show = Callable[[Followed], None]


def experience() -> Experience:
    """What the recoveries that come with redolab tell of others. Raises `InvalidInput` if their file is damaged."""
    path = PROJECT.provision / "recoveries.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Experience)
    except (OSError, msgspec.DecodeError) as error:
        raise InvalidInput(f"{path}: {error}", "'redolab follow --errors -o FILE' makes it again") from error


def follow(
    console: Console,
    log: Path | None,
    pid: int | None,
    *,
    address: Address | None,
    server: str | None,
    every: float,
    as_json: bool,
    waits: bool,
) -> None:
    """Follow a recovery until the server is ready, or to the end of its rollback where an address is given.

    `log`: its error log, "-" for standard input, None to find it by the process. Raises `InvalidInput`, `FindingsMade`.
    """
    if every < SHORTEST:
        raise InvalidInput(f"a look every {every:g} s is not possible", f"choose {SHORTEST:g}s or more")
    process, tail = _found(log, pid)
    follower = Follower(experience(), process, time.time(), server=server, has_log=tail is not None)
    rollback = None if address is None else RollbackWatch(address)
    try:
        first: tuple[TimeLeft | None, float | None] = None, None
        with _shown(console, every, as_json) as show, suppress(KeyboardInterrupt):
            for stands in _looks(follower, tail, waits=waits):
                if first[0] is None and stands.left is not None:
                    first = stands.left, stands.at
                show(stands)
        last = follower.stands(time.time())
        if not as_json:
            for said in summary(last, follower.ready_after, *first):
                console.print(said, highlight=False, markup=False, soft_wrap=True)
        if last.state in (State.READY, State.ROLLING_BACK) and rollback is not None:
            with suppress(KeyboardInterrupt):
                _undone(console, rollback, every)
    finally:
        if tail is not None:
            tail.close()
        if rollback is not None:
            rollback.close()
    if last.state is State.ENDED or last.advised.advice is not Advice.WAIT:
        raise FindingsMade(last.ended or last.advised.words[0])


def _found(log: Path | None, pid: int | None) -> tuple[ServerProcess | None, LogTail | None]:
    """The process and the log, where one of them is found by the other."""
    if log is None and pid is None:
        raise InvalidInput("neither a log nor a process was named", "name the server's error log, or --pid")
    process = None if pid is None else ServerProcess(pid)
    if log is None and process is not None:
        log = process.error_log
        return process, None if log is None else LogTail(log)
    if str(log) == "-":
        return process, LogTail(None)
    assert log is not None
    tail = LogTail(log)
    return process or _writer_of(log), tail


def _writer_of(log: Path) -> ServerProcess | None:
    """The server on this machine that writes this log; None where there is none, or it may not be looked at."""
    with suppress(OSError):
        there = log.stat()
        for each in psutil.process_iter(["name"]):
            if each.info["name"] not in ("mysqld", "mariadbd"):
                continue
            for number in (1, 2):
                with suppress(OSError):
                    its = Path(f"/proc/{each.pid}/fd/{number}").stat()
                    if (its.st_dev, its.st_ino) == (there.st_dev, there.st_ino):
                        with suppress(InvalidInput):
                            return ServerProcess(each.pid)
    return None


def _looks(follower: Follower, tail: LogTail | None, *, waits: bool) -> Iterator[Followed]:
    """How it stands, again and again until it is over; `waits`: for the next recovery, if there is none."""
    began, has_recovered = time.monotonic(), False
    while True:
        for said in () if tail is None else tail.said():
            follower.hear(said)
        now = time.time()
        follower.look(now)
        stands = follower.stands(now)
        yield stands
        has_recovered = has_recovered or stands.state is State.RECOVERING
        silent = stands.state is State.SILENT and time.monotonic() - began > _QUIET_START
        over = stands.state in (State.READY, State.ROLLING_BACK, State.ENDED)
        if (over or silent) and (has_recovered or not waits):
            return
        if tail is not None and tail.has_ended:
            return
        time.sleep(_LOOK_EVERY)


@contextmanager
def _shown(console: Console, every: float, as_json: bool) -> Iterator[Show]:
    """While in it: shows moments, in the place of the one before on a terminal, as lines or objects anywhere else."""
    shown_at, said = 0.0, ""

    def is_due(followed: Followed) -> bool:
        nonlocal shown_at, said
        what = f"{followed.state} {followed.phase} {followed.advised.advice}"
        if what == said and followed.at - shown_at < every:
            return False
        shown_at, said = followed.at, what
        return True

    if as_json:

        def show_object(followed: Followed) -> None:
            if is_due(followed):
                console.file.write(msgspec.json.encode(for_programs(followed)).decode() + "\n")
                console.file.flush()

        yield show_object
    elif console.is_terminal:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            yield lambda followed: live.update(block(followed), refresh=True) if is_due(followed) else None
    else:

        def show_line(followed: Followed) -> None:
            if is_due(followed):
                console.print(line(followed), highlight=False, markup=False, soft_wrap=True)

        yield show_line


def _undone(console: Console, rollback: RollbackWatch, every: float) -> None:
    """Say how many rows are left to be undone, until none is."""
    while True:
        rows = rollback.look(time.monotonic())
        if rows == 0:
            console.print("nothing is left to be undone", highlight=False)
            return
        left = rollback.seconds_left
        ends = "" if left is None else f", {format_duration(left)} at this rate"
        what = "it cannot be asked yet" if rows is None else f"{rows:,} row operations are left to be undone{ends}"
        console.print(what, highlight=False, markup=False, soft_wrap=True)
        time.sleep(every)
