"""Lines that the server itself writes into a slow query log; they separate its records."""

from __future__ import annotations

import re

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
