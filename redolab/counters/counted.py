"""Bytes written to a redo log as each layer counts them, and the meaning of `Innodb_os_log_written` in them.

The meaning is inferred from measured growth, and not from the server's version.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from redolab.servers.log_writer import Counted, Lengths, LogWriter, bytes_per_lsn_byte

_TELLING = 1.1
"""Fewest bytes per byte of LSN that distinguish the meanings: a tenth of the LSN is rewritten blocks."""


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


@dataclass(frozen=True, slots=True)
class CounterGrowth:
    """Growth of os_log_written over one window of load, against that of the LSN."""

    lsn_per_log_write: float
    """Mean LSN bytes of a log write, the `r` of `redolab.servers.log_writer`."""
    lengths: Lengths
    ratio: float
    """Bytes of os_log_written for each byte of LSN."""


def what_is_counted(writer: LogWriter, growths: Sequence[CounterGrowth]) -> Counted | None:
    """Return the meaning under which the model fits the measured growth best; None if no growth distinguishes them.

    The best fit has the smallest median of |ln(predicted / measured)|. Without write-ahead there is no padding, and the
    result is `BLOCKS`.
    """

    def predicted(counted: Counted, growth: CounterGrowth) -> float:
        return bytes_per_lsn_byte(writer, counted, growth.lsn_per_log_write, growth.lengths)

    telling = [growth for growth in growths if predicted(Counted.BLOCKS, growth) >= _TELLING]
    if not telling:
        return None

    def distance(counted: Counted) -> float:
        return statistics.median(abs(math.log(predicted(counted, growth) / growth.ratio)) for growth in telling)

    # min() keeps the order: the first of equally good meanings wins.
    return min((Counted.LSN, Counted.BLOCKS, Counted.BLOCKS_AND_PADDING), key=distance)
