"""The lines of a slow query log that are the server's, by which its records are told apart."""

from __future__ import annotations

import re

RECORD = b"\n# User@Host: "
"""What every record has, whatever server wrote it; `# Time` stands before it only where the second is a new one."""
TIME = b"# Time: "
# Written when a log is opened: also in the middle of a file, when the server is started again.
SERVER_LINES = re.compile(
    rb"^(?:[^\n]*mysqld[^\n]*, Version: [^\n]*(?:started with:|embedded library)[^\n]*"
    rb"|[Tt][Cc][Pp] port: \d+ [^\n]*|Time +Id +Command\b[^\n]*)(?:\n|\Z)",
    re.MULTILINE,
)
_BEGINNING = re.compile(
    rb"# Time: |# User@Host: |[^\n]{0,4096}mysqld[^\n]*, Version: |[Tt][Cc][Pp] port: |Time +Id +Command"
)
BREAK = b"\n# Time: \n"
"""Stands for a place where one log ends and another begins: a stamp that says nothing."""


def is_beginning(content: bytes) -> bool:
    """Whether content begins as a log does, or a piece of one that was cut between two records."""
    return _BEGINNING.match(content) is not None


def without_server_lines(content: bytes, first: bool) -> bytes:
    """Content without what the server writes when it opens the log; a statement broken off there stays broken off.

    `first`: whether it is the first of its stream, which may begin in the middle of these lines.
    """
    # To look for three lines takes thrice as long as to look for one.
    if not first and b", Version: " not in content:
        return content
    return SERVER_LINES.sub(BREAK[1:], content)


def ends_record(content: bytes, end: int) -> bool:
    """Whether a record ends where the newline at `end` stands, so that the next line may begin one."""
    if end <= 0 or content[end - 1 : end] == b";":
        return True
    begin = content.rfind(b"\n", 0, end) + 1
    line = content[begin:end]
    return not line or line.startswith(TIME) or SERVER_LINES.match(line) is not None
