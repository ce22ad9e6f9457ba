"""Files that may be compressed: what logrotate made of a server's logs."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

TORN = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
"""Errors of reading a compressed file that is cut off or damaged."""
_OPENERS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b\x08": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
_LONGEST = max(map(len, _OPENERS))
_BEGINNING = 4096


class Unpacked:
    """A stream's content, unpacked where it is compressed, and as far as it can be.

    `beginning`: its first bytes, once it has been read; `is_damaged`: True if it could not be unpacked to its end.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        # A pipe cannot be read twice.
        buffered: BufferedReader[Any] = stream if isinstance(stream, BufferedReader) else BufferedReader(stream)
        opener = _opener(buffered)
        self._content = buffered if opener is None else opener(buffered)
        self.beginning = b""
        self.is_damaged = False

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes, fewer where the content ends. Raises `OSError`, not for damage."""
        parts: list[bytes] = []
        while size > 0 and not self.is_damaged:
            try:
                # All at once would lose what comes before the damage.
                part = self._content.read1(size)
            except TORN:
                self.is_damaged = True
            except OSError as error:
                # bzip2 has no error type of its own for this.
                if error.errno is not None:
                    raise
                self.is_damaged = True
            else:
                if not part:
                    break
                parts.append(part)
                size -= len(part)
        content = b"".join(parts)
        self.beginning = self.beginning or content[:_BEGINNING]
        return content


@contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file's content, unpacked where it is compressed. Raises `OSError`."""
    with path.open("rb") as file:
        opener = _opener(file)
        if opener is None:
            yield file
        else:
            with opener(file) as content:
                yield content


def _opener(file: BufferedReader[Any]) -> Callable[[IO[bytes]], Any] | None:
    begin = file.peek(_LONGEST)
    return next((opener for magic, opener in _OPENERS.items() if begin.startswith(magic)), None)
