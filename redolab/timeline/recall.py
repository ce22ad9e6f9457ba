"""Lines understood once: what differs between most lines of a log of recoveries is only their stamps.

A server that crashes in its recovery again and again writes the same texts for gigabytes. A stamp says when a
text was written and changes nothing of what it means: so the text is looked up among those seen before. One
with other numbers in it is still of the same shape, so that only its values are to be found; a new shape is
taken apart. That is several times as fast, and what comes out is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from redolab.timeline.events import LogEvent, event_in, event_of_row, matters, row_of
from redolab.timeline.stamps import MICROSECONDS, Record, Stamp, leading_stamp, parse_stamp, records

# Remembered at a time: many times what one recovery writes, and little memory.
_MOST = 10_000
# What is longer is rare, and not the same twice.
_LONGEST = 500
# Where they begin in a stamp like 2016-05-30T18:19:03.990000Z, and where the seconds end.
_SECONDS, _SECONDS_END, _FRACTION, _ZONE = 17, 19, 20, 26


class RecordText(msgspec.Struct, frozen=True, gc=False):
    """What a record says, when and who says it.

    `event`: what it tells, None where that is nothing. `late_form`: it has the form that only MySQL 5.7 writes; `process_form`:
    that of MySQL 5.6.
    """

    event: LogEvent | None
    late_form: bool
    process_form: bool
    server: Stamp | None = None
    collector: Stamp | None = None
    stream: str = ""
    group: str = ""
    error: str | None = None
    """The message, where its label says that it is an error."""


class _Shape(NamedTuple):
    """What texts that differ only in their digits have in common: the row that they fit, and where their message begins."""

    row: int | None
    begin: int
    late_form: bool
    process_form: bool
    error: bool


@dataclass(slots=True)
class _KnownText:
    """What may follow a stamp of one form: what it says, or None where it does not matter; and its shapes, likewise."""

    texts: dict[str, RecordText | None] = field(default_factory=dict)
    shapes: dict[str, _Shape | None] = field(default_factory=dict)

    def said(self, text: str) -> RecordText | None:
        """What `text` says, `_UNKNOWN` where it has a new shape."""
        if len(text) > _LONGEST:
            return _UNKNOWN
        shape = self.shapes.get(text.translate(_ALIKE), _NO_SHAPE)
        if shape is _NO_SHAPE:
            return _UNKNOWN
        said = _said_as(shape, text) if shape else None
        _remember(self.texts, text, said)
        return said

    def learn(self, text: str, record: Record | None) -> None:
        """Remember what the server's `record` says, which is all that `text` holds; None: it does not matter."""
        _remember(self.texts, text, replace(_said(record), server=None) if record else None)
        key = text.translate(_ALIKE)
        # Only here does it matter which digits they are: in a stamp, in front of an address, in JSON.
        if "0:00:00" in key or "0x" in key or "{" in key:
            return
        shape = None
        if record:
            begin = len(text.rstrip()) - len(record.text)
            shape = _Shape(row_of(record.text), begin, _late_form(record), record.process_form, record.error)
        _remember(self.shapes, key, shape)


class Recall:
    """Reads lines, and remembers their texts."""

    def __init__(self) -> None:
        self._after_utc, self._after_iso, self._after_old = _KnownText(), _KnownText(), _KnownText()
        # Lines without a stamp.
        self._whole = _KnownText()
        self._stamps: dict[str, Stamp] = {}
        # Stamps of a minute, without seconds and their fraction.
        self._minutes: dict[str, Stamp] = {}
        self._last, self._last_stamp = "", Stamp(0, None, 0)

    def read(self, text: str) -> Sequence[RecordText]:
        """What a line says that may matter: usually nothing or one record."""
        if text[10:11] == "T":
            cut, known = text.find(" "), self._after_utc
        elif text[4:5] == "-":
            cut, known = 19, self._after_iso
        elif text[6:7] == " ":
            cut, known = 15, self._after_old
        else:
            cut, known = 0, self._whole
        rest = text[cut:]
        said = known.texts.get(rest, _UNKNOWN)
        if said is _UNKNOWN:
            said = known.said(rest)
        if said is None:
            return ()
        if said is _UNKNOWN:
            return self._learn(text, cut, known)
        if not cut:
            return (said,)
        stamp = self._stamp(text, cut)
        if stamp is None:
            return self._learn(text, cut, known)
        return (RecordText(said.event, said.late_form, said.process_form, stamp, None, "", "", said.error),)

    def _stamp(self, text: str, cut: int) -> Stamp | None:
        """The server's stamp that a line begins with, if that ends at `cut`."""
        head = text[:cut]
        # Whole seconds are those of the line before more often than not.
        if head == self._last:
            return self._last_stamp
        stamp = self._in_minute(text, cut) if cut == _SECONDS_END or cut >= _ZONE else self._stamps.get(head)
        if stamp is None and (stamp := _stamp_to(text, cut)):
            _remember(self._stamps, head, stamp)
        if stamp:
            self._last, self._last_stamp = head, stamp
        return stamp

    def _in_minute(self, text: str, cut: int) -> Stamp | None:
        """A stamp of the forms `2026-11-21 04:38:27` and `2016-05-30T18:19:03.990000Z`."""
        seconds = text[_SECONDS:_SECONDS_END]
        fraction = text[_FRACTION:_ZONE] if cut > _SECONDS_END else "0"
        if not (seconds.isdecimal() and fraction.isdecimal()) or seconds > "59":
            return None
        key = (
            text[:_SECONDS] + text[_SECONDS_END:_FRACTION] + text[_ZONE:cut] if cut > _SECONDS_END else text[:_SECONDS]
        )
        us = int(seconds) * MICROSECONDS + int(fraction)
        minute = self._minutes.get(key)
        if minute is None:
            if stamp := _stamp_to(text, cut):
                _remember(self._minutes, key, replace(stamp, us=stamp.us - us))
            return stamp
        return Stamp(minute.us + us, minute.offset, minute.step, minute.dated)

    def _learn(self, text: str, cut: int, known: _KnownText) -> Sequence[RecordText]:
        """Take a line apart, and remember what it says unless more than its stamp has to do with that."""
        found = [record for part in text.split("\0") for record in records(part)] if matters(text) else []
        plain = "\0" not in text and len(leading_stamp(text)) == cut and len(text) <= _LONGEST
        if plain and len(found) <= 1 and all(_is_plain(record, cut > 0) for record in found):
            known.learn(text[cut:], found[0] if found else None)
        return [_said(record) for record in found]


_UNKNOWN = RecordText(None, False, False)
_NO_SHAPE = _Shape(None, 0, False, False, False)
_ALIKE = str.maketrans("123456789", "000000000")
_Value = TypeVar("_Value")


def _remember(known: dict[str, _Value], key: str, value: _Value) -> None:
    if len(known) >= _MOST:
        known.clear()
    known[key] = value


def _stamp_to(text: str, cut: int) -> Stamp | None:
    stamp = leading_stamp(text)
    return parse_stamp(stamp) if len(stamp) == cut else None


def _is_plain(record: Record, stamped: bool) -> bool:
    """Whether only a server wrote a line, with a stamp or without."""
    return bool(record.server) == stamped and not (record.collector or record.stream or record.group)


def _late_form(record: Record) -> bool:
    return record.utc_form and not record.modern


def _said_as(shape: _Shape, text: str) -> RecordText:
    found = None if shape.row is None else event_of_row(shape.row, text, shape.begin, len(text.rstrip()))
    error = text[shape.begin :].rstrip() if shape.error else None
    return RecordText(found, shape.late_form, shape.process_form, error=error)


def _said(record: Record) -> RecordText:
    return RecordText(
        event_in(record.text),
        _late_form(record),
        record.process_form,
        record.server,
        record.collector,
        record.stream,
        record.group,
        record.text if record.error else None,
    )
