"""A statement without what differs from one execution to the next, as pt-query-digest 3.2 has it by default.

The order of the steps, and that they work on bytes, is part of what it is: `0xAB` becomes `?ab`, for numbers are
taken out before the statement is put into lower case. Nothing here is better than there, so that its classes, and the
MD5 of a fingerprint as the class's id, can be compared with what people have.
"""

from __future__ import annotations

import hashlib
import re

MYSQLDUMP = b"SELECT /*!40001 SQL_NO_CACHE */ * FROM `"
TOOLKIT = r"/\*[0-9A-Za-z_]+\.[0-9A-Za-z_]+:[0-9]/[0-9]\*/"
"""What tools of Percona Toolkit write into their statements: table, and which chunk of how many."""
ADMINISTRATOR = b"administrator command: "

_TOOLKIT = re.compile(TOOLKIT.encode())
_CALL = re.compile(rb"\s*(call\s+\S+)\(", re.IGNORECASE)
_FIRST_ROW = re.compile(rb"((?:insert|replace)(?: ignore)?\s+into.+?values\s*\(.*?\))\s*,\s*\(", re.I | re.S)
_COMMENT = re.compile(rb"/\*[^!].*?\*/", re.DOTALL)
_LINE_COMMENT = re.compile(rb"(?:#|--)[^\r\n'\"]*(?=[\r\n]|\Z)")
_USE = re.compile(rb"use \S+(?=\n?\Z)", re.IGNORECASE)
_ESCAPED_QUOTE = re.compile(rb"\\[\"']")
_DOUBLE_QUOTED = re.compile(rb'"[^"]*"')
_SINGLE_QUOTED = re.compile(rb"'[^']*'")
_BOOLEAN = re.compile(rb"\b(?:true|false)\b", re.IGNORECASE)
_NUMBER = re.compile(rb"[-+0-9][-+.0-9a-fx]*")
_SIGN = re.compile(rb"[-+.bx]\?")
_BLANKS = re.compile(rb"[ \t\n\r\f]+")
_NULL = re.compile(rb"\bnull\b")
_LIST = re.compile(rb"\b(in|values?)(?:[\s,]*\([\s?,]*\))+")
_UNION = re.compile(rb"\b(select\s.*?)(?:(\sunion(?:\sall)?)\s\1)+")
_LIMIT = re.compile(rb"\blimit \?(?:, ?\?| offset \?)?")
_ORDER = re.compile(rb"\border by ")
_ASCENDING = re.compile(rb"(.+?)\s+asc")


def fingerprint(text: bytes) -> bytes:
    """The fingerprint of a statement, without the `;` that the server puts behind it."""
    if text.startswith(MYSQLDUMP):
        return b"mysqldump"
    if _TOOLKIT.search(text):
        return b"percona-toolkit"
    if text.startswith(ADMINISTRATOR):
        return text
    if called := _CALL.match(text):
        return called[1].lower()
    if first_row := _FIRST_ROW.match(text):
        text = first_row[1]
    text = _LINE_COMMENT.sub(b"", _COMMENT.sub(b"", text))
    if used := _USE.match(text):
        return b"use ?" + text[used.end() :]
    return _normalised(_without_literals(text))


def checksum(of: bytes) -> str:
    """The id of the class with that fingerprint: 32 digits, as pt-query-digest 3 prints it."""
    return hashlib.md5(of, usedforsecurity=False).hexdigest().upper()


def _without_literals(text: bytes) -> bytes:
    text = _ESCAPED_QUOTE.sub(b"", text)
    text = _SINGLE_QUOTED.sub(b"?", _DOUBLE_QUOTED.sub(b"?", text))
    return _SIGN.sub(b"?", _NUMBER.sub(b"?", _BOOLEAN.sub(b"?", text)))


def _normalised(text: bytes) -> bytes:
    text = text.lstrip(b" \t\n\r\f\v").removesuffix(b"\n")
    text = _NULL.sub(b"?", _BLANKS.sub(b" ", text).lower())
    text = _LIST.sub(rb"\1(?+)", text)
    if b" union" in text:
        text = _UNION.sub(rb"\1 /*repeat\2*/", text)
    text = _LIMIT.sub(b"limit ?", text, count=1)
    if order := _ORDER.search(text):
        text = text[: order.end()] + _ASCENDING.sub(rb"\1", text[order.end() :])
    return text
