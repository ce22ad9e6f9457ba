"""Progress of a recovery, from the server's reads and writes, where its log reports none."""

from __future__ import annotations

from redolab.watch.following.server_process import Look
from redolab.watch.following.time_left import Done

_READS = 256 * 1024
"""Bytes a second from which on redo is read: a server reads it in pieces of 64 KiB and more."""
_SLOWER = 0.1
"""Share of the read rate so far; slower reads are not taken for redo."""
_PAGE = 4096
_MORE = 4 << 20
"""Bytes read from which on a server is taken to recover."""
_ALL = 0.98
"""Share of the redo that counts as all of it."""


class ProcessCourse:
    """Progress from the looks at a server that recovers; times in seconds on one clock."""

    def __init__(self, began: float) -> None:
        """`began`: when the server began."""
        self._began = began
        self._last: Look | None = None
        self._reading_s = 0.0
        self._applying_s = 0.0
        self._batch_since: float | None = None
        self._complete = 0.0
        self._read = 0.0

    @property
    def has_read(self) -> bool:
        """Return True if the server has read more than one that has nothing to recover."""
        return self._read >= _MORE

    def see(self, look: Look, total: float | None, most: float | None) -> None:
        """Take in a look; `total`: bytes of all redo if known, `most`: upper bound of these bytes."""
        before, self._last = self._last, look
        position = look.mapped if look.mapped is not None else look.sequential
        if position is None:
            return
        known = [each for each in (position, total, most) if each is not None]
        read = float(min(known))
        if before is None:
            # Earlier activity counts as reading. If all redo is read by now, the time that took is unknown.
            is_all = total is not None and read >= _ALL * total
            self._read, self._reading_s = read, 0.0 if is_all else max(0.0, look.at - self._began)
            return
        seconds = look.at - before.at
        is_all = total is not None and self._read >= _ALL * total
        usual = self._read / self._reading_s if self._reading_s > 0 else 0.0
        # While it applies, the same thread reads a page now and then.
        if read - self._read >= max(_READS, _SLOWER * usual) * seconds and not is_all:
            self._reading_s += seconds
            if self._batch_since is not None:
                self._complete, self._batch_since = self._read, None
        elif _moved(before, look) or is_all:
            self._applying_s += seconds
            if self._batch_since is None:
                self._batch_since = before.at
        self._read = max(read, self._read)

    def done(self, now: float, total: float | None, most: float | None) -> Done:
        """Return the progress at `now`; the share of the current batch is unknown."""
        in_batch = 0.0 if self._batch_since is None else now - self._batch_since
        return Done(
            elapsed=max(0.0, now - self._began),
            total=total,
            most=most,
            read=self._read,
            applied=None,
            complete=self._complete,
            reading_s=self._reading_s,
            applying_s=self._applying_s,
            unseen_s=in_batch,
            in_batch_s=in_batch,
        )


def _moved(before: Look, look: Look) -> bool:
    """Return True if a page was read or written between two looks."""
    return any(
        one is not None and other is not None and other - one >= _PAGE
        for one, other in ((before.read, look.read), (before.written, look.written))
    )
