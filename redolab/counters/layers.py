"""Bytes written to a redo log, counted by each layer between the LSN and the disk, read while nothing is written."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from pymysql.connections import Connection

from redolab.counters.counted import LogLayers
from redolab.errors import ServerFailed
from redolab.servers.instance import Instance
from redolab.servers.redo_counters import Counters

_EVENT = "wait/io/file/innodb/innodb_log_file"
_FILE_LAYER = (
    "SELECT COUNT(*), SUM(SUM_NUMBER_OF_BYTES_WRITE), SUM(COUNT_WRITE) "
    f"FROM performance_schema.file_summary_by_instance WHERE EVENT_NAME = '{_EVENT}'"
)
_LOOK_EVERY = 0.05
_PATIENCE = 10.0
_FLUSH_PATIENCE = 1.1
"""Seconds. Page cleaners run once a second; that of 5.5 leaves the last hundredth of the pool dirty."""
_CHECKPOINT_PATIENCE = 0.5
_AT_REST = 4096
"""Checkpoint age in bytes of a server with nothing to flush: the records about the checkpoint itself."""


class CountedDevice(Protocol):
    """A device that holds only a redo log."""

    def device_bytes_written(self) -> int:
        """Return the bytes sent to it so far, including those still in the page cache."""


@dataclass(frozen=True, slots=True)
class LayerReader:
    """Reader of the layers of one instance; `disk` is the device of its redo log, if the log has one for itself."""

    instance: Instance
    connection: Connection
    disk: CountedDevice | None

    def settle(self) -> None:
        """Have the server write its dirty pages and move the checkpoint, so that no earlier work is counted later."""
        self._execute("SET GLOBAL innodb_max_dirty_pages_pct = 0")
        dirty, since = self._counters().dirty_pages, time.monotonic()
        while dirty and time.monotonic() < since + _FLUSH_PATIENCE:
            time.sleep(_LOOK_EVERY)
            now = self._counters().dirty_pages
            if now != dirty:
                dirty, since = now, time.monotonic()
        deadline = time.monotonic() + _CHECKPOINT_PATIENCE
        while (self._counters().checkpoint_age or 0) > _AT_REST and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY)
        self._execute("SET GLOBAL innodb_max_dirty_pages_pct = 90")

    def read(self) -> LogLayers:
        """Return all layers at one time: when the log is written out, and two readings around the others agree.

        Raises `ServerFailed` if the server goes on writing.
        """
        self._execute("FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS")
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if self.disk is not None:
                self.disk.device_bytes_written()
            before = self._layers()
            if before is not None:
                time.sleep(_LOOK_EVERY)
                if self._layers() == before:
                    return before
            time.sleep(_LOOK_EVERY)
        raise ServerFailed(f"{self.instance.server.name} went on writing to its redo log for {_PATIENCE:.0f} s")

    def _layers(self) -> LogLayers | None:
        counters = self._counters()
        if counters.flushed_lsn is not None and counters.flushed_lsn < (counters.lsn or 0):
            return None
        with self.connection.cursor() as cursor:
            cursor.execute(_FILE_LAYER)
            row = cursor.fetchone()
        assert row is not None
        file_rows, file_bytes, file_writes = row
        assert counters.lsn is not None
        assert counters.os_log_written is not None
        assert counters.log_writes is not None
        return LogLayers(
            lsn=counters.lsn,
            os_log_written=counters.os_log_written,
            log_writes=counters.log_writes,
            log_write_requests=counters.log_write_requests,
            log_padded=counters.log_padded,
            file_bytes=int(file_bytes or 0) if file_rows else None,
            file_writes=int(file_writes or 0) if file_rows else None,
            device_bytes=self.disk.device_bytes_written() if self.disk is not None else None,
        )

    def _counters(self) -> Counters:
        return self.instance.whole_sample(self.connection)

    def _execute(self, statement: str) -> None:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
