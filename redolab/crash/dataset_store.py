"""Store of datasets: loaded, cleanly shut-down data directories, kept and reused."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from redolab.crash.records.dataset import DatasetSpec
from redolab.machine import files
from redolab.machine.clean_up_journal import Journal

DATASET_MARK = "dataset.json"
_DATASETS = "datasets"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset on disk."""

    spec: DatasetSpec
    folder: Path
    """Folder that has the data directory as `data`."""
    size: int
    """Bytes on disk."""


def dataset_folder(storage: Path, name: str) -> Path:
    """Return the folder of the dataset of that name, which is its key."""
    return storage / _DATASETS / name


def find_dataset(storage: Path, spec: DatasetSpec) -> Dataset | None:
    """Return the dataset if it is complete."""
    folder = dataset_folder(storage, spec.key)
    if not (folder / DATASET_MARK).exists():
        return None
    return Dataset(spec, folder, files.folder_size(folder))


def datasets(storage: Path) -> list[Dataset]:
    """Return all datasets that this version of the lab can read, by name."""
    found = []
    for name in dataset_names(storage):
        folder = dataset_folder(storage, name)
        with suppress(msgspec.MsgspecError, OSError):
            spec = msgspec.json.decode((folder / DATASET_MARK).read_bytes(), type=DatasetSpec)
            found.append(Dataset(spec, folder, files.folder_size(folder)))
    return found


def dataset_names(storage: Path) -> list[str]:
    """Return the names of all datasets, also of those made by another version of the lab."""
    return [
        name for name in files.names(storage / _DATASETS) if (dataset_folder(storage, name) / DATASET_MARK).exists()
    ]


def remove_dataset(storage: Path, name: str, journal: Journal) -> None:
    """Remove the dataset of that name; if the removal is interrupted, the next command finishes it."""
    journal.remove(dataset_folder(storage, name), DATASET_MARK, f"the dataset {name} half removed")
