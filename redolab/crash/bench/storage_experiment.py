"""Declaration of experiments whose servers lie on storages. This module imports nothing that starts a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
from typing_extensions import override

from redolab.disks.catalogue import storage_profile
from redolab.disks.profiles import StorageProfile
from redolab.runs.bench import G, M, S, T
from redolab.runs.experiment import Experiment
from redolab.runs.store import Run


class StorageConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of an experiment on storages."""

    storages: Mapping[str, StorageProfile] = {}
    """Storage profiles by name, as they were when the run was planned."""
    check_disks: bool = False
    """True if fio looks at every storage before, once."""


C = TypeVar("C", bound=StorageConditions)


class StorageExperiment(Experiment[G, S, C, M, T]):
    """An experiment whose groups lie on storages: a group has a `server`, a `storage` and a `file_system`.

    The storages are recorded in the run, and attached by `self.storages` (`redolab.crash.bench.own_disk.server_on_disk`).
    """

    @classmethod
    @override
    def conditions_from(cls, factors: Any) -> C:
        storages = {name: storage_profile(name) for name in factors.storage}
        return msgspec.structs.replace(super().conditions_from(factors), storages=storages)

    @override
    def check(self, positions: Sequence[int]) -> None:
        from redolab.crash.bench.own_disk import check_disks

        groups: list[Any] = [self.plan.groups[each] for each in self.plan.groups_of(positions)]
        check_disks(self.lab, self.conditions.storages, groups)

    @contextmanager
    @override
    def opened(self, run: Run) -> Iterator[None]:
        from redolab.crash.bench.disk_checks import record_disks
        from redolab.disks.attaching import Storages

        profiles, look = self.conditions.storages, self.conditions.check_disks
        with Storages(self.lab, profiles) as self.storages:
            record_disks(run, self.storages, profiles, self.lab.progress, look=look)
            yield
