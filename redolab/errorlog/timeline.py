"""Starts in a log: the timelines of those that recovered, and the ends of all."""

from __future__ import annotations

from datetime import datetime

import msgspec

from redolab.errorlog.kinds import Phase, StartKind
from redolab.errorlog.stamps import Clock


class PhaseTime(msgspec.Struct, frozen=True):
    """Time that a phase took: `seconds`, or None and in `why` the reason in words."""

    phase: Phase
    seconds: float | None
    why: str | None


class PhasePart(msgspec.Struct, frozen=True):
    """Time that a part of a phase took."""

    phase: Phase
    part: str
    seconds: float


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """A recovery.

    `source`: the server as the collector of the log names it, None where it does not. `family` and `version` are None
    where the log does not name them.

    `start`, `ready`, `end`: times of the server's first line, of ready, and of the end of the rollback too, as
    stamped in the log, with the offset where the stamps have one. `clock`: source of all seconds; `resolution`: its
    step.

    `seconds_to_ready`: from `start` to `ready`; `seconds`: to `end`, the later of ready and of the completed
    rollback. Without the server's first line both count from the line that says that a recovery is needed.
    `seconds_at_least`: for a recovery that did not finish, from its beginning to its last line in the log.
    `rollback_start`, `rollback_seconds`: of the rollback, which may begin before the server is ready.

    `checkpoint_lsn`, `end_lsn`: bytes; `reached_lsn`: the last LSN that the recovery reported to have reached.
    `pages`: to recover, as the log says, summed over `batches` (a page can be in several); `transactions`, `rows`:
    found to be rolled back or cleaned up; `prepared`: found prepared, for the binary log or XA COMMIT to decide.

    `complete`: True if the log holds the whole recovery, from the server's start to the end.
    """

    source: str | None
    family: str | None
    version: str | None
    start: datetime | None
    ready: datetime | None
    end: datetime | None
    clock: Clock
    resolution: float
    seconds_to_ready: float | None
    seconds: float | None
    phases: tuple[PhaseTime, ...]
    rollback_start: datetime | None
    rollback_seconds: float | None
    checkpoint_lsn: int | None
    end_lsn: int | None
    pages: int | None
    batches: int | None
    transactions: int | None
    rows: int | None
    rolled_back: int | None
    complete: bool
    ended: str
    notes: tuple[str, ...] = ()
    prepared: int | None = None
    parts: tuple[PhasePart, ...] = ()
    kind: StartKind = StartKind.SERVER
    seconds_at_least: float | None = None
    reached_lsn: int | None = None

    @property
    def redo_bytes(self) -> int | None:
        """Bytes of redo from the checkpoint to the end of the log."""
        if self.checkpoint_lsn is None or self.end_lsn is None or self.end_lsn < self.checkpoint_lsn:
            return None
        return self.end_lsn - self.checkpoint_lsn

    @property
    def left_nothing_to_undo(self) -> bool:
        """True if nothing was left to roll back when the log ends: some rollbacks have no line that says so."""
        if self.rows == 0 or self.transactions is None:
            return True
        return (self.rolled_back or 0) >= self.transactions - (self.prepared or 0)

    def phase(self, phase: Phase) -> PhaseTime:
        """Return one of its phases."""
        return next(time for time in self.phases if time.phase is phase)

    def seconds_of(self, part: str) -> float | None:
        """Return the seconds of a part of a phase, by its name; None if the log does not have them."""
        return next((each.seconds for each in self.parts if each.part == part), None)


def as_json(timeline: Timeline) -> bytes:
    """Return the timeline as JSON, with its redo in bytes."""
    redo = b"null" if timeline.redo_bytes is None else b"%d" % timeline.redo_bytes
    return msgspec.json.encode(timeline)[:-1] + b',"redo_bytes":' + redo + b"}"


class UndecidedStart(msgspec.Struct, frozen=True):
    """Start that may have recovered or not: InnoDB's lines are lost, and nothing else is proof.

    `innodb_seconds`: of InnoDB's own start, recovery included, where the log has its lines; `before`: how the server
    before it in the log ended, None where the log has nothing of it; `why`: the reason why the log does not show it.
    """

    start: datetime | None
    ready: datetime | None
    seconds_to_ready: float | None
    innodb_seconds: float | None
    before: str | None
    why: str


class FoundStart(msgspec.Struct, gc=False):
    """A start of a server, with or without a recovery.

    `number`: of the record with which it begins, over the whole log; `source`: as for `Timeline`; `began`, `last`:
    time of its first and its last line, as stamped. `reached`: True if it reached its goal: the server took
    connections, or a backup is prepared. `end`: reason why no more lines of it follow, as for a server; `ended`: the
    same in words, with the error if that is the reason. `recovery`: its timeline, if the log proves that it recovered;
    `undecided`: if the log does not show whether it did.
    """

    number: int
    source: str | None
    kind: StartKind
    began: datetime | None
    last: datetime | None
    reached: bool
    end: str
    ended: str
    recovery: Timeline | None = None
    undecided: UndecidedStart | None = None
