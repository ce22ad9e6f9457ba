"""The stand-in for msgspec, against msgspec: the same bytes, the same values, the same texts refused."""

from __future__ import annotations

import string
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from redolab.incident.standins.msgspec import DecodeError
from redolab.incident.standins.msgspec.json import decode, encode

# What servers and programs write; msgspec reads larger numbers as floats, which no log has.
NUMBERS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False))
TIMES = st.datetimes(
    timezones=st.one_of(st.none(), st.integers(-899, 899).map(lambda minutes: timezone(timedelta(minutes=minutes))))
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(), TIMES),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(VALUES)
@example(1e-6)
@example(-1.2345e-5)
@example(datetime(2026, 11, 29, tzinfo=UTC))
def test_the_same_bytes_for_the_same_value(value: object) -> None:
    assert encode(value) == msgspec.json.encode(value)


def read_by(reader: Any, refused: type[Exception], text: str) -> tuple[str, object]:
    try:
        return "read", reader(text)
    except (refused, UnicodeDecodeError):
        return "refused", None


TEXTS = st.one_of(
    VALUES.map(lambda value: msgspec.json.encode(value).decode()),
    st.text(alphabet='{}[]":,\\ut0123456789.eE+-NaInfxdD8 \t\n' + string.ascii_lowercase, max_size=24),
)


@settings(max_examples=500, deadline=None)
@given(TEXTS, st.data())
@example('"\\ud800"', None)
@example("NaN", None)
@example("1e999", None)
@example('{"a": 1, "a": 2}', None)
@example("01", None)
@example('{"msg": "half', None)
def test_the_same_value_for_the_same_text(text: str, data: st.DataObject | None) -> None:
    if data is not None and text:
        cut = data.draw(st.integers(0, len(text)))
        text = data.draw(st.sampled_from([text, text[:cut], text[cut:]]))
    assert read_by(decode, DecodeError, text) == read_by(msgspec.json.decode, msgspec.DecodeError, text)


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b'{"courses":[{}]}', b"\xff"])
def test_what_is_no_experience_is_refused(text: bytes) -> None:
    from redolab.watch.following.time_left import RecordedRecoveries

    with pytest.raises(DecodeError):
        decode(text, type=RecordedRecoveries)
