"""Files that may be compressed: what logrotate made of a server's logs."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Mapping
from io import BufferedReader
from typing import IO, Any

OPENERS: Mapping[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b\x08": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
"""Readers of the formats that Python's own library unpacks, by the first bytes of the packed content."""
_BEGINNING = 4096


class Unpacked:
    """A stream's content, unpacked where it is compressed, and as far as it can be.

    `openers`: readers of compressed content, by its first bytes; `beginning`: the first bytes of the unpacked content,
    once they have been read; `damage`: the error that ended the content, if it is cut off or damaged.
    """

    def __init__(self, stream: IO[bytes], openers: Mapping[bytes, Callable[[IO[bytes]], Any]] = OPENERS) -> None:
        # A pipe cannot be read twice.
        buffered: BufferedReader[Any] = stream if isinstance(stream, BufferedReader) else BufferedReader(stream)
        begin = buffered.peek(max(map(len, openers)))
        opener = next((opener for magic, opener in openers.items() if begin.startswith(magic)), None)
        self._content = buffered if opener is None else opener(buffered)
        self.beginning = b""
        self.damage: Exception | None = None

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes, fewer where the content ends. Raises `OSError`, not for damage."""
        parts: list[bytes] = []
        while size > 0 and self.damage is None:
            try:
                # All at once would lose what comes before the damage.
                part = self._content.read1(size)
            except (EOFError, zlib.error, lzma.LZMAError) as error:
                self.damage = error
            except OSError as error:
                # gzip and bzip2 have no error type of their own for damage.
                if error.errno is not None:
                    raise
                self.damage = error
            else:
                if not part:
                    break
                parts.append(part)
                size -= len(part)
        content = b"".join(parts)
        self.beginning = self.beginning or content[:_BEGINNING]
        return content
