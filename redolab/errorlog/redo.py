"""Redo of a recovery: how far the server has read and applied it, and how long its turns took."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from redolab.errorlog.clocks import LogMoment, Total
from redolab.errorlog.kinds import Phase, integer

MIXED_TURNS = "MariaDB scans on between batches and does not say when one ends"
LOG_BEGINS_LATER = "the log begins after this"
_LAST_BATCH = "last"
_PERCENTS = re.compile(r"(?:InnoDB: )?(?:Progress in percents?: ?)?(?P<percents>\d{1,3}%?(?: \d{1,3}%?)*) ?")
"""Pattern of a whole line that counts percents, or of its continuation."""
_PERCENT = re.compile(r"\d{1,3}")
_ALL = 100


@dataclass(slots=True)
class ApplyBatch:
    """Apply batch: pages that are being brought up to date."""

    since: float
    upto: int | None
    """LSN of the redo that it holds."""
    pages: int | None
    """Pages to do when it began."""
    share: float = 0.0
    """Share of it that a line reported as done."""
    shown_at: float | None = None
    """Time of the last such line."""

    def show(self, share: float, at: float) -> None:
        """Take in a share, unless an earlier line had as much."""
        if share > self.share:
            self.share, self.shown_at = share, at


@dataclass(slots=True)
class Redo:
    """Redo read and applied so far.

    `follow` reads its LSNs and the seconds of the clock on which lines arrive. A timeline takes `scan` and `apply`, on
    every clock: MySQL applies a batch whenever its memory for parsed redo is full. MariaDB does not say when a batch
    ends. To 10.5 it scans on between batches, so that neither can be timed (`is_mixed`); later it has read all redo
    before the first batch, and reading it again between batches counts as apply.
    """

    phase: Phase = Phase.DISCOVER
    checkpoint: int | None = None
    scanned: int | None = None
    first_scanned: int | None = None
    end: int | None = None
    """End of the redo, once a line names it."""
    applied: int | None = None
    """LSN up to which the complete batches reach."""
    begun: int = 0
    """Batches that began."""
    complete: int = 0
    pages: int | None = None
    """Pages of all batches together."""
    batch: ApplyBatch | None = None
    key: str | None = None
    """Mark of MariaDB's batch that began last, the same in each of its lines; other servers do not count its pages down."""
    unfinished_percent: int | None = None
    """Percent of the current batch in a line that has no end yet: servers up to 8.0.15 end the line with the batch."""
    turn: LogMoment | None = None
    """Beginning of the current turn; None while nobody knows."""
    first_batch: LogMoment | None = None
    is_applying: bool = False
    is_mixed: bool = False
    scan: Total = field(default_factory=Total)
    apply: Total = field(default_factory=Total)
    _unsettled: tuple[Total, LogMoment, LogMoment] | None = None
    """The last turn that is over: its end may still get a stamp from the line that follows."""
    _reading_since: float | None = None
    _reading_seconds: float = 0.0
    _applying_seconds: float = 0.0

    @property
    def is_last(self) -> bool:
        """True if MariaDB's last batch has begun."""
        return self.key == _LAST_BATCH

    @property
    def percent(self) -> int | None:
        """Percent of the current batch, where a line has one."""
        if self.batch is None or self.batch.shown_at is None:
            return self.unfinished_percent
        return round(_ALL * self.batch.share)

    def bytes_to(self, lsn: int | None) -> float:
        """Return the bytes from the checkpoint to an LSN, or from the first LSN that was read if no line names it."""
        begin = self.checkpoint or self.first_scanned
        return 0.0 if begin is None or lsn is None else float(max(0, lsn - begin))

    def reading_seconds(self, now: float) -> float:
        """Return the seconds spent reading by now."""
        return self._reading_seconds + (0.0 if self._reading_since is None else now - self._reading_since)

    def applying_seconds(self, now: float) -> float:
        """Return the seconds spent in batches by now."""
        return self._applying_seconds + (0.0 if self.batch is None else max(0.0, now - self.batch.since))

    def read(self, at: float, phase: Phase) -> None:
        """Begin to read, or go on."""
        self.phase = phase
        if self._reading_since is None:
            self._reading_since = at

    def read_to(self, lsn: int, at: float, *, is_ready: bool) -> None:
        """Take in an LSN that has been read."""
        self.first_scanned = self.first_scanned or lsn
        # A second batch reads from its own beginning again: the end is where the first came to.
        self.scanned = max(lsn, self.scanned or 0)
        if self.batch is None and not is_ready:
            self.read(at, Phase.SCAN)

    def begin_batch(self, moment: LogMoment, at: float, pages: int | None) -> None:
        """Begin a batch, or go on with the current one if no line has ended it."""
        self._count_batch(moment, pages)
        if self.batch is None:
            self._apply(at, self.scanned, pages)
        else:
            self.batch.pages = pages

    def end_batch(self, moment: LogMoment, at: float) -> None:
        """End the current batch."""
        self.end_turn(moment)
        self.complete_batch(at)

    def pages_left(self, which: str | None, upto: str | None, pages: int, moment: LogMoment, at: float) -> None:
        """Begin a batch of MariaDB, or, 15 s later, take in how much of it is left.

        `which`: "a" batch of many or the "final" one, where the line says it; `upto`: LSN of its redo.
        """
        one_of_many = which == "a"
        key = f"a {moment.number}" if one_of_many else upto or _LAST_BATCH
        is_new = key != self.key
        if is_new:
            self.key = key
            if one_of_many:
                # The scan goes on after this batch, and no line says when.
                self.is_mixed = True
                self._fail(MIXED_TURNS)
            self._count_batch(moment, pages)
        batch = self.batch
        if batch is None or is_new or which is not None:
            self.complete_batch(at)
            self._apply(at, self.scanned if which else integer(upto) or self.end or self.scanned, pages)
            return
        batch.pages = max(pages, batch.pages or pages)
        batch.show(1 - pages / batch.pages if batch.pages else 1.0, at)

    def complete_batch(self, at: float) -> None:
        """Complete the current batch; the server reads more redo after it, unless it has read all."""
        batch = self.batch
        if batch is None:
            return
        self._applying_seconds += at - batch.since
        self.applied = max(batch.upto or 0, self.applied or 0) or None
        self.complete += 1
        self.batch = None
        if self.end is not None and (self.applied or 0) >= self.end:
            self.phase = Phase.OPEN
        else:
            self.read(at, Phase.SCAN)

    def leave(self, phase: Phase, at: float) -> None:
        """Record that all redo is applied, and that the server is in a later phase."""
        self.complete_batch(at)
        self._pause(at)
        self.phase = phase

    def percents(self, text: str, at: float) -> None:
        """Take in a whole line of percents; any other line changes nothing."""
        if self.batch is not None and (found := _PERCENTS.fullmatch(text)) is not None:
            self.unfinished_percent = None
            if (percent := _highest(found["percents"])) is not None:
                self.batch.show(percent / _ALL, at)

    def unfinished_percents(self, text: str) -> None:
        """Take in the beginning of a line whose end has not come yet."""
        found = _PERCENTS.fullmatch(text)
        self.unfinished_percent = None if found is None else _highest(found["percents"])

    def end_turn(self, moment: LogMoment) -> None:
        """End the turn in which redo is applied."""
        if self.is_applying:
            self._change(self.apply, moment)
            self.is_applying = False
        elif not self.begun:
            self._fail(LOG_BEGINS_LATER)
            self.turn, self.begun = moment, 1

    def settle(self) -> None:
        """Add up the turns that are over."""
        if self._unsettled:
            total, begin, end = self._unsettled
            total.add(begin, end)
            self._unsettled = None

    def _count_batch(self, moment: LogMoment, pages: int | None) -> None:
        self.begun += 1
        self.first_batch = self.first_batch or moment
        if pages is not None:
            self.pages = (self.pages or 0) + pages
        if not self.is_applying:
            self._change(self.scan, moment)
            self.is_applying = True

    def _apply(self, at: float, upto: int | None, pages: int | None) -> None:
        self._pause(at)
        self.batch = ApplyBatch(at, upto, pages)
        self.phase = Phase.APPLY

    def _pause(self, at: float) -> None:
        if self._reading_since is not None:
            self._reading_seconds += at - self._reading_since
            self._reading_since = None

    def _change(self, total: Total, moment: LogMoment) -> None:
        self.settle()
        if self.turn is None:
            total.fail(LOG_BEGINS_LATER)
        else:
            self._unsettled = (total, self.turn, moment)
        self.turn = moment

    def _fail(self, reason: str) -> None:
        self.scan.fail(reason)
        self.apply.fail(reason)


def _highest(percents: str) -> int | None:
    return max((int(each) for each in _PERCENT.findall(percents) if int(each) <= _ALL), default=None)
