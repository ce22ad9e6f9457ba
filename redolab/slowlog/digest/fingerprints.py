"""Fingerprints: statements without the parts that differ between executions, as in pt-query-digest 3.2.

The order of the steps matters, and so does their work on bytes: `0xAB` becomes `?ab`, because numbers are removed
before the statement is put into lower case. The lab corrects nothing of this. Its classes, and the MD5 of a
fingerprint as the class's id, can thus be compared with those of pt-query-digest.
"""

from __future__ import annotations

import hashlib
import re

MYSQLDUMP = b"SELECT /*!40001 SQL_NO_CACHE */ * FROM `"
TOOLKIT = r"/\*[0-9A-Za-z_]+\.[0-9A-Za-z_]+:[0-9]/[0-9]\*/"
"""Comment that tools of Percona Toolkit write into their statements: table, number of the chunk, chunks."""
ADMINISTRATOR = b"administrator command: "

_TOOLKIT = re.compile(TOOLKIT.encode())
_CALL = re.compile(rb"\s*(call\s+\S+)\(", re.IGNORECASE)
_INSERT = re.compile(rb"(?:insert|replace)(?: ignore)?\s+into", re.IGNORECASE)
_VALUES = re.compile(rb"values\s*\(", re.IGNORECASE)
_NEXT_ROW = re.compile(rb"\)\s*,\s*\(")
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
_SELECT = re.compile(rb"\bselect\s")
_UNION = re.compile(rb"(\sunion(?:\sall)?)\s(?=select\s)")
_LIMIT = re.compile(rb"\blimit \?(?:, ?\?| offset \?)?")
_GLANCE = 64
_ORDER = re.compile(rb"\border by ")
_ASCENDING = re.compile(rb"\s+asc")


def fingerprint(text: bytes) -> bytes:
    """Return the fingerprint of a statement, which comes without the server's `;`."""
    if text.startswith(MYSQLDUMP):
        return b"mysqldump"
    if _TOOLKIT.search(text):
        return b"percona-toolkit"
    if text.startswith(ADMINISTRATOR):
        return text
    if call := _CALL.match(text):
        return call[1].lower()
    text = _LINE_COMMENT.sub(b"", _without_comments(_to_first_row(text)))
    if use := _USE.match(text):
        return b"use ?" + text[use.end() :]
    return _normalised(_without_literals(text))


def checksum(fingerprint: bytes) -> str:
    """Return the id of the class with that fingerprint: 32 digits, as pt-query-digest 3 prints it."""
    return hashlib.md5(fingerprint, usedforsecurity=False).hexdigest().upper()


def _to_first_row(text: bytes) -> bytes:
    """Return an INSERT up to the end of its first row, if another row follows."""
    insert = _INSERT.match(text)
    # A table's name has at least a character.
    values = _VALUES.search(text, insert.end() + 1) if insert else None
    following = _NEXT_ROW.search(text, values.end()) if values else None
    return text[: following.start() + 1] if following else text


def _without_comments(text: bytes) -> bytes:
    # A pattern would scan to the end of the statement for each unclosed comment.
    parts, begin, position = [], 0, 0
    while (opened := text.find(b"/*", position)) >= 0:
        position = opened + 1
        if text.startswith(b"!", opened + 2):
            continue
        closed = text.find(b"*/", opened + 3)
        if closed < 0:
            break
        parts.append(text[begin:opened])
        begin = position = closed + 2
    return b"".join([*parts, text[begin:]])


def _with_unions_once(text: bytes) -> bytes:
    """Merge equal queries in a row of UNIONs into one, with the word that joined the last two."""
    unions = list(_UNION.finditer(text))
    parts, position = [], 0
    while unions and (select := _SELECT.search(text, position)):
        union = next((each for each in unions if _is_repeated(text, select, each)), None)
        end = select.end()
        if union is not None:
            query = text[select.start() : union.start()]
            joined, end = b"", union.start()
            while (repeated := _UNION.match(text, end)) and text.startswith(query, repeated.end()):
                joined, end = repeated[1], repeated.end() + len(query)
            parts.append(text[position : select.start()] + query + b" /*repeat" + joined + b"*/")
        else:
            parts.append(text[position:end])
        position = end
    return b"".join([*parts, text[position:]])


def _is_repeated(text: bytes, select: re.Match[bytes], union: re.Match[bytes]) -> bool:
    length = union.start() - select.start()
    if union.start() < select.end():
        return False
    # Most differ at once, and there may be thousands of both.
    glance = min(length, _GLANCE)
    if not text.startswith(text[select.start() : select.start() + glance], union.end()):
        return False
    return text.startswith(text[select.start() : union.start()], union.end())


def _without_ascending(order: bytes) -> bytes:
    parts, position = [], 0
    while word := _ASCENDING.search(order, position + 1):
        parts.append(order[position : word.start()])
        position = word.end()
    return b"".join([*parts, order[position:]])


def _without_literals(text: bytes) -> bytes:
    text = _ESCAPED_QUOTE.sub(b"", text)
    text = _SINGLE_QUOTED.sub(b"?", _DOUBLE_QUOTED.sub(b"?", text))
    return _SIGN.sub(b"?", _NUMBER.sub(b"?", _BOOLEAN.sub(b"?", text)))


def _normalised(text: bytes) -> bytes:
    text = text.lstrip(b" \t\n\r\f\v").removesuffix(b"\n")
    text = _NULL.sub(b"?", _BLANKS.sub(b" ", text).lower())
    text = _with_unions_once(_LIST.sub(rb"\1(?+)", text))
    text = _LIMIT.sub(b"limit ?", text, count=1)
    if order := _ORDER.search(text):
        text = text[: order.end()] + _without_ascending(text[order.end() :])
    return text
