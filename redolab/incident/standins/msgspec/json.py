"""Stand-in for msgspec.json: the same bytes for the same values, and the same values for the same bytes."""

from __future__ import annotations

import dataclasses
import json
import math
import typing
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

_POSITIONAL = -5
"""Power of ten with which Python writes an exponent and msgspec does not."""
_PLAIN = (int, float, str)
_ESCAPE = "\\u"


class DecodeError(ValueError):
    """Text that is no JSON, or not of the type that was asked for."""


def encode(value: object) -> bytes:
    """Return a value as JSON, without blanks."""
    return _encoded(value).encode()


def _encoded(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(str(value), ensure_ascii=False)
    if isinstance(value, float):
        return _number(value)
    if value is None or isinstance(value, int):
        return json.dumps(value)
    if isinstance(value, datetime):
        text = value.isoformat()
        return f'"{text[:-6]}Z"' if text.endswith("+00:00") else f'"{text}"'
    if dataclasses.is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return f"{{{','.join(f'{_encoded(name)}:{_encoded(each)}' for name, each in value.items())}}}"
    return f"[{','.join(map(_encoded, value))}]"


def _number(value: float) -> str:
    """Return a number as msgspec writes it: `0.00001` and `1e-6`, not `1e-05` and `1e-06`."""
    if not math.isfinite(value):
        return "null"
    digits, exponent, power = repr(value).partition("e")
    if exponent and int(power) == _POSITIONAL:
        return f"{value:.{len(digits.strip('-').replace('.', '')) - 1 - _POSITIONAL}f}"
    return f"{digits}e{int(power)}" if exponent else digits


def decode(text: str | bytes, *, type: Any = None) -> Any:  # noqa: A002
    """Return the value of a JSON text, as that type. Raises `DecodeError`."""
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        if _ESCAPE in text if isinstance(text, str) else _ESCAPE.encode() in text:
            # Half of a surrogate pair is no text that can be written anywhere.
            json.dumps(value, ensure_ascii=False).encode()
        return value if type is None else _as(type, value)
    except (ValueError, KeyError, TypeError) as error:
        raise DecodeError(str(error)) from error


def _refuse(constant: str) -> typing.NoReturn:
    raise DecodeError(f"{constant} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise DecodeError("a number is out of range")
    return value


@cache
def _types(made: Any) -> dict[str, Any]:
    return typing.get_type_hints(made)


def _as(wanted: Any, value: Any) -> Any:
    """Return a value as the type that an annotation names; plain values are taken as they are."""
    if wanted in _PLAIN:
        return value
    if dataclasses.is_dataclass(wanted):
        made: Any = wanted
        return made(**{name: _as(each, value[name]) for name, each in _types(made).items()})
    arguments = typing.get_args(wanted)
    if typing.get_origin(wanted) is tuple:
        # Thousands of numbers need no look each.
        return tuple(value if arguments[0] in _PLAIN else (_as(arguments[0], each) for each in value))
    if typing.get_origin(wanted) is dict:
        return {_as(arguments[0], name): _as(arguments[1], each) for name, each in value.items()}
    return wanted(value)
