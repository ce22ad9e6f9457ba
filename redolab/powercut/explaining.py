"""Explanation of a faulty crash state: the fewest lost writes that cause the fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from redolab.powercut.minimising import OutOfTries, fewest_losses
from redolab.powercut.states import SECTOR, DiskState, History, Lost, PowerCut


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Writes whose loss causes a fault."""

    place: int
    """Place of the cut in its recording."""
    taken: int
    """Writes that the cut took, in whole or in part."""
    losses: tuple[Lost, ...]
    """Smallest loss found that still shows the fault; empty if the fault shows without any loss."""
    words: tuple[str, ...] = ()
    """Descriptions of the losses, a line each."""
    tried: int = 0
    """Crash states recovered for this explanation."""

    @property
    def writes(self) -> int:
        """Writes of which something had to be lost."""
        return len({each.number for each in self.losses})


def explained(history: History, cut: PowerCut, is_red: Callable[[DiskState], bool], tries: int) -> Explanation:
    """Find the fewest losses of a cut that still show the fault, within a limit of tries; `is_red` recovers a state.

    Raises `LabError`.
    """
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
