"""Amount of redo that a server has to recover, from the headers and a few blocks of its redo log files; read only.

The formats are those of log0log.h (MySQL 5.5 to 8.0.29, MariaDB to 10.7), log0constants.h (MySQL 8.0.30 and later)
and log0log.h of MariaDB 10.8 and later. Blocks of 512 bytes carry a number, `LSN / 512 mod 2**30 + 1`: the redo ends
where the sequence of numbers breaks. MariaDB 10.8 and later has no blocks; only reading everything, as the server
does, finds the end.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

_BLOCK = 512
_HEADER = 2048
_CHECKPOINTS = (512, 1536)
_NUMBERS = 1 << 30
_NUMBER_BITS = _NUMBERS - 1
_WITHOUT_BLOCKS = 0x50687973
"""MariaDB 10.8 and later: "Phys"."""
_ENCRYPTED = 0x80000000
_CHECKPOINTS_WITHOUT_BLOCKS = (4096, 8192)
_START_WITHOUT_BLOCKS = 12288


@dataclass(frozen=True, slots=True)
class RedoToRecover:
    """Redo that a recovery has to read, from the redo log files; LSNs and bytes."""

    checkpoint: int
    end: int | None
    """LSN of the end of the redo; None if only reading all of it shows the end."""
    capacity: int
    """Bytes that the files can hold."""

    @property
    def redo(self) -> int | None:
        """Bytes from the checkpoint to the end."""
        return None if self.end is None else self.end - self.checkpoint


def redo_to_recover(folder: Path) -> RedoToRecover | None:
    """Return the redo to recover of the server whose redo log is in `folder`; None if the files are not understood.

    Call it before the server is ready: afterwards the files describe the recovery after the next crash.
    """
    with suppress(OSError, struct.error):
        many = sorted(_numbered(folder / "#innodb_redo", re.compile(r"#ib_redo(\d+)")))
        if many:
            return _of_many([path for _, path in many])
        circular = sorted(_numbered(folder, re.compile(r"ib_logfile(\d{1,2})")))
        if circular:
            return _of_circular([path for _, path in circular])
    return None


def _numbered(folder: Path, name: re.Pattern[str]) -> Iterator[tuple[int, Path]]:
    with suppress(FileNotFoundError, NotADirectoryError):
        for path in folder.iterdir():
            if found := name.fullmatch(path.name):
                yield int(found[1]), path


def _of_many(paths: Sequence[Path]) -> RedoToRecover | None:
    """Read the files of MySQL 8.0.30 and later, each of which begins with the LSN of its first block."""
    checkpoint, end, capacity = 0, None, 0
    for path in reversed(paths):
        with path.open("rb") as file:
            blocks = _blocks(file)
            capacity += blocks * _BLOCK
            checkpoint = max(checkpoint, *(_number(file, at + 8, ">Q") for at in _CHECKPOINTS))
            if end is not None:
                continue
            start = _number(file, 8, ">Q")
            if count := _consecutive(partial(_block, file), _block_number(start), 0, blocks):
                end = _end(start, count, _block(file, count - 1)[1])
    return _checked(checkpoint, end, capacity)


def _of_circular(paths: Sequence[Path]) -> RedoToRecover | None:
    with ExitStack() as opened:
        files = [opened.enter_context(path.open("rb")) for path in paths]
        if _number(files[0], 0, ">I") & ~_ENCRYPTED == _WITHOUT_BLOCKS:
            checkpoint = max(_number(files[0], at, ">Q") for at in _CHECKPOINTS_WITHOUT_BLOCKS)
            capacity = _size(files[0]) - _START_WITHOUT_BLOCKS
            return RedoToRecover(checkpoint, None, capacity) if checkpoint else None
        of_each = _blocks(files[0])
        if not of_each:
            return None
        in_all = of_each * len(files)

        def block(number: int) -> tuple[int, int]:
            return _block(files[number // of_each], number % of_each)

        first, _ = block(0)
        count = _consecutive(block, first, 1, in_all)
        checkpoint = max(_number(files[0], at + 8, ">Q") for at in _CHECKPOINTS)
        # The numbers begin anew every 512 GiB: the lap is the one of the checkpoint, or the next.
        lap = _NUMBERS * _BLOCK
        start = checkpoint // lap * lap + (first - 1) * _BLOCK
        length = block(count - 1)[1]
        end = min(
            (end for laps in (-1, 0, 1) if (end := _end(start + laps * lap, count, length)) >= checkpoint),
            default=None,
        )
        return _checked(checkpoint, end, in_all * _BLOCK)


def _checked(checkpoint: int, end: int | None, capacity: int) -> RedoToRecover | None:
    """Return the values read if they are plausible, else None."""
    if not checkpoint or end is None or not 0 <= end - checkpoint <= capacity:
        return None
    return RedoToRecover(checkpoint, end, capacity)


def _consecutive(block: Callable[[int], tuple[int, int]], first: int, known: int, blocks: int) -> int:
    """Return how many of `blocks` blocks have consecutive numbers from `first` on; at least `known` have."""
    low, high = known, blocks
    while low < high:
        middle = (low + high) // 2
        if block(middle)[0] == (first - 1 + middle & _NUMBER_BITS) + 1:
            low = middle + 1
        else:
            high = middle
    return low


def _end(start: int, blocks: int, length: int) -> int:
    """Return the LSN at the end of `blocks` blocks, of the last of which `length` bytes are used."""
    return start + (blocks - 1) * _BLOCK + min(length, _BLOCK)


def _block_number(lsn: int) -> int:
    return (lsn // _BLOCK & _NUMBER_BITS) + 1


def _block(file: BinaryIO, number: int) -> tuple[int, int]:
    """Return the number that a block carries, and the number of its used bytes."""
    value, length = struct.unpack(">IH", _read(file, _HEADER + number * _BLOCK, 6))
    # The highest bit says that a write began there.
    return value & 0x7FFFFFFF, length & 0x7FFF


def _blocks(file: BinaryIO) -> int:
    return max(0, _size(file) - _HEADER) // _BLOCK


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _number(file: BinaryIO, at: int, form: str) -> int:
    value: int = struct.unpack(form, _read(file, at, struct.calcsize(form)))[0]
    return value


def _read(file: BinaryIO, at: int, size: int) -> bytes:
    return os.pread(file.fileno(), size, at)
