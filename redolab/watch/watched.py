"""A running server of the user's that is sampled again and again; it is only read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from redolab.counters.live.sampled_server import LiveServer
from redolab.counters.series import SegmentGrowth, Series
from redolab.errors import Unreachable
from redolab.predict.question import Question
from redolab.predict.recovery import prepared_seconds
from redolab.servers.address import Address
from redolab.servers.dialects import server_name_of
from redolab.servers.redo_capacity import PAGE_SIZE
from redolab.servers.redo_counters import Sample
from redolab.watch.crash_now import Expected, expectations
from redolab.watch.standing import Driver, FlushLimits, flush_limits

_GAP = 600.0
"""Seconds between two samples after which their rate is not reported."""
_SETTINGS_EVERY = 60.0
"""Seconds after which its settings are read again: a redo log or a pool can be resized while it runs."""

_expectations = lru_cache(maxsize=1)(expectations)
"""The same expectations for one look after another, until a setting changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """State of a server at one sample."""

    sample: Sample
    limits: FlushLimits
    growth: SegmentGrowth | None
    """Growth since the last look; None for the first look after a server's start, and after a long gap."""
    seconds_until_waiting: float | None
    expected: tuple[Expected, ...]

    @property
    def driver(self) -> Driver | None:
        """Return the reason for flushing; None where the server does not report its checkpoint age."""
        return self.limits.driver(self.sample)


class WatchedServer:
    """A server, its current settings, and the model of its recovery."""

    def __init__(self, address: Address, storage: str, workload: str | None, server: str | None = None) -> None:
        """Connect. `server`: the one whose calibration is used, not the reported one.

        Raises `LabError` if that fails.
        """
        self._live = LiveServer(address)
        self._named, self._storage, self._workload = server, storage, workload
        self._take_settings()
        self._read_at = time.monotonic()
        self.largest_transaction: int | None = None
        """Rows that the largest open transaction has changed, when it was asked for; None where it is not known."""
        self._series = Series(_GAP)
        self._before: Sample | None = None

    def look(self) -> Standing | None:
        """Return the state now; None while the server is away.

        A server that returns is taken for the same one unless it reports a restart.
        """
        if time.monotonic() - self._read_at >= _SETTINGS_EVERY:
            self._live.read_settings()
            self._read_at = time.monotonic()
        sample = self._live.sample()
        if sample is None:
            return None
        self._take_settings()
        growth = self._series.add(sample)
        if growth is None:
            # The server was restarted: earlier samples say nothing about it.
            self._before = None
        elif growth.gap:
            growth, self._before = None, None
        before, self._before = self._before, sample
        sync = sample.sync_flush_point or self._live.sync_flush_point
        limits = flush_limits(self._live.variables, sample.hard_limit, sync, sample.page_size or PAGE_SIZE)
        return Standing(
            sample=sample,
            limits=limits,
            growth=growth,
            seconds_until_waiting=limits.seconds_until_waiting(before, sample),
            expected=tuple(self.expectations.of(sample, self._series.segments[-1].highest)),
        )

    def ask_largest_transaction(self) -> None:
        """Ask the server for its largest open transaction: a statement that each look can do without."""
        self.largest_transaction = self._live.largest_transaction()

    def prepared_seconds(self) -> float:
        """Return the seconds that its largest open transaction would add to a recovery.

        That is if the crash came while it is written to the binary log. 0 without a binary log, where such
        transactions are rolled back after ready, or where its rows or their rate are not known.
        """
        model, rows = self.expectations.model, self.largest_transaction
        if model is None or not self._live.binary_log or rows is None:
            return 0.0
        return prepared_seconds(replace(model, question=replace(model.question, prepared_rows=rows)))

    def _take_settings(self) -> None:
        """Take the settings that were read last, and the expectations for them."""
        self.version, self.buffer_pool, self.log_size = self._live.version, self._live.buffer_pool, self._live.log_size
        self.name = self._named or server_name_of(self.version)
        question = Question(
            server=self.name,
            storage=self._storage,
            pool=self.buffer_pool,
            workload=self._workload,
            read_threads=self._live.read_threads,
            binary_log=self._live.binary_log,
        )
        self.expectations = _expectations(question, self.log_size)

    def close(self) -> None:
        """Close the connection."""
        self._live.close()


class ServerToCome:
    """A server that may be away at the first look, as after a crash of its machine."""

    def __init__(self, reach: Callable[[], WatchedServer]) -> None:
        """`reach` connects; it raises `Unreachable` as long as nothing answers, `LabError` if the server refuses."""
        self._reach = reach
        self.server: WatchedServer | None = None

    def look(self) -> Standing | None:
        """Return the state now; None while the server is away. Raises `LabError` if its first answer is a refusal."""
        if self.server is None:
            try:
                self.server = self._reach()
            except Unreachable:
                return None
        return self.server.look()

    def close(self) -> None:
        """Close the connection."""
        if self.server is not None:
            self.server.close()
