"""A disk of its own for the server of a group: an empty lab disk with a file system, or a folder of its own."""

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
        """Name of the file system that is made on it; `AS_IS`: the one that its folder lies on."""


def check_disks(lab: Lab, groups: Sequence[OnDisk]) -> None:
    """Refuse storages and file systems that this machine cannot have. Raises `LabError`."""
    check_possible({group.storage: storage_profile(group.storage) for group in groups})
    for name in dict.fromkeys(group.file_system for group in groups if group.file_system != AS_IS):
        check_file_system(lab, lab.folder / DISKS / f"trial-{name}", name)


@contextmanager
def own_disk(lab: Lab, storages: Storages, group: OnDisk, size: int) -> Iterator[Place]:
    """While in it: a disk of `size` bytes with nothing on it but its file system, or the folder that has one already."""
    if group.file_system != AS_IS:
        with storages.empty(group.storage, size, group.file_system) as place:
            yield place
        return
    profile = storage_profile(group.storage)
    assert isinstance(profile, FolderStorage)
    with attached_folder(profile, lab.folder, lab.journal) as under:
        # The disk is not the instance's alone, and no device is named: others would keep it from being quiet.
        yield Place(name=group.storage, folder=under)


@contextmanager
def folder_on_disk(lab: Lab, server: InstalledServer, place: Place, group: OnDisk, name: str) -> Iterator[Path]:
    """While in it: an empty folder for an instance on its disk. On a disk of the lab's it goes with the disk."""
    if group.file_system == AS_IS:
        with server_folder(lab, server, name, f"the instance {name}", place.folder) as folder:
            yield folder
        return
    folder = place.folder / "instances" / name
    prepare_folder(server, folder)
    yield folder


@contextmanager
def notes_folder(lab: Lab, name: str) -> Iterator[Path]:
    """While in it: an empty folder for what clients note, not on the disk that is measured."""
    folder = lab.home / "instances" / name
    with lab.journal.making(folder, "the notes of clients"):
        files.make_folder(folder)
        yield folder
