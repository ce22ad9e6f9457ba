"""An exact simulator of log blocks: the truth that the closed forms of `redolab.servers.log_writer` are tested against."""

from __future__ import annotations

from collections.abc import Iterable

from redolab.servers.log_writer import LogWriter, Written


def simulate(writer: LogWriter, lengths: Iterable[int], start: int = 0) -> Written:
    """Replay writes of so many bytes of redo (each at least 1, block headers not counted), block by block.

    `start` is where the log stands before: bytes of redo since the beginning of a unit that is written ahead.
    """
    position, blocks, padding, writes = start, 0, 0, 0
    for length in lengths:
        first = position // writer.payload
        position += length
        last = (position if writer.opens_next else position - 1) // writer.payload
        blocks += last - first + 1
        padding += _padding_blocks(writer, first, last)
        writes += 2 if writer.splits and last > first else 1
    return Written(
        lsn=_lsn(writer, position) - _lsn(writer, start),
        data=blocks * writer.block,
        padding=padding * writer.block,
        writes=writes,
    )


def _lsn(writer: LogWriter, position: int) -> int:
    full, rest = divmod(position, writer.payload)
    return full * writer.block + writer.header + rest


def _padding_blocks(writer: LogWriter, first: int, last: int) -> int:
    """Return the blocks of padding behind a write from block `first` to block `last`, if it is the first in its unit."""
    into_unit = (last + 1) % writer.unit_blocks
    return writer.unit_blocks - into_unit if 0 < into_unit < last - first + 1 else 0
