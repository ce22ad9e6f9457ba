"""Split of a byte stream into chunks between two records, so that each chunk can be read alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from redolab.slowlog.digest.lines import RECORD, TIME, ends_record, is_stamp

CHUNK = 4 << 20
LONGEST = 16 << 20
"""Size in bytes above which only the beginning of a record is kept; a statement has at most 1 GiB."""
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
    held: list[bytes] = []
    length, stamp, first, dropped = 0, b"", True, 0
    wanted = size
    for block in blocks:
        held.append(block)
        length += len(block)
        if length < wanted:
            continue
        content = b"".join(held)
        cut = _cut(content)
        if cut <= 0:
            if length > LONGEST:
                content = content[:_KEPT] + content[-_KEPT:]
                dropped += length - len(content)
            held, length = [content], len(content)
            wanted = length + size
            continue
        whole, rest = content[:cut], content[cut:]
        yield Chunk(whole, stamp, first, last=False, dropped=dropped)
        stamp, first, dropped = _last_stamp(whole) or stamp, False, 0
        held, length, wanted = [rest], len(rest), size
    yield Chunk(b"".join(held), stamp, first, last=True, dropped=dropped)


def _cut(content: bytes) -> int:
    """Return the offset at which the last record begins; 0 if it cannot be found."""
    end = len(content)
    while (found := content.rfind(RECORD, 0, end)) > 0:
        if ends_record(content, found):
            line = content.rfind(b"\n", 0, found) + 1
            return line if is_stamp(content[line:found]) else found + 1
        end = found
    return 0


def _last_stamp(content: bytes) -> bytes:
    end = len(content)
    while (found := content.rfind(TIME, 0, end)) >= 0:
        stop = content.find(b"\n", found)
        line = content[found:stop]
        if (
            content.startswith(RECORD, stop)
            and is_stamp(line)
            and len(line) > len(TIME)
            and content[found - 1 : found] in _BEFORE_LINE
        ):
            return line.removeprefix(TIME)
        end = found
    return b""
