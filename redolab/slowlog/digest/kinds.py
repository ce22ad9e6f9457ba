"""Recognition of files that are no slow query logs, by their first bytes."""

from __future__ import annotations

import re
from pathlib import Path

import zstandard

from redolab.errorlog.compressed import TORN
from redolab.errors import LabError
from redolab.slowlog.digest.lines import RECORD
from redolab.slowlog.digest.sources import STANDARD_INPUT, opened

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


def check_kind(path: Path) -> None:
    """Raise `LabError` if a file is plainly neither a slow query log nor a part of one."""
    if path == STANDARD_INPUT:
        return
    if path.is_dir():
        raise LabError(f"{path} is a folder", "name the slow query logs in it")
    if path.exists() and not path.is_file():
        # A pipe cannot be read twice.
        return
    what = what_else(head(path))
    if what:
        raise LabError(f"{path} is {what}, not a slow query log", "leave it out")


def head(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked. Raises `OSError`."""
    try:
        with opened(path) as file:
            return file.read(_HEAD)
    except (*TORN, zstandard.ZstdError):
        return b""


def what_else(beginning: bytes) -> str:
    """Return the kind of a file that begins so and is no slow query log; "" if it may be one."""
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
