"""The redo of a recovery: how far it is read and applied, and how long its turns took.

`Redo` counts in bytes and in seconds of the clock on which lines arrive: it is read while a recovery runs. `Turns`
measures scan and apply on every clock of the log, for its timeline.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from redolab.errorlog.clocks import LogMoment, Total
from redolab.errorlog.kinds import Phase, integer

MIXED_TURNS = "MariaDB scans on between batches and does not say when one ends"
LOG_BEGINS_LATER = "the log begins after this"
_PERCENTS = re.compile(r"(?:InnoDB: )?(?:Progress in percents?: ?)?(?P<percents>\d{1,3}%?(?: \d{1,3}%?)*) ?")
"""Pattern of a whole line that counts percents, or of its continuation."""
_PERCENT = re.compile(r"\d{1,3}")
_ALL = 100


@dataclass(slots=True)
class Batch:
    """Apply batch: pages that are being brought up to date."""

    since: float
    upto: int | None
    """LSN of the redo that it holds."""
    key: str = ""
    """LSN that MariaDB repeats in each line of the batch; empty in its last one."""
    pages: int | None = None
    """Pages to do when it began."""
    share: float = 0.0
    """Share of it that a line reported as done."""
    shown_at: float | None = None
    """Time of the last such line."""

    def show(self, share: float, at: float) -> None:
        """Take in a share, unless it is none that is new."""
        if share > self.share:
            self.share, self.shown_at = share, at


@dataclass(slots=True)
class Redo:
    """Redo read and applied so far: LSNs, and seconds of the clock on which lines arrive."""

    phase: Phase = Phase.DISCOVER
    checkpoint: int | None = None
    scanned: int | None = None
    first_scanned: int | None = None
    end: int | None = None
    """End of the redo, once a line names it."""
    applied: int | None = None
    """LSN up to which the complete batches reach."""
    batches: int = 0
    """Complete ones."""
    batch: Batch | None = None
    unfinished_percent: int | None = None
    """Percent of the batch at hand in a line that has no end yet: servers up to 8.0.15 end it with the batch."""
    _reading_since: float | None = None
    _reading_seconds: float = 0.0
    _applying_seconds: float = 0.0

    @property
    def percent(self) -> int | None:
        """Percent of the batch at hand, where a line says one."""
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

    def read(self, at: float) -> None:
        """Begin to read, or go on."""
        if self._reading_since is None:
            self._reading_since = at

    def scan(self, at: float) -> None:
        """Begin the scan, unless it is over."""
        if self.batch is None and not self.batches:
            self.read(at)
            self.phase = Phase.SCAN

    def read_to(self, lsn: int, at: float, *, is_ready: bool) -> None:
        """Take in an LSN that has been read."""
        self.first_scanned = self.first_scanned or lsn
        # A second batch reads from its own beginning again: the end is where the first came to.
        self.scanned = max(lsn, self.scanned or 0)
        if self.batch is None and not is_ready:
            self.read(at)
            self.phase = Phase.SCAN

    def begin_batch(self, at: float, upto: int | None) -> Batch:
        """Return the batch at hand, a new one where there is none."""
        if self.batch is None:
            self._pause(at)
            self.batch = Batch(at, upto)
            self.phase = Phase.APPLY
        return self.batch

    def end_batch(self, at: float) -> None:
        """End the batch at hand; more redo is read after it, unless all has been."""
        batch = self.batch
        if batch is None:
            return
        self._applying_seconds += at - batch.since
        self.applied = max(batch.upto or 0, self.applied or 0) or None
        self.batches += 1
        self.batch = None
        if self.end is not None and (self.applied or 0) >= self.end:
            self.phase = Phase.OPEN
            return
        self.read(at)
        self.phase = Phase.SCAN

    def pages_left(self, pages: int, key: str, at: float) -> None:
        """Take in the pages that are left of MariaDB's batch with that key."""
        batch = self.batch
        if batch is None or key != batch.key:
            self.end_batch(at)
            batch = self.begin_batch(at, integer(key) or self.end or self.scanned)
            batch.key, batch.pages = key, pages
            return
        batch.pages = max(pages, batch.pages or pages)
        batch.show(1 - pages / batch.pages if batch.pages else 1.0, at)

    def leave(self, phase: Phase, at: float) -> None:
        """Record that all redo is applied, and that the server is in a later phase."""
        self.end_batch(at)
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

    def _pause(self, at: float) -> None:
        if self._reading_since is not None:
            self._reading_seconds += at - self._reading_since
            self._reading_since = None


def _highest(percents: str) -> int | None:
    return max((int(each) for each in _PERCENT.findall(percents) if int(each) <= _ALL), default=None)


@dataclass(slots=True)
class Turns:
    """Scan and apply on every clock, by turns: MySQL applies a batch whenever its memory for parsed redo is full.

    `turn` is where the current turn began, None while nobody knows; `first` where the first batch did. MariaDB does not
    say when a batch ends. To 10.5 it scans on between batches, so that neither can be timed (`mixed`); later it has
    read all redo before the first batch, and reading it again between batches counts as apply.
    """

    turn: LogMoment | None = None
    first: LogMoment | None = None
    applying: bool = False
    scan: Total = field(default_factory=Total)
    apply: Total = field(default_factory=Total)
    batches: int = 0
    mixed: bool = False
    # The last turn's end may still get its stamp from the line that follows.
    unsettled: tuple[Total, LogMoment, LogMoment] | None = None

    def begin(self, moment: LogMoment) -> None:
        """Begin the scan."""
        self.turn = moment

    def batch(self, moment: LogMoment) -> None:
        """Begin a batch."""
        self.batches += 1
        self.first = self.first or moment
        if not self.applying:
            self._change(self.scan, moment)
            self.applying = True

    def batch_end(self, moment: LogMoment) -> None:
        """End a batch."""
        if not self.applying and not self.batches:
            self.apply.fail(LOG_BEGINS_LATER)
            self.scan.fail(LOG_BEGINS_LATER)
            self.turn, self.batches = moment, 1
        elif self.applying:
            self._change(self.apply, moment)
            self.applying = False

    def mix(self) -> None:
        """Give both up: the scan goes on after this batch, and no line says when."""
        self.mixed = True
        self.scan.fail(MIXED_TURNS)
        self.apply.fail(MIXED_TURNS)

    def settle(self) -> None:
        """Add up the turns that are over."""
        if self.unsettled:
            total, begin, end = self.unsettled
            total.add(begin, end)
            self.unsettled = None

    def _change(self, total: Total, moment: LogMoment) -> None:
        self.settle()
        if self.turn is None:
            total.fail(LOG_BEGINS_LATER)
        else:
            self.unsettled = (total, self.turn, moment)
        self.turn = moment
