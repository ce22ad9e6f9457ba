"""The storage profiles there are: the project's own catalogue and the user's own file."""

from __future__ import annotations

from pathlib import Path

from redolab.catalogue import Catalogue
from redolab.disks.profiles import FolderStorage, StorageProfile
from redolab.errors import InvalidInput
from redolab.project import PROJECT


def storage_catalogue() -> Catalogue[StorageProfile]:
    """Return the storage profiles of the lab and of the user, by name."""
    ours = _read(PROJECT.provision / "storage.toml")
    if not PROJECT.own_storage.exists():
        return ours
    own = _read(PROJECT.own_storage)
    if both := [name for name in own.names() if name in ours.names()]:
        raise InvalidInput(
            f"{PROJECT.own_storage} has a storage profile '{both[0]}', and so has the project", "name yours otherwise"
        )
    return Catalogue(ours.noun, dict([*ours.items(), *own.items()]))


def _read(path: Path) -> Catalogue[StorageProfile]:
    return Catalogue.read("storage profile", path, StorageProfile)


def storage_profile(name: str) -> StorageProfile:
    """Return the storage of that name; an absolute path is a folder. Raises `InvalidInput`, which lists the names."""
    if name.startswith("/"):
        return FolderStorage(path=name, about="a folder of the user's")
    return storage_catalogue().get(name)


def storage_name(text: str) -> str:
    """Check the name of a storage profile, or the path of a folder, and return it. Raises `InvalidInput`."""
    storage_profile(text)
    return text
