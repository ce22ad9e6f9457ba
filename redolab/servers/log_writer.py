"""Closed form of the bytes that a server writes to its redo log for each byte of LSN.

The redo log is written in whole blocks, and the last block of a write is rarely full. The server writes it with its
content so far, and later again from its beginning. That rewriting is the inflation. `r` is the LSN bytes of one write;
LSN bytes count the headers and trailers of blocks, as the servers' LSN does.

Sources: log_write_up_to() and log_group_write_buf() in storage/innobase/log/log0log.cc of MySQL 5.6 and 5.7 and MariaDB
10.2 to 10.7; log_writer_write_buffer() in log0write.cc of MySQL 8.0; log_t::write_buf() in log0log.cc of MariaDB 10.8
and later.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class Counted(StrEnum):
    """Meaning of a server's `Innodb_os_log_written`."""

    LSN = "lsn"
    """Growth of the LSN."""
    BLOCKS = "blocks"
    """Whole blocks, counting a rewritten block each time."""
    BLOCKS_AND_PADDING = "blocks and padding"
    """Whole blocks, and the zeros with which the server fills a unit that it writes ahead."""


class Lengths(StrEnum):
    """Distribution of the lengths of log writes about their mean."""

    EQUAL = "equal"
    """Equal lengths, as with one client, where each commit is a write."""
    RANDOM = "random"
    """Exponentially distributed lengths, as with several clients: chance decides how many commits share a write."""


@dataclass(frozen=True, slots=True)
class LogWriter:
    """Sizes and rules by which a server cuts its redo into writes; sizes in bytes."""

    block: int = 512
    """Size of a block; every write begins and ends at a multiple of it."""
    header: int = 12
    trailer: int = 4
    """Bytes at the beginning and the end of a block that hold no redo."""
    opens_next: bool = True
    """True if a block filled to its last byte opens the next, whose header is then written as well."""
    write_ahead: int = 0
    """Size of the units (innodb_log_write_ahead_size) that the server fills with zeros when it first writes them; 0:
    none.
    """
    splits: bool = False
    """True if full blocks and a partial last block are two writes (MySQL 8.0's log writer thread)."""

    @property
    def payload(self) -> int:
        """Bytes of redo that a block holds."""
        return self.block - self.header - self.trailer

    @property
    def unit_blocks(self) -> int:
        """Blocks of a unit that is written ahead; 1 without write-ahead."""
        return max(1, self.write_ahead // self.block)


@dataclass(frozen=True, slots=True)
class Written:
    """Bytes that reached the log file, and the number of writes."""

    lsn: float
    """Growth of the LSN, in bytes."""
    data: float
    """Bytes of whole blocks."""
    padding: float
    """Bytes of zeros behind them."""
    writes: float

    def counted_as(self, counted: Counted) -> float:
        """Return the bytes that an `Innodb_os_log_written` of that meaning counts."""
        return {Counted.LSN: self.lsn, Counted.BLOCKS: self.data, Counted.BLOCKS_AND_PADDING: self.data + self.padding}[
            counted
        ]


def written_per_write(writer: LogWriter, redo: float, lengths: Lengths = Lengths.EQUAL) -> Written:
    """Return the mean bytes that one write of `redo` bytes takes, over all positions at which it can begin.

    `redo` does not count block headers. A write that begins anywhere in a block extends redo / payload blocks beyond
    it. If a full block does not open the next, one position of every block's payload ends in the block before.
    """
    beyond = (redo if writer.opens_next else redo - 1) / writer.payload
    units = writer.unit_blocks
    # A write that ends in the k-th block of a unit, and began before it, is padded to the end of the unit.
    padding = sum((units - k) * _reaches(beyond, k, lengths) for k in range(1, units)) / units
    return Written(
        lsn=redo * writer.block / writer.payload,
        data=(1 + beyond) * writer.block,
        padding=padding * writer.block,
        writes=1 + (_reaches(beyond, 1, lengths) if writer.splits else 0),
    )


def bytes_per_lsn_byte(
    writer: LogWriter, counted: Counted, lsn_per_log_write: float, lengths: Lengths = Lengths.EQUAL
) -> float:
    """Return the bytes counted for each byte of LSN when log writes have `lsn_per_log_write` bytes of LSN (r) on
    average.

    For blocks of 512 bytes it is 1 + 512 / r, whatever the headers and however the lengths vary. Padding adds 15 / 16
    at most with units of 8 KiB. For a writer that splits, `r` is the mean of the pieces, as `Innodb_log_writes` counts
    them. With equal lengths that gives 512 / r while commits are shorter than a block, and 1 + 256 / r beyond.
    """
    written = written_per_write(writer, _redo_between_ends(writer, lsn_per_log_write, lengths), lengths)
    return written.counted_as(counted) / written.lsn


def redo_range(os_log_written: float, log_writes: float | None) -> tuple[float, float]:
    """Return the least and the most LSN bytes behind `os_log_written`, for any server with blocks of 512 bytes.

    The most is `os_log_written` itself: MariaDB 10.8 and later count the LSN, and writes of many blocks rewrite hardly
    anything. With `log_writes`, the least assumes that each write rewrote a block and padded a unit of 8 KiB to its
    end, as in MySQL 5.7. Without, it assumes that each write held only `SMALLEST_WRITE` bytes.
    """
    padded = LogWriter(write_ahead=8192)
    if log_writes is None:
        return os_log_written / bytes_per_lsn_byte(padded, Counted.BLOCKS_AND_PADDING, SMALLEST_WRITE), os_log_written
    most_padding = (padded.unit_blocks - 1) / padded.unit_blocks
    return max(0.0, (os_log_written - padded.block * log_writes) / (1 + most_padding)), os_log_written


_HALVINGS = 60
SMALLEST_WRITE = 100
"""LSN bytes. The shortest commit in docs/inflation.md, an INSERT of one short row, has 106 bytes."""


def _reaches(beyond: float, block: int, lengths: Lengths) -> float:
    """Return the share of writes that reach the `block`-th block after their first, at a mean length of `beyond`
    blocks.

    Equal lengths: over all positions of the beginning. Random: the mean of exp(-(block - o) / beyond) over o from 0 to
    1.
    """
    if lengths is Lengths.EQUAL:
        return min(1.0, max(0.0, beyond - (block - 1)))
    if beyond <= 0:
        return 0.0
    return beyond * (1 - math.exp(-1 / beyond)) * math.exp(-(block - 1) / beyond)


def _redo_between_ends(writer: LogWriter, lsn_per_log_write: float, lengths: Lengths) -> float:
    """Return the bytes of redo between two ends of the log: of a log write, or of each of its two pieces."""
    mean = lsn_per_log_write * writer.payload / writer.block
    if not writer.splits:
        return mean
    # A write is one or two pieces: search the length at which the pieces have the observed mean.
    least, most = mean, 2 * mean
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        if middle / written_per_write(writer, middle, lengths).writes < mean:
            least = middle
        else:
            most = middle
    return most
