"""Disks as files: a base that all states of a recording share, and on top of it what a state has otherwise."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from redolab.machine.processes import Command, run
from redolab.powercut.recording import DATA
from redolab.powercut.states import SECTOR, DiskState, History

_AS_BEFORE = -1
_AT_ONCE = 1024
"""Sectors written in one call."""


def share_blocks(file: Path, copy: Path) -> None:
    """Make a copy that shares its blocks with the file until they are written. Raises `LabError` where the file system cannot."""
    run(Command(["cp", "--reflink=always", "--sparse=auto", str(file), str(copy)]))


class DiskImages:
    """The states of one recording as files in a folder on a file system that can share blocks."""

    def __init__(self, history: History, base: Path, recording: Path) -> None:
        """`base`: the disk before the recording; `recording`: its folder."""
        self._history = history
        self._base = base
        self._data = recording / DATA

    @contextmanager
    def image(self, state: DiskState, file: Path) -> Iterator[Path]:
        """While in it: the state is in that file. Raises `LabError`."""
        share_blocks(self._base, file)
        try:
            self._apply(state, file)
            yield file
        finally:
            file.unlink(missing_ok=True)

    def _apply(self, state: DiskState, file: Path) -> None:
        with self._data.open("rb") as data, file.open("r+b", buffering=0) as disk:
            size = os.fstat(data.fileno()).st_size
            written = mmap.mmap(data.fileno(), size, access=mmap.ACCESS_READ) if size else None
            try:
                for first, count, source in runs(self._history, state):
                    where = first * SECTOR
                    if source < 0:
                        disk_zeroes(disk.fileno(), where, count * SECTOR)
                    else:
                        assert written is not None
                        os.pwrite(disk.fileno(), written[source * SECTOR : (source + count) * SECTOR], where)
            finally:
                if written is not None:
                    written.close()


def disk_zeroes(disk: int, offset: int, length: int) -> None:
    """Write zeroes to an open file."""
    os.pwrite(disk, bytes(length), offset)


def runs(history: History, state: DiskState) -> Iterator[tuple[int, int, int]]:
    """What a state has otherwise than the base: first sector, how many, where their bytes are (or below 0: zeroes)."""
    changed = np.flatnonzero(state.sources != _AS_BEFORE)
    if not len(changed):
        return
    sectors, sources = history.sectors[changed], state.sources[changed]
    goes_on = (np.diff(sectors) == 1) & (
        ((sources[1:] >= 0) & (np.diff(sources) == 1)) | ((sources[1:] < 0) & (sources[:-1] < 0))
    )
    starts = np.concatenate([[0], np.flatnonzero(~goes_on) + 1, [len(changed)]])
    for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        for place in range(start, end, _AT_ONCE):
            count = min(_AT_ONCE, end - place)
            yield int(sectors[place]), count, int(sources[place])
