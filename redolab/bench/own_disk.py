"""A disk for the server of a group: an empty lab disk with a file system, or a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from redolab.bench.started_server import server_folder
from redolab.lab import Lab
from redolab.machine import files
from redolab.servers.install import InstalledServer
from redolab.servers.instance import prepare_folder
from redolab.storage.attaching import DISKS, Storages, check_possible
from redolab.storage.catalogue import storage_profile
from redolab.storage.file_systems import AS_IS, check_file_system
from redolab.storage.folder import attached_folder
from redolab.storage.place import Place
from redolab.storage.profiles import FolderStorage


class OnDisk(Protocol):
    """A group whose server lies on a storage with a file system."""

    @property
    def storage(self) -> str:
        """Name of the storage profile."""

    @property
    def file_system(self) -> str:
        """Name of the file system to make on it; `AS_IS`: the one of its folder."""


def check_disks(lab: Lab, groups: Sequence[OnDisk]) -> None:
    """Refuse storages and file systems that this machine cannot have. Raises `LabError`."""
    check_possible({group.storage: storage_profile(group.storage) for group in groups})
    for name in dict.fromkeys(group.file_system for group in groups if group.file_system != AS_IS):
        check_file_system(lab, lab.folder / DISKS / f"trial-{name}", name)


@contextmanager
def own_disk(lab: Lab, storages: Storages, group: OnDisk, size: int) -> Iterator[Place]:
    """Provide a disk of `size` bytes with an empty file system, or a folder on an existing one."""
    if group.file_system != AS_IS:
        with storages.empty(group.storage, size, group.file_system) as place:
            yield place
        return
    profile = storage_profile(group.storage)
    assert isinstance(profile, FolderStorage)
    with attached_folder(profile, lab.folder, lab.journal) as under:
        # Name no device: the disk has other users too, and would never be quiet.
        yield Place(name=group.storage, folder=under)


@contextmanager
def folder_on_disk(lab: Lab, server: InstalledServer, place: Place, group: OnDisk, name: str) -> Iterator[Path]:
    """Provide an empty folder for an instance on its disk. A lab disk takes the folder along when it is removed."""
    if group.file_system == AS_IS:
        with server_folder(lab, server, name, f"the instance {name}", place.folder) as folder:
            yield folder
        return
    folder = place.folder / "instances" / name
    prepare_folder(server, folder)
    yield folder


@contextmanager
def notes_folder(lab: Lab, name: str) -> Iterator[Path]:
    """Provide an empty folder for the clients' notes, away from the measured disk."""
    folder = lab.home / "instances" / name
    with lab.journal.making(folder, "the notes of clients"):
        files.make_folder(folder)
        yield folder
