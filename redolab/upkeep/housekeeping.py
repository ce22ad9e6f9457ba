"""Looking at what is kept, and removing it."""

from __future__ import annotations

from pathlib import Path

from redolab.crashes.images import CrashImage, ImageStore
from redolab.errors import InvalidInput
from redolab.lab import JOURNAL, LAB_FOLDERS, native_folder, open_lab, servers_of
from redolab.machine import files
from redolab.machine.lock import LOCK
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.runs.store import RunStore, used_names
from redolab.servers.known import own_servers, server_catalogue
from redolab.servers.own import check_name, entry_of_folder, entry_of_tarball
from redolab.servers.sources.archive import ArchiveSource
from redolab.units import format_size
from redolab.upkeep.servers_table import ListedServer


def kept_images() -> list[tuple[CrashImage, int]]:
    """The crash images on this machine with the bytes each takes, oldest first."""
    images = ImageStore(native_folder(PROJECT.lab))
    return [(image, files.folder_size(images.folder(image.name))) for image in images.all()]


def remove_run(progress: Progress, name: str) -> list[str]:
    """Remove a run, and the crash images that no other run used; what was removed, in words. Raises `InvalidInput`."""
    store = RunStore()
    with open_lab(progress, store.clear_unfinished) as lab:
        run = store.get(name)
        images = ImageStore(lab.home)
        used_elsewhere = store.names_used(run)
        removed = [
            image
            for image in images.names()
            if image in used_names(run) and image not in used_elsewhere and not images.used_by(image) - {run.folder}
        ]
        for image in removed:
            images.remove(image)
        store.remove(run)
    return [f"removed the run {run.name}", *(f"removed the crash image {image}" for image in removed)]


def remove_image(progress: Progress, name: str) -> str:
    """Remove a crash image; the runs that used it keep their results. What was removed, in words. Raises `InvalidInput`."""
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        images = ImageStore(lab.home)
        if name not in images.names():
            raise InvalidInput(f"there is no crash image '{name}'", "'redolab images' lists them")
        images.remove(name)
    return f"removed the crash image {name}"


def listed_servers() -> list[ListedServer]:
    """Every server of the catalogue as it stands on this machine."""
    servers = servers_of(PROJECT.lab)
    own = own_servers().entries()
    return [
        ListedServer(name, entry, name in own, servers.installed(name, entry), servers.size(name))
        for name, entry in server_catalogue().items()
    ]


def add_server(progress: Progress, name: str, tarball: Path | None, sha256: str | None, path: Path | None) -> str:
    """Add a server of the user's own from a tarball or a folder; what was added, in words. Raises `LabError`."""
    if (tarball is None) == (path is None):
        raise InvalidInput("a server is added from one place", "give either --tarball FILE or --path DIR")
    check_name(name, server_catalogue().names())
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        lab.tools.require(["bwrap"], progress)
        if tarball is not None:
            with progress.stage(f"looking into {tarball.name}"):
                entry = entry_of_tarball(tarball, sha256)
        else:
            assert path is not None
            entry = entry_of_folder(path)
        server = lab.servers.install(name, entry, progress)
        own_servers().keep(name, entry, server)
    checksum = f", SHA-256 {entry.source.sha256}" if isinstance(entry.source, ArchiveSource) else ""
    return f"added {name}: {server.dialect.family} {server.version} from {entry.source.about}{checksum}"


def remove_server(progress: Progress, name: str) -> str:
    """Forget a server of the user's own; what was removed, in words. Raises `InvalidInput`."""
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        own_servers().forget(name)
        lab.servers.remove(name)
    return f"removed the server {name}"


def clean(progress: Progress) -> list[str]:
    """Remove all that the lab made for its own use on this machine; what was removed, in words."""
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        # By name: $REDOLAB_LAB may be a disk that holds other things as well.
        ours = [lab.folder / name for name in LAB_FOLDERS]
        size = sum(files.folder_size(folder) for folder in ours if folder.exists())
        kept_to_the_end = {lab.folder / JOURNAL, lab.folder / LOCK}
        for folder in ours:
            if folder not in kept_to_the_end and folder.exists():
                # Moved away at once: a removal that is broken off leaves nothing that looks whole.
                going = folder.with_name(f"{folder.name}.removing")
                with lab.journal.making(going, f"what was being removed of {folder}"):
                    files.move(folder, going)
        for folder in kept_to_the_end:
            files.remove(folder)
        for folder in (lab.folder / "storage", lab.folder):
            if folder.exists() and not files.names(folder):
                files.remove(folder)
    return [
        f"removed what the lab had in {lab.folder} "
        f"(servers, tools, datasets, crash images: {format_size(size)}); runs stay in {PROJECT.runs}"
    ]
