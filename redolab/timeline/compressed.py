"""Files that may be compressed: what logrotate made of a server's logs."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

TORN = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
"""What reading a compressed file raises that has no end, or is none."""
_OPENERS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b\x08": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
_LONGEST = max(map(len, _OPENERS))


@contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """A file's content, unpacked where it is compressed. Raises `OSError`."""
    with path.open("rb") as file:
        # What comes through a pipe cannot be read twice.
        begin = file.peek(_LONGEST)
        opener = next((opener for magic, opener in _OPENERS.items() if begin.startswith(magic)), None)
        if opener is None:
            yield file
        else:
            with opener(file) as content:
                yield content
