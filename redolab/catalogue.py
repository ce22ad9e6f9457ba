"""Catalogues: things of one kind that are found by name, read from a TOML file under `provision/`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Generic, TypeVar

import msgspec

from redolab.errors import InvalidInput

T = TypeVar("T")


class Catalogue(Generic[T]):
    """Entries by name; `noun` is what one of them is called."""

    def __init__(self, noun: str, entries: Mapping[str, T]) -> None:
        self.noun = noun
        self._entries = dict(entries)

    @classmethod
    def read(cls, noun: str, path: Path, entry_type: type[T] | UnionType) -> Catalogue[T]:
        """The catalogue in a file, one table an entry, of a type or one of several.

        Raises `InvalidInput` naming the place that is wrong.
        """
        try:
            return cls(noun, msgspec.toml.decode(path.read_bytes(), type=Mapping[str, entry_type]))  # type: ignore[valid-type]
        except (msgspec.DecodeError, OSError) as error:
            raise InvalidInput(f"the catalogue {path} cannot be read ({error})", "mend that entry") from error

    def names(self) -> list[str]:
        """All names, in the file's order."""
        return list(self._entries)

    def items(self) -> list[tuple[str, T]]:
        """All entries with their names, in the file's order."""
        return list(self._entries.items())

    def get(self, name: str) -> T:
        """The entry of that name. Raises `InvalidInput`, which lists the names there are."""
        if name not in self._entries:
            raise InvalidInput(f"there is no {self.noun} '{name}'", f"choose from {', '.join(self._entries)}")
        return self._entries[name]
