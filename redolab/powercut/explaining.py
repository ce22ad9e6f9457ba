"""Why a state is bad: of all that the cut took the least that does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from redolab.powercut.minimising import OutOfTries, fewest_losses
from redolab.powercut.states import SECTOR, DiskState, History, Lost, PowerCut


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


def explained(history: History, cut: PowerCut, is_red: Callable[[DiskState], bool], tries: int) -> Explanation:
    """Find out what of a cut does it; `is_red` recovers a state. At most so many states are tried. Raises `LabError`."""
    losses = history.losses(cut)
    known: dict[str, bool] = {}

    def shows(some: Sequence[Lost]) -> bool:
        state = history.state_without(cut.place, some)
        if state.hash not in known:
            if len(known) == tries:
                raise OutOfTries
            known[state.hash] = is_red(state)
        return known[state.hash]

    needed = fewest_losses(losses, shows)
    return Explanation(
        place=cut.place,
        taken=len({each.number for each in losses}),
        losses=tuple(needed),
        words=tuple(_in_words(history, each) for each in needed),
        tried=len(known),
    )


def _in_words(history: History, lost: Lost) -> str:
    first = int(history.recording.offset[lost.number]) // SECTOR + lost.first
    return f"{lost.count} of {history.length(lost.number)} sectors of a write, at sector {first:,} of the disk"
