"""Why a state is bad: of all that the cut took the least that does it, each by what it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redolab.powercut.explanation import Explanation
from redolab.powercut.images import DiskImages
from redolab.powercut.minimising import OutOfTries, fewest_losses
from redolab.powercut.naming import Names, extents_of
from redolab.powercut.recorded import INSTANCE, RecordedLoad, mount_options
from redolab.powercut.states import DiskState, History, Lost, PowerCut
from redolab.servers.instance import DATA
from redolab.storage.loop import mounted


def explained(
    recorded: RecordedLoad, history: History, cut: PowerCut, is_red: Callable[[DiskState], bool], tries: int
) -> Explanation:
    """What of a cut does it; `is_red` recovers a state. At most so many states are tried. Raises `LabError`."""
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
        words=tuple(_named(recorded, history, cut, needed)),
        tried=len(known),
    )


def _named(recorded: RecordedLoad, history: History, cut: PowerCut, losses: Sequence[Lost]) -> list[str]:
    """By where files lay on a disk that had lost nothing."""
    if not losses:
        return []
    file, at = recorded.folder / "whole", recorded.folder / "whole-mounted"
    images = DiskImages(history, recorded.base, recorded.kept)
    with (
        images.image(history.state_without(cut.place, ()), file),
        mounted(file, at, mount_options(recorded.file_system), direct=False),
    ):
        names = Names(history, recorded.kept, extents_of(at / INSTANCE / DATA))
        return [line for each in losses for line in names.of(each)]
