"""Disks as files: a base that all states of a recording share, and each state's differences from it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from redolab.machine.processes import Command, run
from redolab.powercut.recording import DATA
from redolab.powercut.states import BASE, SECTOR, DiskState, History

_AT_ONCE = 1024
"""Sectors written in one call."""


def share_blocks(file: Path, copy: Path) -> None:
    """Make a copy that shares blocks with the file until written. Raises `LabError` if the file system cannot."""
    run(Command(["cp", "--reflink=always", "--sparse=auto", str(file), str(copy)]))


@contextmanager
def disk_image(history: History, state: DiskState, base: Path, recording: Path, file: Path) -> Iterator[Path]:
    """Yield a file that holds the state; it is removed afterwards.

    `base`: the disk before the recording; `recording`: the folder of the recording. Raises `LabError`.
    """
    share_blocks(base, file)
    try:
        _apply(history, state, recording / DATA, file)
        yield file
    finally:
        file.unlink(missing_ok=True)


def _apply(history: History, state: DiskState, written: Path, file: Path) -> None:
    with written.open("rb") as data, file.open("r+b", buffering=0) as disk:
        for first, count, source in runs(history, state):
            size = count * SECTOR
            content = bytes(size) if source < 0 else os.pread(data.fileno(), size, source * SECTOR)
            os.pwrite(disk.fileno(), content, first * SECTOR)


def runs(history: History, state: DiskState) -> Iterator[tuple[int, int, int]]:
    """Yield the sectors of a state that differ from the base, in runs.

    Each item: the first sector, the number of sectors, and the first sector of their bytes among those written
    (negative: zeroes).
    """
    changed = np.flatnonzero(state.sources != BASE)
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
