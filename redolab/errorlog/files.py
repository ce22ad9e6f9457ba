"""Error logs from files: the lines that can matter to a recovery, out of gigabytes that cannot.

A log is looked through in large pieces for the few words that every line of a recovery contains; only the
lines around a hit become text. So a gigabyte of other lines costs a second or two, and memory does not grow
with the file, nor with a line that never ends.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from redolab.errorlog.compressed import Unpacked
from redolab.errorlog.table import NEEDLES, Near, matters
from redolab.lines import Line

# A piece fits the CPU's cache, because it is searched once for each word.
_PIECE = 1 << 18
# On each side of a hit: what is longer is no line of an error log, but can be binary rubbish before one.
_REACH = 8192
_NEEDLES = {
    near: tuple((n.word.encode(), re.compile(n.pattern.encode(), re.MULTILINE)) for n in NEEDLES if n.near is near)
    for near in Near
}
_BESIDE = (b"InnoDB", b" as process ")
_BACKUP = b"backup"
_NUL_ENDS_LINE = bytes.maketrans(b"\0", b"\n")


class Readable(Protocol):
    """Source of a log."""

    def read(self, size: int, /) -> bytes:
        """Return the next so many bytes, fewer at its end."""
        ...


def read_log(source: str | os.PathLike[str] | Readable) -> Iterator[Line]:
    """Yield the lines of an error log that may tell of a start, in their order, and the last line that it has.

    Whatever the file holds, none raises. A crash of the machine can leave NUL bytes in a log: they end a line. A file
    may be compressed, and is read as far as it can be unpacked.
    """
    if isinstance(source, str | os.PathLike):
        with Path(source).open("rb") as stream:
            yield from _lines(Unpacked(stream))
    else:
        yield from _lines(source)


def _lines(stream: Readable) -> Iterator[Line]:
    rest = end = b""
    near: frozenset[Near] = frozenset()
    while piece := stream.read(_PIECE):
        if b"\0" in piece:
            piece = piece.translate(_NUL_ENDS_LINE)
        piece = rest + piece
        # An endless line is cut where a piece ends.
        whole = piece.rfind(b"\n") + 1 or (len(piece) if len(piece) > _PIECE else 0)
        rest = piece[whole:]
        end = piece[-_REACH:]
        lines, near = _hits(piece, whole, near)
        yield from lines
    yield from _hits(rest, len(rest), near)[0]
    last = _line(end.rstrip().rpartition(b"\n")[2])
    if last.text and not matters(last.text):
        yield last


def _hits(piece: bytes, end: int, before: frozenset[Near]) -> tuple[list[Line], frozenset[Near]]:
    """Return the lines of `piece` up to `end` that hold one of the needles, and their surroundings.

    Those that only matter near something are looked for only where that is in it, or was in the piece before.
    """
    spans: list[tuple[int, int]] = []
    here: set[Near] = set()
    for word, pattern in _NEEDLES[Near.ANYTHING]:
        # A word is found several times as fast as a pattern, and most pieces do not have it.
        if piece.find(word, 0, end) >= 0:
            if word in _BESIDE:
                here.add(Near.INNODB)
            spans += _lines_around(piece, pattern, end)
    if (here or before) and piece.find(_BACKUP, 0, end) >= 0:
        here.add(Near.BACKUP)
    for near in here | before:
        for word, pattern in _NEEDLES[near]:
            if piece.find(word, 0, end) >= 0:
                spans += _lines_around(piece, pattern, end)
    # In runs that are sorted already, one for each word; a line can be in several, and a very long one with several
    # beginnings.
    spans.sort(reverse=True)
    whole = {close: begin for begin, close in spans}
    return [_line(piece[begin:close]) for close, begin in reversed(whole.items())], frozenset(here)


def _line(content: bytes) -> Line:
    return Line(content.rstrip(b"\r").decode("utf-8", "replace"))


def _lines_around(piece: bytes, pattern: re.Pattern[bytes], end: int) -> list[tuple[int, int]]:
    """Return the begin and end of each line in which `pattern` is found; a line can come more than once."""
    spans = []
    same = 0
    for found in pattern.finditer(piece, 0, end):
        at = found.start()
        if at < same:
            continue
        first = at - _REACH if at > _REACH else 0
        begin = piece.rfind(b"\n", first, at) + 1 or first
        last = at + _REACH
        close = piece.find(b"\n", at, last if last < end else end)
        if close < 0:
            close = last if last < end else end
            # On an endless line, text around every hit would take time quadratic in its length.
            same = at + _REACH // 2
        # Other hits in a line of ordinary length have the same line around them.
        elif close - begin < _REACH:
            same = close
        spans.append((begin, close))
    return spans
