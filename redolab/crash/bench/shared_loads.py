"""Groups of a plan whose crash images are still to be made, and which of them one load makes together."""

from __future__ import annotations

from collections.abc import Iterable

from redolab.crash.bench.crash_plan import CrashPlan
from redolab.crash.bench.planning import shares_load
from redolab.crash.records.dataset import DatasetSpec


class SharedLoads:
    """Crash images of a session: wanted, made by it, and made but not used yet."""

    def __init__(self, plan: CrashPlan) -> None:
        self._plan = plan
        self._wanted = set(range(len(plan.groups)))
        self._made: dict[int, str] = {}
        self._unused: set[str] = set()

    @property
    def unused(self) -> frozenset[str]:
        """Names of images that no group has used yet."""
        return frozenset(self._unused)

    def want_only(self, groups: Iterable[int]) -> None:
        """Leave out all other groups: they were measured before."""
        self._wanted = set(groups)

    def together_with(self, group: int) -> list[int]:
        """Return the groups, this one among them, whose images one load can make: of the same spec but for its number."""
        crash = self._plan.groups[group]
        if not shares_load(crash.spec):
            return [group]
        return [
            each
            for each in sorted(self._wanted | {group})
            if each not in self._made
            and self._plan.groups[each].image is None
            and self._plan.groups[each].server == crash.server
            and self._plan.groups[each].spec.comparable() == crash.spec.comparable()
        ]

    def note_made(self, group: int, name: str) -> None:
        """Take note of the image of a group."""
        self._made[group] = name
        self._unused.add(name)

    def image_of(self, group: int) -> str:
        """Return the name of the image that this session made for a group."""
        return self._made[group]

    def end_load(self, group: int) -> None:
        """Take note that the load for a group is over. Where it failed, the next one makes all that it did not."""
        self._wanted -= {group, *self._made}

    def needed_datasets(self) -> list[DatasetSpec]:
        """Return the datasets of the images that are still to be made."""
        return [self._plan.groups[group].spec.dataset for group in self._wanted]

    def use(self, group: int, name: str) -> bool:
        """Take note that a group uses an image. Return True if this session made that, and nobody has used it yet."""
        self._wanted.discard(group)
        is_new = name in self._unused
        self._unused.discard(name)
        return is_new
