"""Lists of kept images, datasets and servers, and their addition and removal."""

from __future__ import annotations

from pathlib import Path

from redolab.commands.upkeep.servers_table import ListedServer
from redolab.crash.dataset_store import Dataset, dataset_names, datasets, remove_dataset
from redolab.crash.image_store import ImageStore
from redolab.crash.records.crash import CrashImage
from redolab.errors import InvalidInput
from redolab.lab import Lab, native_folder, open_lab, servers_of
from redolab.machine import files
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.runs.schema import RunState
from redolab.runs.store import RunStore, used_names
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import other_than_expected
from redolab.servers.own import (
    check_name,
    entry_of_folder,
    entry_of_tarball,
    forget_own_server,
    keep_own_server,
    own_servers,
)
from redolab.servers.sources.archive import ArchiveSource


def kept_images() -> list[tuple[CrashImage, int]]:
    """Return the crash images on this machine with the bytes each takes, oldest first."""
    images = ImageStore(native_folder(PROJECT.lab))
    return [(image, files.folder_size(images.folder(image.name))) for image in images.all()]


def kept_datasets() -> list[Dataset]:
    """Return the datasets on this machine, by name."""
    return datasets(native_folder(PROJECT.lab))


def remove(progress: Progress, name: str) -> list[str]:
    """Remove a run, a crash image or a dataset. Return descriptions of the removed things. Raises `InvalidInput`.

    A run takes along the crash images that no other run used; an image or a dataset takes no result.
    """
    store = RunStore()
    with open_lab(progress, store.clear_unfinished) as lab:
        images = ImageStore(lab.home)
        if name in images.names():
            images.remove(name, lab.journal)
            return [f"removed the crash image {name}"]
        if name in dataset_names(lab.home):
            remove_dataset(lab.home, name, lab.journal)
            return [f"removed the dataset {name}"]
        return _remove_run(lab, store, name)


def _remove_run(lab: Lab, store: RunStore, name: str) -> list[str]:
    try:
        run = store.get(name)
    except InvalidInput as error:
        raise InvalidInput(
            f"{error.problem}, nor a crash image or dataset of that name",
            "'redolab runs' and 'redolab images' list what there is",
        ) from None
    if name not in (run.name, "latest"):
        raise InvalidInput(f"'{name}' is the beginning of a run's name", f"give it whole to remove it: {run.name}")
    if run.record().state is RunState.RUNNING:
        raise InvalidInput(f"the run {run.name} is running on a cluster", "interrupt it (Ctrl-C) where it was started")
    images = ImageStore(lab.home)
    used_elsewhere = store.names_used(run)
    removed = [
        image
        for image in images.names()
        if image in used_names(run) and image not in used_elsewhere and not images.used_by(image) - {run.folder}
    ]
    for image in removed:
        images.remove(image, lab.journal)
    store.remove(run)
    return [f"removed the run {run.name}", *(f"removed the crash image {image}" for image in removed)]


def listed_servers() -> list[ListedServer]:
    """Return every server of the catalogue with its state on this machine."""
    servers = servers_of(PROJECT.lab)
    own = own_servers()
    return [
        ListedServer(
            name, entry, name in own, servers.installed(name, entry), servers.versions(name), servers.size(name)
        )
        for name, entry in server_catalogue().items()
    ]


def add_server(progress: Progress, name: str, tarball: Path | None, sha256: str | None, path: Path | None) -> str:
    """Add a server of the user's own from a tarball or a folder. Return a sentence on it. Raises `LabError`."""
    if (tarball is None) == (path is None):
        raise InvalidInput("a server is added from one place", "give either --tarball FILE or --path DIR")
    known = dict(server_catalogue().items()).get(name)
    # A tarball of a known server is one more version of it.
    check_name(name, [name] if known is not None and tarball is None else [])
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        lab.tools.require(["bwrap"], progress)
        if tarball is not None:
            with progress.stage(f"looking into {tarball.name}"):
                entry = entry_of_tarball(tarball, sha256)
        else:
            assert path is not None
            entry = entry_of_folder(path)
        if known is not None:
            server = lab.servers.supply(name, entry, known.family, progress)
        else:
            server = lab.servers.install(name, entry, progress)
            keep_own_server(name, entry, server)
    checksum = f", SHA-256 {entry.source.sha256}" if isinstance(entry.source, ArchiveSource) else ""
    what = f"added {name}: {server.dialect.family} {server.version} from {entry.source.about}{checksum}"
    return what if known is None else f"{what}; for runs that were planned with that version"


def fetch_server(progress: Progress, name: str) -> str:
    """Fetch a server in its source's present version, beside other versions. Return a sentence on it.

    Raises `LabError`.
    """
    entry = server_catalogue().get(name)
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        lab.tools.require(["bwrap"], progress)
        server = lab.servers.fetch(name, entry, progress)
        others = [str(each.dialect.version) for each in lab.servers.versions(name) if each.folder != server.folder]
    beside = f", beside {', '.join(others)}" if others else ""
    expected = f"; expected is {entry.version}" if other_than_expected(server.version, entry.version) else ""
    return f"fetched {name} {server.version}{beside}{expected}"


def remove_server(progress: Progress, name: str) -> str:
    """Forget a server of the user's own. Return a sentence on it. Raises `InvalidInput`."""
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        forget_own_server(name)
        lab.servers.remove(name)
    return f"removed the server {name}"
