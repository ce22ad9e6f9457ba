"""Course of a recovery by the error log of its server."""

from __future__ import annotations

from redolab.errorlog.kinds import Event
from redolab.errorlog.reader import Writer
from redolab.errorlog.stamps import MICROSECONDS, Record, records
from redolab.errorlog.start import Start
from redolab.units import MIB
from redolab.watch.following.time_left import Done


class LogCourse:
    """The course of the server at hand, line by line; times in seconds, of whichever clock `hear` is given."""

    def __init__(self, began: float | None = None) -> None:
        """`began`: when the server's process began, where that is known before its first line."""
        self._number = 0
        self._began = began
        self.writer = Writer()

    def hear(self, record: Record, at: float) -> None:
        """Take in a record logged at that time."""
        self._number += 1
        self.writer.take(record, self._number, at)

    def hear_line(self, text: str, at: float) -> None:
        """Take in the records of a line logged at that time."""
        for record in records(text):
            self.hear(record, at)

    def hear_unfinished(self, text: str) -> None:
        """Take in the beginning of a line whose end has not come yet."""
        if self.start is not None:
            self.start.redo.unfinished_percents(text)

    @property
    def start(self) -> Start | None:
        """Return the current start; None while none is visible."""
        return self.writer.start

    @property
    def began(self) -> float | None:
        """Time at which its process began, or of its first line."""
        return self.writer.since if self._began is None else self._began

    @property
    def ready(self) -> float | None:
        """Time of the line that the server takes connections."""
        ready = None if self.start is None else self.start.marks.get(Event.READY)
        return None if ready is None or ready.arrival is None else ready.arrival.stamp.us / MICROSECONDS

    @property
    def recovers(self) -> bool:
        """True once a line shows a recovery, or complaints before the server is ready."""
        start = self.start
        if start is None:
            return False
        return start.proven or (self.complains_since is not None and Event.READY not in start.marks)

    @property
    def complains_since(self) -> float | None:
        """Time since which the log only reports that no free block is found; None if it does not."""
        return None if self.writer.complaints is None else self.writer.complaints.first.at

    @property
    def undoes(self) -> bool:
        """True while it has rows to undo."""
        return self.start is not None and self.start.rows is not None and Event.UNDO_END not in self.start.marks

    def done(self, now: float, total: float | None = None, most: float | None = None) -> Done:
        """Return the progress at that time.

        `total`: bytes of all redo if the redo log files show it; `most`: upper bound of these bytes.
        """
        elapsed = 0.0 if self.began is None else max(0.0, now - self.began)
        if self.start is None:
            return Done(elapsed=elapsed, total=total, most=most)
        redo = self.start.redo
        if total is None and redo.end is not None and redo.checkpoint is not None:
            total = redo.bytes_to(redo.end)
        complete, batch = redo.bytes_to(redo.applied), redo.batch
        in_batch = 0.0 if batch is None else max(0.0, now - batch.since)
        applied, unseen, pages_a_mib = complete, in_batch, None
        if batch is not None:
            in_it = redo.bytes_to(batch.upto) - complete
            if batch.shown_at is not None:
                applied += batch.share * max(0.0, in_it)
                unseen = max(0.0, now - batch.shown_at)
            pages_a_mib = batch.pages / (in_it / MIB) if batch.pages and in_it >= MIB else None
        return Done(
            elapsed=elapsed,
            total=total,
            most=most,
            read=redo.bytes_to(redo.scanned),
            applied=applied,
            complete=complete,
            reading_s=redo.reading_seconds(now),
            applying_s=redo.applying_seconds(now),
            unseen_s=unseen,
            in_batch_s=in_batch,
            pages_a_mib=pages_a_mib,
        )
