"""What had to be lost for what was found after a power cut, as it is kept."""

from __future__ import annotations

import msgspec

from redolab.powercut.states import Lost


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What had to be lost for what was found."""

    place: int
    """Of the cut in its recording."""
    taken: int
    """Writes that the cut took, in whole or in part."""
    losses: tuple[Lost, ...]
    """The fewest that still show it, as far as was tried; none where it shows without any."""
    words: tuple[str, ...] = ()
    """What these were, a line each."""
    tried: int = 0
    """States that were recovered to know."""

    @property
    def writes(self) -> int:
        """Writes of which something had to be lost."""
        return len({each.number for each in self.losses})
