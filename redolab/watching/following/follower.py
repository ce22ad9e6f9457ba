"""A recovery that is followed: its log and its process together into how far it is, how long still, and what to do."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from enum import StrEnum

from redolab.errors import InvalidInput
from redolab.models.time_left import Done, Experience, TimeLeft, Track, time_left
from redolab.records.recovery import STUCK_AFTER
from redolab.servers.dialects import Version, dialect_of
from redolab.timeline.events import Family
from redolab.timeline.getting_on import Watch
from redolab.timeline.phase import Phase
from redolab.watching.following.advice import Advised, advised
from redolab.watching.following.log_tail import Said
from redolab.watching.following.process_course import ProcessCourse
from redolab.watching.following.recovery_log import RecoveryLog
from redolab.watching.following.server_process import Look, ShownProcess

_RATE_OVER = 10.0
"""Seconds over which a rate is shown."""
_STAMPS = 2.0
"""Seconds by which a stamp can be before the line: some have whole seconds."""


class State(StrEnum):
    """What a server is doing."""

    SILENT = "silent"
    """Nothing shows that it recovers."""
    RECOVERING = "recovering"
    ROLLING_BACK = "rolling back"
    """It takes connections, and undoes what was open at the crash."""
    READY = "ready"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """A server at one moment; times in seconds, redo in bytes."""

    at: float
    """Seconds since the epoch."""
    server: str
    state: State
    phase: Phase
    percent: int | None
    """Of the batch at hand, where its log says one."""
    batches: int
    """Complete ones."""
    done: Done
    left: TimeLeft | None
    """None where nothing is to be waited for, or no recovery like it is known."""
    redo_rate: float | None
    """Bytes of redo read a second."""
    disk_rate: float | None
    """Bytes a second that come from and go to disks."""
    rows_to_undo: int | None
    quiet: float | None
    """Since it got on last; None where that is not seen."""
    advised: Advised
    ended: str | None
    """How it ended, in words."""


class Follower:
    """Takes in lines and looks, and says how a server stands."""

    def __init__(
        self,
        experience: Experience,
        process: ShownProcess | None,
        now: float,
        *,
        server: str | None = None,
        has_log: bool = True,
    ) -> None:
        """`now`: seconds since the epoch; `server`: as in mysql-9.7, where the log does not say which it is.

        Raises `InvalidInput` if that names none.
        """
        self._experience = experience
        self._process = process
        self._kind = None if server is None else _kind(server)
        self._has_log = has_log
        self._log = RecoveryLog(began=None if process is None else process.started)
        self._course = ProcessCourse(now if process is None else process.started)
        self._watch = Watch(now)
        self._redo = None if process is None else process.redo()
        self._limit = None if process is None else process.start_limit()
        self._looks: deque[tuple[float, float, float | None]] = deque()
        self._tracks: tuple[str | None, list[Track]] | None = None
        self._last_look: Look | None = None
        self._is_gone = False

    def hear(self, said: Said) -> None:
        """Take in what its log says; lines of a process before it are not its own."""
        if self._process is not None and said.at < self._process.started - _STAMPS:
            return
        self._log.hear(said.record, said.at)
        self._watch.hear(said.at, (said.record.text,))

    def look(self, now: float) -> None:
        """Look at its process, if that is known."""
        if self._process is None:
            return
        look = self._process.look(now)
        if look is None:
            self._is_gone = True
            return
        self._last_look = look
        self._course.see(look, self._total)
        moved = (look.read or 0) + (look.sequential or 0) + (look.mapped or 0)
        self._watch.see(look.at, moved, look.written or 0)

    def stands(self, now: float) -> Followed:
        """How it stands now."""
        done, state = self._done(now), self._state()
        is_recovering = state is State.RECOVERING
        phase = self._phase(done, state)
        left = self._left(done) if is_recovering else None
        quiet = self._quiet(now) if is_recovering else None
        redo_rate, disk_rate = self._rates(now, done)
        return Followed(
            at=now,
            server=self._name(),
            state=state,
            phase=phase,
            percent=self._log.percent,
            batches=self._log.batches,
            done=done,
            left=left,
            redo_rate=redo_rate,
            disk_rate=disk_rate,
            rows_to_undo=self._log.rows_to_undo,
            quiet=quiet,
            advised=advised(
                phase=phase,
                elapsed=done.elapsed,
                left=left,
                quiet=quiet,
                stuck_after=STUCK_AFTER,
                blocked=self._log.blocked > 0,
                limit=self._limit,
                is_extended=self._log.family is Family.MARIADB,
            ),
            ended=self._log.ended or ("its process has ended" if self._is_gone else None),
        )

    @property
    def ready_after(self) -> float | None:
        """Seconds from its start to ready; None while it is not, or where its start is not known."""
        if self._log.ready is None or self._log.began is None:
            return None
        return self._log.ready - self._log.began

    @property
    def _total(self) -> int | None:
        return None if self._redo is None else self._redo.redo

    def _state(self) -> State:
        listens = self._last_look is not None and self._last_look.listens
        if self._log.ready is not None or (listens and not self._has_log):
            undoes = self._log.rows_to_undo is not None and not self._log.undone
            return State.ROLLING_BACK if undoes and not self._is_gone else State.READY
        if self._log.ended is not None or self._is_gone:
            return State.ENDED
        return State.RECOVERING if self._log.recovers or self._course.has_read else State.SILENT

    def _done(self, now: float) -> Done:
        """What the log says, and where it says nothing what the process does."""
        most = None if self._redo is None else self._redo.capacity
        seen = self._course.done(now, self._total, most)
        if self._process is not None and not self._log.recovers:
            return seen
        told = self._log.done(now, self._total, most)
        if told.batches == 0 and told.in_batch_s == 0 and self._course.has_read and seen.read > told.read:
            # It reads, and says so less often than it does.
            return replace(told, read=seen.read, reading_s=told.reading_s or seen.reading_s)
        return told

    def _phase(self, done: Done, state: State) -> Phase:
        if state is State.ROLLING_BACK:
            return Phase.ROLLBACK
        if self._log.recovers or self._log.events > 0:
            return self._log.phase
        if done.in_batch_s > 0:
            return Phase.APPLY
        return Phase.SCAN if done.read > 0 else Phase.DISCOVER

    def _left(self, done: Done) -> TimeLeft | None:
        kind = self._kind or (None if self._log.version is None else _kind_said(self._log))
        if self._tracks is None or self._tracks[0] != kind:
            self._tracks = kind, self._experience.tracks(kind)
        return time_left(done, self._tracks[1], self._experience.widening)

    def _quiet(self, now: float) -> float | None:
        if self._process is None and not self._log.blocked:
            # A log that says nothing shows nothing.
            return None
        return self._watch.quiet(now)

    def _rates(self, now: float, done: Done) -> tuple[float | None, float | None]:
        look = self._last_look
        moved = None if look is None else float((look.read or 0) + (look.written or 0))
        self._looks.append((now, done.read, moved))
        while len(self._looks) > 1 and now - self._looks[0][0] > _RATE_OVER:
            self._looks.popleft()
        then, read, before = self._looks[0]
        if now - then <= 0:
            return None, None
        disk = None if moved is None or before is None else (moved - before) / (now - then)
        return max(0.0, done.read - read) / (now - then), disk

    def _name(self) -> str:
        version = "" if self._log.version is None else f" {self._log.version}"
        if self._process is not None:
            return f"{self._process.name}{version}, process {self._process.pid}"
        return f"{self._log.family or 'server'}{version}"


def _kind(server: str) -> str:
    """The kind of a server named as in mysql-9.7. Raises `InvalidInput`."""
    family, _, version = server.partition("-")
    if not version:
        raise InvalidInput(f"'{server}' names no server", "name family and version, as in mysql-9 or mariadb-11.8")
    return dialect_of(family, Version.parse(version if "." in version else f"{version}.0")).recovery_log


def _kind_said(log: RecoveryLog) -> str | None:
    """The kind of a server by what its log says."""
    family = "mariadb" if log.family is Family.MARIADB or "MariaDB" in (log.version or "") else "mysql"
    try:
        return dialect_of(family, Version.parse(log.version or "")).recovery_log
    except InvalidInput:
        return None
