"""How many bytes a server writes to its redo log for each byte of LSN, as a closed form.

The redo log is written in whole blocks. The last block of a write is hardly ever full: it is written now with what it
holds, and again, from its beginning, with what comes next. That rewriting is the inflation. `r` is the LSN bytes of one
write; LSN bytes count the headers and trailers of blocks, as the servers' LSN does.

Sources: log_write_up_to() and log_group_write_buf() in storage/innobase/log/log0log.cc of MySQL 5.6 and 5.7 and MariaDB 10.2
to 10.7; log_writer_write_buffer() in log0write.cc of MySQL 8.0; log_t::write_buf() in log0log.cc of MariaDB 10.8 and later.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class Counted(StrEnum):
    """What an `Innodb_os_log_written` counts."""

    LSN = "lsn"
    """The growth of the LSN itself."""
    BLOCKS = "blocks"
    """Whole blocks, every rewriting of a block included."""
    BLOCKS_AND_PADDING = "blocks and padding"
    """Whole blocks, and the zeros with which the server fills up a unit that it writes ahead."""


class Lengths(StrEnum):
    """How the lengths of log writes are spread about their mean."""

    EQUAL = "equal"
    """One client: each commit is written by itself."""
    RANDOM = "random"
    """Several clients: how many commits meet in a write is chance, and the lengths spread exponentially."""


@dataclass(frozen=True, slots=True)
class LogWriter:
    """How a server cuts its redo into writes; bytes."""

    block: int = 512
    """What every write begins and ends at a multiple of."""
    header: int = 12
    trailer: int = 4
    """Bytes at the beginning and the end of a block that hold no redo."""
    opens_next: bool = True
    """A block filled to its last byte opens the next, whose header is then written as well."""
    write_ahead: int = 0
    """Size of the units (innodb_log_write_ahead_size) of which each, when first written to, is filled up with zeros; 0: none."""
    splits: bool = False
    """Full blocks, and the last one that is not full, are written by two writes (MySQL 8.0's log writer thread)."""

    @property
    def payload(self) -> int:
        """Bytes of redo that a block holds."""
        return self.block - self.header - self.trailer

    @property
    def unit_blocks(self) -> int:
        """Blocks of a unit that is written ahead; 1 if none is."""
        return max(1, self.write_ahead // self.block)


@dataclass(frozen=True, slots=True)
class Written:
    """What reached the log file, in bytes, and by how many writes."""

    lsn: float
    """Growth of the LSN."""
    data: float
    """Whole blocks."""
    padding: float
    """Zeros behind them."""
    writes: float

    def counted_as(self, counted: Counted) -> float:
        """The bytes that an `Innodb_os_log_written` of that kind counts."""
        return {Counted.LSN: self.lsn, Counted.BLOCKS: self.data, Counted.BLOCKS_AND_PADDING: self.data + self.padding}[
            counted
        ]


def written_per_write(writer: LogWriter, redo: float, lengths: Lengths = Lengths.EQUAL) -> Written:
    """What one write of `redo` bytes of redo (block headers not counted) comes to, on the average over where it begins.

    A write that begins anywhere in a block goes on for redo / payload blocks beyond the one it begins in. Where a
    full block does not open the next, one position of every block's payload ends in the block before.
    """
    beyond = (redo if writer.opens_next else redo - 1) / writer.payload
    units = writer.unit_blocks
    # A write that ends in the k-th block of a unit, and began before it, is padded by what the unit has left.
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
    """The closed form: bytes counted for each byte of LSN when a log write has so many bytes of LSN (r) on the average.

    For blocks of 512 bytes it is 1 + 512 / r, whatever the headers and however the lengths vary; padding adds 15 / 16 at
    most where units are 8 KiB. For a writer that splits, `r` is that of the pieces, as `Innodb_log_writes` counts them:
    with equal lengths 512 / r as long as commits are shorter than a block, and 1 + 256 / r beyond.
    """
    written = written_per_write(writer, _redo_between_ends(writer, lsn_per_log_write, lengths), lengths)
    return written.counted_as(counted) / written.lsn


def redo_range(os_log_written: float, log_writes: float | None) -> tuple[float, float]:
    """The least and the most LSN bytes behind so many bytes of `Innodb_os_log_written`, whichever server with 512-byte blocks said it.

    The most is all of it (MariaDB 10.8 and later count the LSN; elsewhere writes of many blocks rewrite next to nothing).
    The least is, with `log_writes` known, what is left when each of them rewrote a block and a unit of 8 KiB was
    padded to its end, as in MySQL 5.7; without, when each write held only `SMALLEST_WRITE` bytes.
    """
    padded = LogWriter(write_ahead=8192)
    if log_writes is None:
        return os_log_written / bytes_per_lsn_byte(padded, Counted.BLOCKS_AND_PADDING, SMALLEST_WRITE), os_log_written
    most_padding = (padded.unit_blocks - 1) / padded.unit_blocks
    return max(0.0, (os_log_written - padded.block * log_writes) / (1 + most_padding)), os_log_written


_HALVINGS = 60
SMALLEST_WRITE = 100
"""LSN bytes; the shortest commit in docs/inflation.md, an INSERT of one short row, is 106 bytes."""


def _reaches(beyond: float, block: int, lengths: Lengths) -> float:
    """The share of writes that reach the `block`-th block after the one they begin in, when the mean goes `beyond` so many.

    Equal lengths: over all places to begin at. Random: the mean of exp(-(block - o) / beyond) over o from 0 to 1.
    """
    if lengths is Lengths.EQUAL:
        return min(1.0, max(0.0, beyond - (block - 1)))
    if beyond <= 0:
        return 0.0
    return beyond * (1 - math.exp(-1 / beyond)) * math.exp(-(block - 1) / beyond)


def _redo_between_ends(writer: LogWriter, lsn_per_log_write: float, lengths: Lengths) -> float:
    """Bytes of redo from one end of the log to the next: of a log write, or of the two that it is split into."""
    mean = lsn_per_log_write * writer.payload / writer.block
    if not writer.splits:
        return mean
    # Between one and two writes each: the length at which that many of them have the mean that was seen.
    least, most = mean, 2 * mean
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        if middle / written_per_write(writer, middle, lengths).writes < mean:
            least = middle
        else:
            most = middle
    return most
