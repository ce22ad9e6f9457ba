"""Files to one stream of bytes: unpacked, a rotated set in its order, pieces of one log put together again.

Files that are no slow query logs are recognised by their first bytes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO

import zstandard

from redolab.errorlog.compressed import OPENERS, Unpacked
from redolab.errors import LabError
from redolab.file_names import as_unicode
from redolab.slowlog.digest.chunks import BREAK, RECORD, TIME, is_beginning
from redolab.slowlog.digest.classes import ReadFile

STANDARD_INPUT = Path("-")
BLOCK = 1 << 20
_ZSTD = b"\x28\xb5\x2f\xfd"
_PACKED = 4096
"""Bytes of a zstd file that are unpacked at a time: a damaged piece yields nothing."""
_LAST = 512
_INDENTED = re.compile(rb"^(?P<indent>[ \t]+)" + re.escape(RECORD[1:]), re.MULTILINE)
# slow.log.1, slow.log.2.gz: the greater, the older. slow.log-20240501, slow.log.007 (pieces): as they are sorted.
_NUMBERED = re.compile(r"(?P<base>.+)\.(?P<number>[1-9]\d{0,5})(?:\.(?:gz|zst|bz2|xz))?")
_HEAD = 65_536
_MAGIC = (
    (b"\xfebin", "a binary log"),
    (b"\xfdbin", "an encrypted binary log"),
    (b"PAR1", "a Parquet file"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3", "an SQLite database"),
)
_STAMP = rb"(?:\d{4}-\d\d-\d\d[T ] ?\d{1,2}:\d\d:\d\d\S*|\d{6} {1,2}\d{1,2}:\d\d:\d\d)"
_GENERAL = re.compile(
    rb"^(?:" + _STAMP + rb")?[ \t]+\d+ (?:Query|Connect|Quit|Prepare|Execute|Close stmt|Init DB|Statistics|Ping)\b",
    re.M,
)
_ERROR = re.compile(
    rb"^"
    + _STAMP
    + rb" (?:\d+ )?(?:\[(?:Note|Warning|ERROR|System)\]|mysqld_safe )|^InnoDB: |\[(?:Note|Warning|ERROR)\] \[MY-\d+\]",
    re.MULTILINE,
)
_DUMP = re.compile(rb"^-- (?:MySQL|MariaDB) dump |^/\*M?!\d+[^\n]*-- (?:MySQL|MariaDB) dump ", re.MULTILINE)
_TAR = slice(257, 262)
# Statements hold binary strings; a binary file is full of what is no text.
_BINARY_SHARE = 0.05
_JUDGED_FROM = 4096
"""Bytes: a piece of a log as small as that may be a binary string alone."""


class _ZstdFile:
    """Content of a file that zstd packed.

    The library's own reader takes a file that was cut off for whole.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._frame = zstandard.ZstdDecompressor().decompressobj()

    def read1(self, _size: int) -> bytes:
        """Return the next part of the content, b"" at its end.

        Raises `OSError` without a number, as bzip2's reader does, or `EOFError` if the content is cut off or damaged.
        """
        part = b""
        while not part:
            packed = self._frame.unused_data or self._file.read(_PACKED)
            if self._frame.eof:
                if not packed:
                    break
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            elif not packed:
                raise EOFError("the file ends within a frame")
            try:
                part = self._frame.decompress(packed)
            except zstandard.ZstdError as error:
                raise OSError(str(error)) from error
        return part


_OPENERS = {**OPENERS, _ZSTD: _ZstdFile}


@dataclass
class Stream:
    """Content of files in sequence, and a record of what was read of each."""

    paths: Sequence[Path]
    files: list[ReadFile] = field(default_factory=list)

    def blocks(self) -> Iterator[bytes]:
        """Yield the content, a block at a time. Raises `OSError`."""
        last = b""
        for path in self.paths:
            size = 0
            with path.open("rb") if path != STANDARD_INPUT else nullcontext(sys.stdin.buffer) as file:
                content = Unpacked(file, _OPENERS)
                for block in without_indent(iter(partial(content.read, BLOCK), b"")):
                    if not size and last and is_beginning(block, last):
                        yield _between(last)
                    size += len(block)
                    last = (last + block)[-_LAST:]
                    yield block
            broken = "" if content.damage is None else f"compressed, and cut off or damaged ({content.damage})"
            self.files.append(ReadFile(path=as_unicode(path), bytes=size, broken=broken))


def in_order(paths: Sequence[Path]) -> list[Path]:
    """Return the files of each rotated set from the oldest on; sets and single files keep the given order."""
    sets: dict[str, list[tuple[int, Path]]] = {}
    for path in paths:
        numbered = _NUMBERED.fullmatch(str(path))
        base = numbered["base"] if numbered else re.sub(r"\.(?:gz|zst|bz2|xz)\Z", "", str(path))
        sets.setdefault(base, []).append((int(numbered["number"]) if numbered else 0, path))
    return [path for files in sets.values() for _, path in sorted(files, key=lambda file: -file[0])]


def without_indent(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a paste without its indent, empty lines, and dots in place of omitted text."""
    rest, paste = b"", None
    for number, block in enumerate(blocks):
        if number == 0 and RECORD not in b"\n" + block and (indented := _INDENTED.search(block)) is not None:
            paste = re.compile(
                rb"^[ \t]*(?:\.\.\.|\xe2\x80\xa6)?[ \t]*\n|^" + re.escape(indented["indent"]), re.MULTILINE
            )
        if paste is None:
            yield block
            continue
        lines, newline, rest = (rest + block).rpartition(b"\n")
        yield paste.sub(b"", lines + newline)
    if paste is not None and rest:
        yield paste.sub(b"", rest)


def _between(last: bytes) -> bytes:
    """Return the bytes to insert between two files, so that the end of one does not run into the next."""
    if last.endswith(b";\n"):
        return b""
    line = last.removesuffix(b"\n").rpartition(b"\n")[2]
    if not last.endswith(b"\n"):
        return BREAK
    return b"" if line.startswith(TIME) else BREAK[1:]


def check_kind(path: Path) -> None:
    """Raise `LabError` if a file is plainly neither a slow query log nor a part of one."""
    if path == STANDARD_INPUT:
        return
    if path.is_dir():
        raise LabError(f"{path} is a folder", "name the slow query logs in it")
    if path.exists() and not path.is_file():
        # A pipe cannot be read twice.
        return
    what = _other_kind(_head(path))
    if what:
        raise LabError(f"{path} is {what}, not a slow query log", "leave it out")


def _head(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked as far as they can be. Raises `OSError`."""
    with path.open("rb") as file:
        return Unpacked(file, _OPENERS).read(_HEAD)


def _other_kind(beginning: bytes) -> str:
    """Return the kind of a file that is no slow query log, by its beginning; "" if it may be one."""
    for magic, what in _MAGIC:
        if beginning.startswith(magic):
            return what
    if beginning[_TAR] == b"ustar":
        return "a tar archive"
    if RECORD in b"\n" + beginning:
        return ""
    if len(beginning) >= _JUDGED_FROM and beginning.count(b"\0") > _BINARY_SHARE * len(beginning):
        return "a binary file"
    for pattern, what in ((_DUMP, "a dump"), (_GENERAL, "a general query log"), (_ERROR, "an error log")):
        if pattern.search(beginning):
            return what
    return ""
