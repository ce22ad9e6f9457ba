"""Catalogues: named entries read from a TOML file under `provision/`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Generic, TypeVar

import msgspec

from redolab.errors import InvalidInput

T = TypeVar("T")


class Catalogue(Generic[T]):
    """Entries by name. `noun` is the word for one entry in messages."""

    def __init__(self, noun: str, entries: Mapping[str, T]) -> None:
        self.noun = noun
        self._entries = dict(entries)

    @classmethod
    def read(cls, noun: str, path: Path, entry_type: type[T] | UnionType) -> Catalogue[T]:
        """Read a catalogue from a file with one table an entry.

        Each entry is of `entry_type`, or of one type of a union.

        Raises `InvalidInput` that names the faulty entry.
        """
        try:
            return cls(noun, msgspec.toml.decode(path.read_bytes(), type=Mapping[str, entry_type]))  # type: ignore[valid-type]
        except (msgspec.DecodeError, OSError) as error:
            raise InvalidInput(f"the catalogue {path} cannot be read ({error})", "mend that entry") from error

    def names(self) -> list[str]:
        """Return all names, in the file's order."""
        return list(self._entries)

    def items(self) -> list[tuple[str, T]]:
        """Return all entries with their names, in the file's order."""
        return list(self._entries.items())

    def get(self, name: str) -> T:
        """Return the entry with that name. Raises `InvalidInput`, which lists the names there are."""
        if name not in self._entries:
            raise InvalidInput(f"there is no {self.noun} '{name}'", f"choose from {', '.join(self._entries)}")
        return self._entries[name]
