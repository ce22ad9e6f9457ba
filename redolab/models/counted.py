"""What a server's `Innodb_os_log_written` counts, told from what was measured and not from its version."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from redolab.models.inflation import Counted, Lengths, LogWriter, bytes_per_lsn_byte

_TELLING = 1.1
"""Only where blocks are rewritten for at least a tenth of the LSN do the meanings differ enough to be told apart."""


@dataclass(frozen=True, slots=True)
class CounterGrowth:
    """By how much the counters grew over one stretch of load; bytes, and log writes."""

    lsn: int
    os_log_written: int
    log_writes: int
    lengths: Lengths

    @property
    def ratio(self) -> float:
        """Bytes of os_log_written for each byte of LSN."""
        return self.os_log_written / self.lsn

    @property
    def lsn_per_log_write(self) -> float:
        """r."""
        return self.lsn / self.log_writes


def what_is_counted(writer: LogWriter, growths: Sequence[CounterGrowth]) -> Counted | None:
    """The meaning with which the model comes nearest to what was measured; None where nothing measured can tell.

    The nearest by the median of |ln(predicted / measured)|. Without write-ahead, blocks and padding is blocks.
    """
    telling = [growth for growth in growths if predicted(writer, Counted.BLOCKS, growth) >= _TELLING]
    if not telling:
        return None

    def distance(counted: Counted) -> float:
        return statistics.median(abs(math.log(predicted(writer, counted, growth) / growth.ratio)) for growth in telling)

    # Of equals the first: min() keeps the order.
    return min((Counted.LSN, Counted.BLOCKS, Counted.BLOCKS_AND_PADDING), key=distance)


def predicted(writer: LogWriter, counted: Counted, growth: CounterGrowth) -> float:
    """Bytes of os_log_written for each byte of LSN by the model, had it that meaning."""
    return bytes_per_lsn_byte(writer, counted, growth.lsn_per_log_write, growth.lengths)
