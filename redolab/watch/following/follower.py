"""A recovery that is followed: its log and its process together into how far it is, how long still, and what to do."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from redolab.errorlog.kinds import Family, Phase
from redolab.errorlog.stamps import records
from redolab.errorlog.tablespaces import FilesSeen
from redolab.errorlog.watch import Watch
from redolab.errors import InvalidInput
from redolab.servers.dialects import Dialect, Version, dialect_named, dialect_of
from redolab.watch.following.advice import Advice, Advised, Standstill, advised, advised_of_unknown
from redolab.watch.following.binary_log_course import BinaryLogCourse, BinaryLogSeen
from redolab.watch.following.log_course import LogCourse
from redolab.watch.following.log_tail import LoggedRecord
from redolab.watch.following.process_course import ProcessCourse
from redolab.watch.following.server_process import Look, ShownProcess
from redolab.watch.following.service import StartLimit
from redolab.watch.following.time_left import ANY_KIND, Done, Held, RecordedRecoveries, TimeLeft, Way, time_left

_RATE_OVER = 10.0
"""Seconds over which a rate is shown."""
_STAMPS = 2.0
"""Seconds by which a stamp can be before the line: some have whole seconds."""
_SAYS_READY_WITHIN = 5.0
"""Seconds from the first look at which a server takes connections to its saying so; its log may go elsewhere by now."""
_COMPLAINS_EVERY = 5.0
"""Seconds for which a complaint about free blocks counts: a server repeats it hundreds of times a second."""
_GONE = "its process has ended; if its log has no reason, the kernel may have killed it for memory (dmesg)"
_LEAST_REDO = 64 * 1024
"""Bytes: after a clean shutdown there is less."""
_LIMIT_EVERY = 30.0
"""Seconds between two reads of the unit's timeout, which may change meanwhile."""


class State(StrEnum):
    """Activity of a server."""

    SILENT = "silent"
    """No sign of a start is visible."""
    STARTING = "starting"
    """The server is being started, and nothing shows that it recovers."""
    RECOVERING = "recovering"
    ROLLING_BACK = "rolling back"
    """The server takes connections and rolls back transactions that were open at the crash."""
    READY = "ready"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """State of a server at one time; times in seconds, redo in bytes."""

    at: float
    """Seconds of the monotonic clock."""
    server: str
    state: State
    phase: Phase
    percent: int | None
    """Percent of the current batch, if the log reports it."""
    batches: int
    """Complete ones."""
    done: Done
    left: TimeLeft | None
    """Time left; None if there is nothing to wait for, or no recovery like it is known."""
    held: Held | None
    """Share of such intervals that held for servers of its kind; None if that is not known."""
    redo_rate: float | None
    """Bytes of redo read a second."""
    disk_rate: float | None
    """Bytes a second that come from and go to disks."""
    files: FilesSeen | None
    """Progress with its tablespace files, while it looks at them."""
    binary_log: BinaryLogSeen | None
    """Progress with its last binary log file, while it reads it."""
    rows_to_undo: int | None
    newer_than_known: str | None
    """Remark that the log of so new a server is not known yet."""
    quiet: float | None
    """Seconds since the last progress; None where progress cannot be seen."""
    advised: Advised
    ended: str | None
    """End of the server, in words."""

    @property
    def is_over(self) -> bool:
        """True if the server takes connections, or has ended."""
        return self.state in (State.READY, State.ROLLING_BACK, State.ENDED)


class Follower:
    """State of a server by its log and its process. All times are seconds of one monotonic clock."""

    def __init__(
        self,
        experience: RecordedRecoveries,
        process: ShownProcess | None,
        now: float,
        *,
        server: str | None = None,
        has_log: bool = True,
    ) -> None:
        """Begin to follow. `server`: a name as in mysql-9.7, if the log does not name the server.

        Raises `InvalidInput` if `server` names none.
        """
        self._experience = experience
        self._named = None if server is None else dialect_named(server)
        self._has_log = has_log
        self._log = LogCourse()
        self._rates: deque[tuple[float, float, float | None]] = deque()
        self._courses_of = cache(experience.courses_of)
        self.attach(process, now)

    def attach(self, process: ShownProcess | None, now: float) -> None:
        """Follow this process from now on: of another start, or not found until now."""
        self.process = process
        self._course = ProcessCourse(now if process is None else process.started)
        self._binary_log = BinaryLogCourse()
        self._watch = Watch(now)
        self._redo = None if process is None else process.redo()
        self._limit: StartLimit | None = None
        self._limit_due = 0.0
        self._last_look: Look | None = None
        self._listens_since: float | None = None
        self._mapped = 0
        self._rates.clear()
        self.is_gone = False
        if process is not None and (self._log.began is None or self._log.began < process.started - _STAMPS):
            # The log lines so far belong to an earlier start.
            self._log = LogCourse()

    def hear(self, logged: LoggedRecord) -> None:
        """Take in a record of the log; those before the start of the process belong to another."""
        if self.process is not None and logged.at < self.process.started - _STAMPS:
            return
        began = self._log.began
        self._log.hear(logged.record, logged.at)
        if self._log.began not in (None, began):
            # Lines of another start say nothing about this one.
            self._watch = Watch(logged.at)
        self._watch.hear(logged.at, logged.record)

    def hear_line(self, text: str, at: float) -> None:
        """Take in the records of a line logged at that time."""
        for record in records(text):
            self.hear(LoggedRecord(record, at))

    def hear_unfinished(self, text: str) -> None:
        """Take in the beginning of a line whose end has not come yet."""
        self._log.hear_unfinished(text)

    def look(self, now: float) -> None:
        """Look at the server's process, if it is known."""
        if self.process is None or self.is_gone:
            return
        look = self.process.look(now)
        if look is None:
            self.is_gone = True
            return
        self._last_look = look
        if look.listens and self._listens_since is None:
            self._listens_since = now
        if self._redo is None and not look.listens:
            # Right after its start a server is not in its data directory yet.
            self._redo = self.process.redo()
        self._course.see(look, self._total, self._most)
        self._binary_log.see(look.at, look.binary_log)
        # The redo in memory can shrink.
        self._mapped = max(self._mapped, look.mapped or 0)
        # Complaints are written to the log, and are no pages.
        written = 0 if self.complains(now) else look.written or 0
        self._watch.see(look.at, (look.read or 0) + (look.called or 0) + self._mapped, written)
        if now >= self._limit_due:
            self._limit, self._limit_due = self.process.start_limit(), now + _LIMIT_EVERY

    def state_at(self, now: float) -> Followed:
        """Return the state at that time."""
        done, state = self._done(now), self._state(now)
        phase = self._phase(done, state)
        start = self._log.start
        files = None if state is State.ENDED or start is None else start.files.seen(now)
        binary_log = self._binary_log.seen() if state in (State.STARTING, State.RECOVERING) else None
        # In no recorded recovery did tablespace files take longer than redo, or was a large binary log read.
        is_redo = files is None and binary_log is None
        left = self._left(done) if state is State.RECOVERING and is_redo else None
        standstill = self._standstill(now)
        redo_rate, disk_rate = self._rates_at(now, done)
        advice = Advised(Advice.NONE)
        if state is State.SILENT and standstill.is_blocked:
            advice = advised_of_unknown(standstill)
        if state is State.RECOVERING:
            advice = advised(done.elapsed, left, standstill, self._limit_that_holds())
            if advice.advice is not Advice.WAIT:
                # Without progress the time left is unknown.
                left = None
        return Followed(
            at=now,
            server=self._name(),
            state=state,
            phase=phase,
            percent=None if start is None else start.redo.percent,
            batches=0 if start is None else start.redo.complete,
            done=done,
            left=left,
            held=None if left is None else self._experience.held.get(self._way(), {}).get(self._kind() or ANY_KIND),
            redo_rate=redo_rate,
            disk_rate=disk_rate,
            files=files,
            binary_log=binary_log,
            rows_to_undo=None if start is None else start.rows,
            newer_than_known=None if start is None else start.newer_than_known,
            quiet=standstill.quiet,
            advised=advice,
            ended=self._log.writer.ended or (_GONE if self.is_gone else None),
        )

    @property
    def began(self) -> float | None:
        """Time at which the server began; None if that is not known."""
        return self._log.began if self.process is None else self.process.started

    @property
    def ready_after(self) -> float | None:
        """Seconds from its start to ready; None while it is not, or where its start is not known."""
        if self._log.ready is None or self.began is None:
            return None
        return self._log.ready - self.began

    @property
    def _total(self) -> float | None:
        stated = None if self._log.start is None else self._log.start.redo.checkpoint
        if self._redo is None or (stated is not None and stated != self._redo.checkpoint):
            # The files were read too late: they are of the next recovery.
            return None
        return None if self._redo.redo is None else float(self._redo.redo)

    @property
    def _most(self) -> float | None:
        return None if self._redo is None else float(self._redo.capacity)

    def _state(self, now: float) -> State:
        if self._log.writer.ended is not None or self.is_gone:
            return State.ENDED
        since = self._listens_since
        listens = since is not None and (not self._has_log or now - since >= _SAYS_READY_WITHIN)
        if self._log.ready is not None or listens:
            return State.ROLLING_BACK if self._log.undoes else State.READY
        has_redo = self._total is None or self._total >= _LEAST_REDO
        if self._log.recovers or (since is None and self._course.has_read and has_redo):
            return State.RECOVERING
        return State.SILENT if self.process is None and self._log.began is None else State.STARTING

    def _done(self, now: float) -> Done:
        """Return the progress by the log, or by the process where the log reports none."""
        by_process = self._course.done(now, self._total, self._most)
        if self.process is not None and not self._log.recovers:
            return by_process
        by_log = self._log.done(now, self._total, self._most)
        if self.process is not None:
            by_log = replace(by_log, elapsed=by_process.elapsed)
        is_silent = by_log.read == 0 or (by_log.complete == 0 and by_log.in_batch_s == 0)
        if is_silent and self._course.has_read and by_process.read > by_log.read:
            # The server reads, but its log reports that less often.
            return replace(by_log, read=by_process.read, reading_s=by_log.reading_s or by_process.reading_s)
        return by_log

    def _phase(self, done: Done, state: State) -> Phase:
        if state is State.ROLLING_BACK:
            return Phase.ROLLBACK
        phase = Phase.DISCOVER if self._log.start is None else self._log.start.redo.phase
        if self._log.recovers or phase is not Phase.DISCOVER:
            is_all = done.total is not None and done.complete >= done.total > 0 and done.in_batch_s == 0
            return Phase.OPEN if is_all and phase is Phase.SCAN else phase
        if done.in_batch_s > 0:
            return Phase.APPLY
        return Phase.SCAN if self._course.has_read else Phase.DISCOVER

    def _left(self, done: Done) -> TimeLeft:
        kind = self._kind()
        # Recorded servers with silent logs are no measure for one that is seen reading.
        courses = self._courses_of(kind, shows_reading=done.read > 0)
        return time_left(done, courses, self._experience.widening_of(self._way(), kind))

    def _kind(self) -> str | None:
        dialect = self._dialect()
        return None if dialect is None else dialect.recovery_log

    def _way(self) -> Way:
        if self.process is None:
            return Way.LOG
        return Way.PROCESS if self._has_log else Way.PROCESS_ALONE

    def complains(self, now: float) -> bool:
        """Return True if the server reports that it finds no free block."""
        complaints = self._log.writer.complaints
        return complaints is not None and now - complaints.last.at < _COMPLAINS_EVERY

    def _standstill(self, now: float) -> Standstill:
        since, look = self._log.complains_since, self._last_look
        sees = look is not None and (look.read is not None or look.called is not None)
        return Standstill(
            quiet=self._watch.quiet(now) if sees else None,
            blocked=now - since if since is not None and self.complains(now) else 0.0,
            sees_process=sees,
        )

    def _rates_at(self, now: float, done: Done) -> tuple[float | None, float | None]:
        look = self._last_look
        moved = None if look is None else float((look.read or 0) + (look.written or 0))
        self._rates.append((now, done.read, moved))
        while len(self._rates) > 1 and now - self._rates[0][0] > _RATE_OVER:
            self._rates.popleft()
        then, read, before = self._rates[0]
        if now - then <= 0:
            return None, None
        disk = None if moved is None or before is None else max(0.0, moved - before) / (now - then)
        return max(0.0, done.read - read) / (now - then), disk

    def _dialect(self) -> Dialect | None:
        """Return the dialect of the server, by its name or by the version in its log."""
        start = self._log.start
        if self._named is not None or start is None or start.version is None:
            return self._named
        family = "mariadb" if start.family is Family.MARIADB else "mysql"
        try:
            return dialect_of(family, Version.parse(start.version))
        except InvalidInput:
            return None

    def _limit_that_holds(self) -> StartLimit | None:
        """Return the limit of its unit, unless the server extends it itself while it makes progress (MDEV-17571)."""
        dialect = self._dialect()
        if dialect is not None:
            is_extended = dialect.start_timeout.is_extended
        else:
            is_extended = self.process is not None and self.process.name == "mariadbd"
        return None if is_extended and self._limit is not None and not self._limit.is_fixed else self._limit

    def _name(self) -> str:
        start = self._log.start
        version = "" if start is None or start.version is None else f" {start.version}"
        if self.process is not None:
            return f"{self.process.name}{version}, process {self.process.pid}"
        return f"{(start and start.family) or 'server'}{version}"
