"""Files that may lie compressed: the logs of kept runs, and what logrotate made of a server's."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

ENDING = ".gz"
TORN = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)
"""What reading a compressed file raises that has no end, or is none."""
_OPENERS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b\x08": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
_LONGEST = max(map(len, _OPENERS))


def compressed(content: bytes) -> bytes:
    """`content` as gzip, the same bytes whenever it is compressed: without a time and a name."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as file:
        file.write(content)
    return packed.getvalue()


def exists(path: Path) -> bool:
    """Whether a file is there, as it was written or compressed beside its place."""
    return path.exists() or _beside(path).exists()


@contextmanager
def open_file(path: Path) -> Iterator[IO[bytes]]:
    """A file's content, whether it is compressed, or lies compressed beside its place. Raises `OSError`."""
    beside = _beside(path)
    with (beside if beside.exists() and not path.exists() else path).open("rb") as file:
        # What comes through a pipe cannot be read twice.
        begin = file.peek(_LONGEST)
        opener = next((opener for magic, opener in _OPENERS.items() if begin.startswith(magic)), None)
        if opener is None:
            yield file
        else:
            with opener(file) as content:
                yield content


def _beside(path: Path) -> Path:
    return path.with_name(path.name + ENDING)
