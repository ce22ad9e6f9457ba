"""Record of the bytes written to a redo log, by the count of each layer between the LSN and the disk."""

from __future__ import annotations

import msgspec


class LogLayers(msgspec.Struct, frozen=True, kw_only=True):
    """Counts since the server started, in bytes and writes; None if a layer does not count."""

    lsn: int
    os_log_written: int
    log_writes: int
    log_write_requests: int | None = None
    log_padded: int | None = None
    file_bytes: int | None = None
    """Bytes written by the server's own instrumentation of files (performance_schema)."""
    file_writes: int | None = None
    device_bytes: int | None = None
    """Bytes that the block device under the log was sent."""
