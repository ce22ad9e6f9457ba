"""Progress of a running recovery: the phase it has reached, and the time since its last sign of progress."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from redolab.errorlog.kinds import Event, Phase
from redolab.errorlog.line_table import meaning_of
from redolab.errorlog.reader import Writer
from redolab.errorlog.stamps import Record, records
from redolab.lines import Line

STUCK_AFTER = 60.0
"""Seconds without progress after which a recovery counts as stuck.

The longest of any of 1,127 good recoveries is 6.1 s, also on slow disks (docs/watching.md).
"""
_A_PAGE = 4096
"""Bytes of the smallest page that InnoDB has: less read or written is none."""
_SHOWS_PROGRESS = re.compile(
    r"\d\s?%|Progress in percent|\bLSN\b|\blsn\b|log sequence number|rows? (?:operations )?to undo|trx with id"
)
_PERCENT = re.compile(r"(\d{1,3})\s?%")


def shows_progress(record: Record) -> bool:
    """Return True for a record that shows progress, False for one that a stuck server can repeat."""
    meaning = meaning_of(record.text)
    if meaning is None:
        return _SHOWS_PROGRESS.search(record.text) is not None
    return meaning.row.event is not Event.NO_FREE_BLOCK


@dataclass(frozen=True, slots=True)
class RecoveryProgress:
    """Phase that a recovery has reached, and the percent of it, where the log has one."""

    phase: Phase = Phase.DISCOVER
    percent: int | None = None


def recovery_progress(lines: Iterable[Line]) -> RecoveryProgress:
    """Return the progress of the recovery that wrote these lines."""
    writer, progress = Writer(), RecoveryProgress()
    for number, line in enumerate(lines):
        for record in records(line.text):
            writer.take(record, number, line.arrival)
            phase = progress.phase if writer.start is None else writer.start.redo.phase
            if phase is not progress.phase:
                progress = RecoveryProgress(phase)
            elif (percent := _PERCENT.search(record.text)) is not None:
                progress = RecoveryProgress(phase, int(percent[1]))
    return progress


class Watch:
    """Watch of one recovery's progress: a new event, percent or LSN in its log, a page read, a page written.

    Times are monotonic seconds, bytes those that the server's process has read from and written to disks.
    """

    def __init__(self, began: float) -> None:
        self.progress_at = began
        """Time of the last progress."""
        self.longest = 0.0
        """Longest time without progress that came to an end."""
        self._progress: set[str] = set()
        self._read = 0
        self._written = 0

    def hear(self, at: float, record: Record) -> None:
        """Take in a record of the log: it is progress if it shows some and its text has not stood there before."""
        if shows_progress(record) and record.text not in self._progress:
            self._progress.add(record.text)
            self._advance(at)

    def see(self, at: float, read_bytes: int, written_bytes: int) -> bool:
        """Take in what the server has read and written so far; return True if that is progress."""
        if read_bytes - self._read < _A_PAGE and written_bytes - self._written < _A_PAGE:
            return False
        self._read, self._written = read_bytes, written_bytes
        self._advance(at)
        return True

    def quiet(self, at: float) -> float:
        """Return the seconds since the last progress."""
        return at - self.progress_at

    def _advance(self, at: float) -> None:
        self.longest = max(self.longest, at - self.progress_at)
        self.progress_at = max(at, self.progress_at)
