"""Factors that experiments with crashes share. Runs are read without what crashes servers: parsers import it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from redolab.disks.catalogue import storage_name, storage_profile
from redolab.disks.file_systems import AS_IS, MADE_BY
from redolab.disks.profiles import FolderStorage, StorageProfile, TmpfsStorage
from redolab.errors import InvalidInput
from redolab.runs.factors import CommonFactors, factor, keep_factor, on_or_off, one_of, several
from redolab.runs.options import Option
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.servers.sizes import check_log_size


def several_servers(default: str) -> Option:
    """Return the option of a group's servers."""
    return Option("Servers, with commas; all for every one.", server_names, default)


def several_storages(default: str) -> Option:
    """Return the option of a group's storages."""
    return Option("Storage profiles, or folders as in /mnt/fast, with commas.", storage_name, default)


FILE_SYSTEMS = Option(
    f"File systems on the storages, with commas: {', '.join(MADE_BY)}, each on a disk in a file of its own (which takes root); "
    f"{AS_IS}: the one that the folder of STORAGE= lies on already.",
    one_of("file system", lambda: [*MADE_BY, AS_IS]),
    "xfs,ext4",
)
"""Option of a group whose server lies on a disk of its own (`redolab.crash.bench.own_disk`)."""


def storages_factor(purpose: str = "to recover on") -> Any:
    """Declare `STORAGE=` for an experiment on several storages."""
    about = f"Storage profiles {purpose} ('redolab storage list'), or folders as in /mnt/fast, with commas."
    return factor(about, several(storage_name), "local")


def crash_factor() -> Any:
    """Declare `CRASH=` for an experiment whose loads end in one crash each."""
    return factor(
        "The kind of crash that ends a load: kill; disk-power, which takes what was not flushed (its disk is then modelled).",
        _ending_crash,
        "kill",
    )


def kind_of_crash(text: str) -> str:
    """Return the name of a kind of crash. Raises `InvalidInput`."""
    from redolab.crash.kinds import KINDS

    return one_of("kind of crash", lambda: list(KINDS))(text)


def _ending_crash(text: str) -> str:
    """Return the name of a kind of crash that ends the load. Raises `InvalidInput`."""
    from redolab.crash.kinds import KINDS

    return one_of("kind of crash", lambda: [name for name, kind in KINDS.items() if not kind.goes_on])(text)


def workload_name(text: str) -> str:
    """Return the workload of that name in the catalogue. Raises `InvalidInput`."""
    from redolab.workloads.catalogue import workload_catalogue

    return one_of("workload", workload_catalogue().names)(text)


def asked_size(workload: str, warehouses: int | None, dataset: int | None) -> int | None:
    """Return the bytes of a load's tables that were asked for, in warehouses or as a size; None if neither was."""
    from redolab.workloads.catalogue import workload_catalogue

    per_warehouse = workload_catalogue().get(workload).bytes_per_warehouse
    if warehouses is not None and per_warehouse is not None:
        return warehouses * per_warehouse
    return dataset


def tables_size(workload: str, warehouses: int | None, dataset: int | None = None, log_size: int = 0) -> int:
    """Return the bytes of a load's tables: the size that was asked for, or a tenth more than the log, which can then fill."""
    return asked_size(workload, warehouses, dataset) or log_size * 11 // 10


@dataclass(frozen=True, kw_only=True)
class CrashFactors(CommonFactors):
    """Factors of every experiment that crashes servers; a subclass names the servers, and one storage or several."""

    storage: str | tuple[str, ...]
    server: tuple[str, ...]
    check_disks: bool = factor("Have fio look at every storage before, once.", on_or_off, "on")
    keep: bool = keep_factor()

    def check(self) -> None:
        """Refuse what makes no sense, before anything is started. Raises `InvalidInput`."""

    def profiles(self) -> dict[str, StorageProfile]:
        """Return the storage profiles by name."""
        names = (self.storage,) if isinstance(self.storage, str) else self.storage
        return {name: storage_profile(name) for name in names}


def check_own_disk(storage: str, file_system: str) -> None:
    """Refuse a storage on which a server cannot have a disk of its own with this file system. Raises `InvalidInput`."""
    profile = storage_profile(storage)
    if isinstance(profile, TmpfsStorage):
        raise InvalidInput(f"the storage {storage} is memory, to which writing takes no time", "choose another")
    if file_system == AS_IS and not isinstance(profile, FolderStorage):
        raise InvalidInput(
            f"the storage {storage} is a disk of the lab's, with no file system of its own yet",
            f"choose FILESYSTEM={','.join(MADE_BY)} for it, or STORAGE=local",
        )


def check_log_sizes(servers: Iterable[str], sizes: Iterable[int]) -> None:
    """Refuse redo logs, in bytes, that one of the servers cannot have. Raises `InvalidInput`."""
    for name, size in itertools.product(servers, sizes):
        check_log_size(name, server_catalogue().get(name).dialect(), size)
