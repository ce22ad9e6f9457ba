"""Whether a recovery gets on."""

from __future__ import annotations

from collections.abc import Iterable

from redolab.timeline.advance import progress_in

_A_PAGE = 4096
"""Bytes of the smallest page that InnoDB has: what reads or writes less has neither read nor written one."""


class Watch:
    """Follows whether a recovery gets on: a new event, percent or LSN in its log, a page read, a page written.

    Times are monotonic seconds, bytes those that the server's process has read from and written to disks.
    """

    def __init__(self, began: float) -> None:
        self.progress_at = began
        """When it last got on."""
        self.longest = 0.0
        """The longest stretch, so far, after which it got on again."""
        self._said: set[str] = set()
        self._read = 0
        self._written = 0

    def hear(self, at: float, texts: Iterable[str]) -> None:
        """Take in lines of the log: one gets it on if it shows progress and has not stood there before."""
        for text in texts:
            said = progress_in(text)
            if said is not None and said not in self._said:
                self._said.add(said)
                self._got_on(at)

    def see(self, at: float, read_bytes: int, written_bytes: int) -> bool:
        """Take in what the server has read and written so far; whether that gets it on."""
        if read_bytes - self._read < _A_PAGE and written_bytes - self._written < _A_PAGE:
            return False
        self._read, self._written = read_bytes, written_bytes
        self._got_on(at)
        return True

    def quiet(self, at: float) -> float:
        """Seconds since it last got on."""
        return at - self.progress_at

    def _got_on(self, at: float) -> None:
        self.longest = max(self.longest, at - self.progress_at)
        self.progress_at = max(at, self.progress_at)
