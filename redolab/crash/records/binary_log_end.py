"""Ends of a binary log, as a crash leaves it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from redolab.errors import InvalidInput
from redolab.units import GIB, MIB, format_size, parse_size
from redolab.workloads.data import DATABASE

BINARY_LOG_TABLE = f"{DATABASE}.binary_log_end"
"""Table of a whole transaction's rows."""
ROW = MIB
"""Bytes of such a row; half as many are random, so that compression halves it."""

_MOST_SMALL = GIB
"""Size at which servers begin another file (max_binlog_size)."""
_OF_A_ROW = 1000
"""Bytes for each row that a cut transaction changes: its events, their cache, undo and redo."""
_AS_IN = "as in small:256M, whole:1G, cut:1000000 or files:10000"


class EndKind(StrEnum):
    """Kind of the last file's content, or of the number of files."""

    SMALL = "small"
    """The last file has at least `amount` bytes, of the load's own transactions."""
    WHOLE = "whole"
    """The last file ends with one whole transaction of `amount` bytes, which InnoDB has only prepared."""
    CUT = "cut"
    """The last file ends within a transaction that changed `amount` rows, and that InnoDB has prepared."""
    FILES = "files"
    """The binary log has `amount` more files."""


class BinaryLogEnd(msgspec.Struct, frozen=True):
    """End of a binary log."""

    kind: EndKind
    amount: int
    """Bytes, rows or files, by its kind."""

    @classmethod
    def parse(cls, text: str) -> BinaryLogEnd:
        """Read one, as in `whole:1G`. Raises `InvalidInput`."""
        name, _, amount = text.partition(":")
        try:
            kind = EndKind(name)
            end = cls(kind, parse_size(amount) if kind in (EndKind.SMALL, EndKind.WHOLE) else int(amount))
        except ValueError as error:
            raise InvalidInput(f"{text!r} is no end of a binary log", _AS_IN) from error
        if end.amount < (0 if kind is EndKind.SMALL else 1):
            raise InvalidInput(f"{text!r}: its amount is too small", _AS_IN)
        if kind is EndKind.SMALL and end.amount >= _MOST_SMALL:
            raise InvalidInput(
                f"{text!r}: at {format_size(_MOST_SMALL)} a server begins another file", "choose a little less"
            )
        return end

    @property
    def rows(self) -> int:
        """Rows of a whole transaction."""
        return -(-self.amount // ROW)

    @property
    def room(self) -> int:
        """Bytes that it takes on disk: of a transaction in the file, in the cache before, and in the tables."""
        match self.kind:
            case EndKind.SMALL:
                return self.amount
            case EndKind.WHOLE:
                return 3 * self.amount
            case EndKind.CUT:
                return _OF_A_ROW * self.amount
            case EndKind.FILES:
                return 0

    def __str__(self) -> str:
        """Return the text that `parse` reads."""
        if self.kind not in (EndKind.SMALL, EndKind.WHOLE):
            return f"{self.kind}:{self.amount}"
        size = format_size(self.amount)
        # Runs store this text and their recoveries are grouped by it: a rounded size would be another end.
        return f"{self.kind}:{size if parse_size(size) == self.amount else self.amount}"
