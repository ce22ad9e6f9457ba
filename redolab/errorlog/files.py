"""Error logs from files: the lines that can matter to a recovery, out of gigabytes that cannot.

Large pieces of a log are searched for the few words that every line of a recovery contains; only the lines
around a hit become text. So a gigabyte of other lines costs a second or two, and memory does not grow
with the file, nor with a line that never ends.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO

from redolab.errorlog.compressed import Unpacked
from redolab.errorlog.line_table import NEEDLES, Near, matters
from redolab.lines import Line

# A piece fits the CPU's cache, because it is searched once for each word.
_PIECE = 1 << 18
# Capitals of a piece that are compared before the whole word is searched for.
_CAPITALS = 100
# On each side of a hit: what is longer is no line of an error log, but can be binary rubbish before one.
_REACH = 8192
_NEEDLES = {
    near: [(word.encode(), re.compile(pattern.encode(), re.MULTILINE)) for word, pattern in needles.items()]
    for near, needles in NEEDLES.items()
}
_IN_A_START = (b"InnoDB", b" as process ", b"connections")
_BACKUP = b"backup"
_NUL_ENDS_LINE = bytes.maketrans(b"\0", b"\n")
_ARRIVALS = ".arrivals"


def read_log(source: Path | IO[bytes] | Unpacked) -> Iterator[Line]:
    """Yield the lines of an error log that may belong to a start, in their order, and the last line of the log.

    Whatever the file holds, none raises. A crash of the machine can leave NUL bytes in a log: they end a line. A file
    may be compressed, and is read as far as it can be unpacked.
    """
    if isinstance(source, Path):
        with source.open("rb") as stream:
            yield from _lines(Unpacked(stream))
    else:
        yield from _lines(source)


def arrivals_of(log: Path) -> Path:
    """Return the file of a log's arrivals: a line for each line, in seconds from the start of the server.

    The lab keeps them, because some servers stamp their lines late or by whole seconds.
    """
    return log.with_name(log.name + _ARRIVALS)


def read_stamped_log(log: Path) -> Iterator[Line]:
    """Yield all lines of a log that the lab saw arriving, each with its arrival; without arrivals, as `read_log`."""
    if not arrivals_of(log).exists():
        yield from read_log(log)
        return
    with (
        log.open(encoding="utf-8", errors="replace", newline="\n") as lines,
        arrivals_of(log).open(encoding="utf-8") as stamps,
    ):
        # Lines that the lab added have no arrival, and the last arrival can be torn.
        for line, stamp in zip(lines, itertools.chain(stamps, itertools.repeat("")), strict=False):
            has_arrived = stamp.endswith("\n") and stamp != "\n"
            yield Line(line.rstrip("\n"), float(stamp) if has_arrived else None)


def _lines(stream: IO[bytes] | Unpacked) -> Iterator[Line]:
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
        if _holds(piece, word, end):
            if word in _IN_A_START:
                here.add(Near.INNODB)
            spans += _lines_around(piece, pattern, end)
    if (here or before) and piece.find(_BACKUP, 0, end) >= 0:
        here.add(Near.BACKUP)
    for near in here | before:
        for word, pattern in _NEEDLES[near]:
            if _holds(piece, word, end):
                spans += _lines_around(piece, pattern, end)
    # In runs that are sorted already, one for each word; a line can be in several, and a very long one with several
    # beginnings.
    spans.sort(reverse=True)
    whole = {close: begin for begin, close in spans}
    return [_line(piece[begin:close]) for close, begin in reversed(whole.items())], frozenset(here)


def _holds(piece: bytes, word: bytes, end: int) -> bool:
    """Return True if `piece` has a word before `end`.

    A single byte is found thirty times as fast as a word, and capitals are rare in most lines.
    """
    found, before = -1, _before_capital(word)
    for _ in range(_CAPITALS if before < len(word) else 0):
        found = piece.find(word[before], found + 1, end)
        if found < 0:
            return False
        if piece.startswith(word, max(0, found - before), end):
            return True
    return piece.find(word, 0, end) >= 0


@cache
def _before_capital(word: bytes) -> int:
    """Return the number of letters before the first capital behind the word's beginning, or before its end."""
    return next((at for at in range(1, len(word)) if word[at : at + 1].isupper()), len(word))


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
