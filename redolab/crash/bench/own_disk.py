"""A server for a group of steps on a disk of its own: an empty lab disk with a file system, or a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from redolab.crash.bench.started_server import StartedServer, new_server
from redolab.disks.attaching import DISKS, Storages, check_possible
from redolab.disks.file_systems import AS_IS, check_file_system
from redolab.disks.fio import FILES_SIZE
from redolab.disks.place import Place
from redolab.disks.profiles import FolderStorage, ModelledDisk, StorageProfile
from redolab.lab import Lab
from redolab.machine import files
from redolab.runs.needs import Needs
from redolab.runs.store import Run
from redolab.servers.dialects import InstanceRequest


class GroupOnDisk(Protocol):
    """A group whose server lies on a storage with a file system."""

    @property
    def server(self) -> str:
        """Name of the server in the catalogue."""

    @property
    def storage(self) -> str:
        """Name of the storage profile."""

    @property
    def file_system(self) -> str:
        """Name of the file system to make on it; `AS_IS`: the one of its folder."""


@dataclass(frozen=True, slots=True)
class ServerOnDisk:
    """A server that accepts statements, and its disk."""

    started: StartedServer
    place: Place
    notes: Path
    """Folder for the clients' notes, away from the measured disk."""


def check_disks(lab: Lab, profiles: Mapping[str, StorageProfile], groups: Sequence[GroupOnDisk]) -> None:
    """Refuse storages and file systems that this machine cannot have. Raises `LabError`."""
    check_possible({group.storage: profiles[group.storage] for group in groups})
    for name in dict.fromkeys(group.file_system for group in groups if group.file_system != AS_IS):
        check_file_system(lab, lab.folder / DISKS / f"trial-{name}", name)


def disk_needs(lab: Lab, profiles: Mapping[str, StorageProfile], size: int) -> dict[Path, int]:
    """Return folder → bytes for a disk of `size` bytes on one of these storages at a time."""
    found: dict[Path, int] = {}
    for profile in profiles.values():
        under = lab.folder / profile.path if isinstance(profile, FolderStorage) else lab.home
        # fio's files are there while the disk model's own latency is measured.
        fio_files = FILES_SIZE if isinstance(profile, ModelledDisk) else 0
        found[under] = max(found.get(under, 0), size + fio_files)
    return found


def server_needs(
    lab: Lab, profiles: Mapping[str, StorageProfile], size: int, pool: int, disk_for: str, remedy: str
) -> Needs:
    """Return what one server at a time needs, with a buffer pool and a disk of these bytes."""
    disk = disk_needs(lab, profiles, size)
    return Needs(memory=pool, disk=disk, disk_for=dict.fromkeys(disk, disk_for), remedy=remedy)


@contextmanager
def server_on_disk(
    lab: Lab, run: Run, storages: Storages, group: GroupOnDisk, size: int, request: InstanceRequest
) -> Iterator[ServerOnDisk]:
    """Run a server on a disk of `size` bytes with an empty file system, or in a folder. Raises `LabError`."""
    name = f"{group.server}-{group.storage.strip('/')}-{group.file_system}".replace("/", "-")
    notes = lab.home / "instances" / f"{name}-notes"
    with (
        lab.journal.making(notes, "the notes of clients"),
        storages.empty(group.storage, size, group.file_system) as place,
        new_server(lab, run, lab.server(group.server), request, name, place.folder) as started,
    ):
        files.make_folder(notes)
        # A folder's disk has other users too: nobody can wait until it is quiet.
        yield ServerOnDisk(started, replace(place, device=None) if group.file_system == AS_IS else place, notes)
