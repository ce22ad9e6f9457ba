"""What a lost sector was: which page of which table, which part of which log."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from redolab.machine.processes import Command, run
from redolab.powercut.recording import DATA, Event
from redolab.powercut.states import SECTOR, History, Lost
from redolab.units import KIB

_EXTENT = re.compile(r"^\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+):")
_LSN, _TYPE, _HEAD = slice(16, 24), slice(24, 26), 38
"""Fields of the header of every InnoDB page, and its length (`fil0types.h`: FIL_PAGE_LSN, FIL_PAGE_TYPE)."""
_TYPES = {
    2: "undo log", 3: "segment inodes", 5: "insert buffer bitmap", 6: "system", 7: "transaction system", 8: "file space header",
    9: "extent descriptors", 17853: "dictionary information", 17854: "spatial index", 17855: "index",
}  # fmt: skip
"""FIL_PAGE_TYPE → what such a page is (`fil0fil.h`)."""
_FIRST_LSN, _HEADER = slice(8, 16), 2 * KIB
"""Of a redo log file of MySQL 8.0.30 and later: the LSN of its first block, and where that is (`log0types.h`: LOG_FILE_HDR_SIZE)."""
_FLAGS, _FULL_CRC32, _UNIT, _PAGE = slice(54, 58), 0x10, 512, 16 * KIB
"""FSP_SPACE_FLAGS in a file's first page: shifts of 512 bytes; without one a page has 16K."""
_DOUBLEWRITE_FILE = ".dblwr"
_DOUBLEWRITE = range(64, 192)
"""Pages of the system tablespace, where a server has no files of its own for it (`trx0sys.h`: TRX_SYS_DOUBLEWRITE)."""
_MOST = 8
"""Pages of one write that are named each."""


@dataclass(frozen=True, slots=True, order=True)
class Extent:
    """A stretch of a disk that belongs to a file; in sectors."""

    first: int
    count: int
    file: str
    """From the instance's data directory."""
    within: int
    """Where in the file it is."""
    page: int = 0
    """Sectors of a page, of a file that consists of InnoDB's pages; else 0."""


def extents_of(folder: Path) -> list[Extent]:
    """Where the files of a mounted folder lie on their disk, in order. Raises `LabError`."""
    found = []
    for path in sorted(each for each in folder.rglob("*") if each.is_file() and not each.is_symlink()):
        name = str(path.relative_to(folder))
        page = _page_size(path) // SECTOR if _has_pages(name) else 0
        said = run(Command(["filefrag", "-v", f"-b{SECTOR}", str(path)])).out
        for line in said.splitlines():
            if match := _EXTENT.match(line):
                within, first, count = (int(group) for group in match.groups())
                found.append(Extent(first, count, name, within, page))
    return sorted(found)


class Names:
    """Names what of a recording is lost, by where files lay at that time."""

    def __init__(self, history: History, recording: Path, extents: Sequence[Extent]) -> None:
        """`recording`: its folder."""
        self._history = history
        self._data = recording / DATA
        self._extents = sorted(extents)
        self._firsts = [each.first for each in self._extents]
        self._has_files_for_doublewrite = any(each.file.endswith(_DOUBLEWRITE_FILE) for each in self._extents)

    def of(self, lost: Lost) -> list[str]:
        """What these sectors were, a line for each page or stretch of a file."""
        recording = self._history.recording
        kind = Event(int(recording.event[lost.number]))
        first = int(recording.offset[lost.number]) // SECTOR + lost.first
        lines = [self._line(*stretch, lost, kind) for stretch in self._stretches(first, lost.count)]
        return lines if len(lines) <= _MOST else [*lines[:_MOST], f"and {len(lines) - _MOST} more of the same write"]

    def _stretches(self, first: int, count: int) -> Iterator[tuple[Extent | None, int, int]]:
        """These sectors cut at the edges of files and pages: whose they are, the first, and how many."""
        end = first + count
        while first < end:
            extent = self._extent(first)
            if extent is None:
                after = bisect_right(self._firsts, first)
                until = min(end, self._firsts[after] if after < len(self._firsts) else end)
            else:
                until = min(end, extent.first + extent.count)
                if extent.page:
                    until = min(until, first + extent.page - (extent.within + first - extent.first) % extent.page)
            yield extent, first, until - first
            first = until

    def _extent(self, sector: int) -> Extent | None:
        place = bisect_right(self._firsts, sector) - 1
        if place < 0:
            return None
        extent = self._extents[place]
        return extent if sector < extent.first + extent.count else None

    def _line(self, extent: Extent | None, first: int, count: int, lost: Lost, kind: Event) -> str:
        how = "" if kind is Event.WRITE else f", {kind.name.lower()}"
        if extent is None:
            return f"no file that is there (the file system's own journal or metadata), {_sectors(first, count)} of the disk{how}"
        within = extent.within + first - extent.first
        if extent.page:
            page, sector = divmod(within, extent.page)
            about = self._page_in_words(first - sector, lost)
            return f"{self._page_of(extent.file, page)}{about}: {_sectors(sector, count)} of {extent.page}{how}"
        name = f"the {_log(extent.file)} {extent.file}, {_sectors(within, count)}"
        return f"{name}{self._redo_in_words(extent, within, lost)}{how}"

    def _page_in_words(self, page_first: int, lost: Lost) -> str:
        """As in ` (index), written at LSN 123,456`; nothing where the write does not hold the page's header."""
        header = self._written(lost.number, page_first, _HEAD)
        if header is None:
            return ""
        kind = _TYPES.get(int.from_bytes(header[_TYPE], "big"))
        lsn = int.from_bytes(header[_LSN], "big")
        return f"{f' ({kind})' if kind else ''}{f', written at LSN {lsn:,}' if lsn else ''}"

    def _page_of(self, file: str, page: int) -> str:
        if file == "ibdata1" and page in _DOUBLEWRITE and not self._has_files_for_doublewrite:
            return f"the doublewrite buffer, page {page} of ibdata1"
        return f"page {page} of {file.removesuffix('.ibd').replace('/', '.')}"

    def _redo_in_words(self, extent: Extent, within: int, lost: Lost) -> str:
        if "#innodb_redo/" not in extent.file or within * SECTOR < _HEADER:
            return ""
        header = self._last_content(extent, _FIRST_LSN, lost.number)
        if header is None:
            return ""
        return f", from LSN {int.from_bytes(header, 'big') + within * SECTOR - _HEADER:,}"

    def _last_content(self, extent: Extent, field: slice, before: int) -> bytes | None:
        """What the last write to the first sector of an extent's file put there, of those that came before."""
        start = next((each.first for each in self._extents if each.file == extent.file and each.within == 0), None)
        if start is None:
            return None
        found = None
        changes = self._history.recording.changes
        for number in changes[changes < before].tolist():
            found = self._written(number, start, field.stop) or found
        return None if found is None else found[field]

    def _written(self, number: int, sector: int, length: int) -> bytes | None:
        """So many bytes that a write put at a sector; None where it did not."""
        recording = self._history.recording
        first = int(recording.offset[number]) // SECTOR
        is_there = recording.event[number] == Event.WRITE and first <= sector < first + self._history.length(number)
        if not is_there:
            return None
        with self._data.open("rb") as data:
            data.seek(int(recording.data[number]) + (sector - first) * SECTOR)
            return data.read(length)


def _has_pages(file: str) -> bool:
    name = Path(file).name
    return name.endswith((".ibd", ".ibu")) or name.startswith(("ibdata", "undo"))


def _page_size(file: Path) -> int:
    """Bytes of a page, by the flags in the file's first (`fsp0types.h`; MariaDB's fourth bit: `full_crc32`)."""
    with file.open("rb") as opened:
        flags = int.from_bytes(opened.read(_FLAGS.stop)[_FLAGS], "big")
    shift = flags & 0xF if flags & _FULL_CRC32 else (flags >> 1) & 0xF or (flags >> 6) & 0xF
    return _UNIT << shift if shift else _PAGE


def _log(file: str) -> str:
    name = Path(file).name
    if name.startswith(("ib_logfile", "#ib_redo")):
        return "redo log"
    if name.endswith(_DOUBLEWRITE_FILE):
        return "doublewrite file"
    return "binary log" if re.fullmatch(r".*bin[^/]*\.\d+", name) else "file"


def _sectors(first: int, count: int) -> str:
    return f"sector {first}" if count == 1 else f"sectors {first}–{first + count - 1}"
