"""Lines understood once: what differs between most lines of a log of recoveries is only their stamps.

A server that crashes in its recovery again and again writes the same texts for gigabytes. A stamp says when a
text was written and changes nothing of what it means: so the text is looked up among those seen before, and
only a new one is taken apart. That is several times as fast, and what comes out is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from redolab.timeline.events import Told, matters, told
from redolab.timeline.stamps import Record, Stamp, leading_stamp, parse_stamp, records

# Remembered at a time: many times what one recovery writes, and little memory.
_MOST = 10_000
# What is longer is rare, and not the same twice.
_LONGEST = 500
# Up to the first digit of a fraction of microseconds, and behind its last one: 2016-05-30T18:19:03.990000Z.
_FRACTION, _ZONE = 20, 26


class Said(msgspec.Struct, frozen=True, gc=False):
    """What a record says, when and who says it.

    `late_form`: it has the form that only MySQL 5.7 writes; `process_form`: that of MySQL 5.6.
    """

    told: Told | None
    late_form: bool
    process_form: bool
    server: Stamp | None = None
    collector: Stamp | None = None
    stream: str = ""
    group: str = ""


class Recall:
    """Reads lines, and remembers their texts."""

    def __init__(self) -> None:
        # By what follows the stamp, for each form of stamps: what it says, or None where it does not matter.
        self._after_utc: dict[str, Said | None] = {}
        self._after_iso: dict[str, Said | None] = {}
        self._after_old: dict[str, Said | None] = {}
        # Of lines without a stamp.
        self._whole: dict[str, Said | None] = {}
        self._stamps: dict[str, Stamp] = {}
        # Stamps of a second, without their fraction.
        self._seconds: dict[str, Stamp] = {}

    def read(self, text: str) -> Sequence[Said]:
        """What a line says that may matter: usually nothing or one record."""
        if text[10:11] == "T":
            cut, known = text.find(" "), self._after_utc
        elif text[4:5] == "-":
            cut, known = 19, self._after_iso
        elif text[6:7] == " ":
            cut, known = 15, self._after_old
        else:
            cut, known = 0, self._whole
        said = known.get(text[cut:], _UNKNOWN)
        if said is None:
            return ()
        if said is _UNKNOWN:
            return self._learn(text, cut, known)
        if not cut:
            return (said,)
        stamp = self._stamp(text, cut)
        return (Said(said.told, said.late_form, said.process_form, stamp),) if stamp else self._learn(text, cut, known)

    def _stamp(self, text: str, cut: int) -> Stamp | None:
        """The server's stamp that a line begins with, if that ends at `cut`."""
        fraction = text[_FRACTION:_ZONE] if cut >= _ZONE else ""
        if not fraction.isdecimal():
            stamp = self._stamps.get(text[:cut])
            if stamp is None and (stamp := _stamp_to(text, cut)):
                _remember(self._stamps, text[:cut], stamp)
            return stamp
        # Hardly ever the same twice, but in the same second.
        key = text[:_FRACTION] + text[_ZONE:cut]
        second = self._seconds.get(key)
        if second is None:
            if stamp := _stamp_to(text, cut):
                _remember(self._seconds, key, replace(stamp, us=stamp.us - int(fraction)))
            return stamp
        return Stamp(second.us + int(fraction), second.offset, second.step, second.dated)

    def _learn(self, text: str, cut: int, known: dict[str, Said | None]) -> Sequence[Said]:
        """Take a line apart, and remember what it says unless more than its stamp has to do with that."""
        said = [_said(record) for part in text.split("\0") for record in records(part)] if matters(text) else []
        plain = "\0" not in text and len(leading_stamp(text)) == cut
        if plain and len(text) <= _LONGEST and all(_is_plain(each, cut > 0) for each in said) and len(said) <= 1:
            _remember(known, text[cut:], replace(said[0], server=None) if said else None)
        return said


_UNKNOWN = Said(None, False, False)
_Value = TypeVar("_Value")


def _remember(known: dict[str, _Value], key: str, value: _Value) -> None:
    if len(known) >= _MOST:
        known.clear()
    known[key] = value


def _stamp_to(text: str, cut: int) -> Stamp | None:
    stamp = leading_stamp(text)
    return parse_stamp(stamp) if len(stamp) == cut else None


def _is_plain(said: Said, stamped: bool) -> bool:
    """Whether only a server wrote a line, with a stamp or without."""
    return bool(said.server) == stamped and not (said.collector or said.stream or said.group)


def _said(record: Record) -> Said:
    late_form = record.utc_form and not record.modern
    return Said(
        told(record.text),
        late_form,
        record.process_form,
        record.server,
        record.collector,
        record.stream,
        record.group,
    )
