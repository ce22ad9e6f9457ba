"""What was written to a redo log, as each layer between the LSN and the disk counts it, as data."""

from __future__ import annotations

import msgspec


class LogLayers(msgspec.Struct, frozen=True, kw_only=True):
    """Counts since the server started, in bytes and writes; None where a layer does not count."""

    lsn: int
    os_log_written: int
    log_writes: int
    log_write_requests: int | None = None
    log_padded: int | None = None
    file_bytes: int | None = None
    """What the server's own instrumentation of files saw written (performance_schema)."""
    file_writes: int | None = None
    device_bytes: int | None = None
    """What the block device under the log was sent."""
