"""Stand-in for msgspec: structs as data classes, and their JSON, as far as `follow` and `timeline` use them."""

from __future__ import annotations

import dataclasses
from typing import Any

from . import json, structs

__all__ = ["DecodeError", "Struct", "json", "structs"]

DecodeError = json.DecodeError


class Struct:
    """A data class, made as its subclass is defined."""

    def __init_subclass__(cls, *, frozen: bool = False, kw_only: bool = False, gc: bool = True, **more: Any) -> None:
        super().__init_subclass__(**more)
        # A data class that is really frozen is made several times as slowly.
        dataclasses.dataclass(unsafe_hash=frozen, kw_only=kw_only)(cls)
