"""Lines that the server itself writes into a slow query log, and chunks of the log between two records.

Each chunk can be read alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

RECORD = b"\n# User@Host: "
"""Line that begins every record of every server; `# Time` precedes it only if the second has changed."""
TIME = b"# Time: "
OPENING = b", Version: "
"""Part of the first line that a server writes when it opens the log."""
_OPENING = rb"(?:/|[A-Z]:\\)?[^\n,]{0,4096}(?:mysqld|mariadbd)[^\n,]{0,256}" + OPENING
# Written when a log is opened: also in the middle of a file, when the server is started again.
SERVER_LINES = re.compile(
    rb"^(?:" + _OPENING + rb"[^\n]*(?:started with:|embedded library)[^\n]*"
    rb"|[Tt][Cc][Pp] port: \d+ [^\n]*|Time[ \t]+Id[ \t]+Command\b[^\n]*)(?:\n|\Z)",
    re.MULTILINE,
)
_BEGINNING = re.compile(
    rb"# Time: (?:\d{6} |\d{4}-\d\d-\d\d[T ])|# User@Host: |"
    + _OPENING
    + rb"|[Tt][Cc][Pp] port: |Time[ \t]+Id[ \t]+Command"
)
# All of a server's path, or the beginning of it.
_PATH = re.compile(rb"(?:\A|\n)(?:/|[A-Z]:\\)[^ \n]*\Z")
BREAK = b"\n# Time: \n"
"""Marker where one log ends and another begins: an empty stamp."""
CHUNK = 4 << 20
LONGEST = 16 << 20
"""Size in bytes from which only beginning and end of a record are kept; a statement has at most 1 GiB."""
_KEPT = 1 << 20
_BEFORE_LINE = (b"", b"\n")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole records.

    `content`: begins with a record's first line, except in the first chunk of a stream; `stamp`: the last `# Time`
    before it, which also holds for a record without its own; `first`, `last`: position in the stream; `dropped`:
    bytes left out of a record that is too long.
    """

    content: bytes
    stamp: bytes
    first: bool
    last: bool
    dropped: int = 0


def chunks(blocks: Iterable[bytes], size: int = CHUNK) -> Iterator[Chunk]:
    """Yield chunks of about `size` bytes. The limits of the blocks make no difference to the records."""
    blocks_held: list[bytes] = []
    length, stamp, first, dropped = 0, b"", True, 0
    wanted = size
    for block in blocks:
        blocks_held.append(block)
        length += len(block)
        if length < wanted:
            continue
        content = b"".join(blocks_held)
        cut = _cut(content)
        if cut <= 0:
            if length >= LONGEST:
                content = content[:_KEPT] + content[-_KEPT:]
                dropped += length - len(content)
            blocks_held, length = [content], len(content)
            wanted = length + size
            continue
        whole, rest = content[:cut], content[cut:]
        yield Chunk(whole, stamp, first, last=False, dropped=dropped)
        stamp, first, dropped = _last_stamp(whole) or stamp, False, 0
        blocks_held, length, wanted = [rest], len(rest), size
    yield Chunk(b"".join(blocks_held), stamp, first, last=True, dropped=dropped)


def _cut(content: bytes) -> int:
    """Return the offset at which the last record begins; 0 if it cannot be found."""
    end = len(content)
    while (newline := content.rfind(RECORD, 0, end)) > 0:
        if ends_record(content, newline):
            line = content.rfind(b"\n", 0, newline) + 1
            return line if is_stamp(content[line:newline]) else newline + 1
        end = newline
    return 0


def _last_stamp(content: bytes) -> bytes:
    end = len(content)
    while (begin := content.rfind(TIME, 0, end)) >= 0:
        stop = content.find(b"\n", begin)
        line = content[begin:stop]
        if (
            content.startswith(RECORD, stop)
            and is_stamp(line)
            and len(line) > len(TIME)
            and content[begin - 1 : begin] in _BEFORE_LINE
        ):
            return line.removeprefix(TIME)
        end = begin
    return b""


def is_beginning(content: bytes, before: bytes) -> bool:
    """Return True if content begins as a log does, or as a part of a log cut between two records.

    `before`: the last bytes read before the content.
    """
    # A cut may go through the server's path; the rest of the path looks like a path, too.
    return _BEGINNING.match(content) is not None and not _PATH.search(before)


def without_server_lines(content: bytes) -> bytes:
    """Remove the lines that the server writes when it opens the log. A statement broken off there stays broken off."""
    return SERVER_LINES.sub(BREAK[1:], content)


def ends_record(content: bytes, end: int) -> bool:
    """Return True if a record ends at the newline at `end`, so that the next line may begin another."""
    end -= content[end - 1 : end] == b"\r"
    if end <= 0 or content[end - 1 : end] == b";":
        return True
    begin = content.rfind(b"\n", 0, end) + 1
    line = content[begin:end]
    return not line or is_stamp(line) or SERVER_LINES.match(line) is not None


def is_stamp(line: bytes) -> bool:
    """Return True if a line is the `# Time` of a record, and not the last line of a statement."""
    return line.startswith(TIME) and not line.endswith(b";")
