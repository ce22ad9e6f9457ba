"""Looking at what is kept, and removing it."""

from __future__ import annotations

from pathlib import Path

from redolab.crash import CrashImage, ImageStore
from redolab.hosts.local import LocalHost
from redolab.lab import open_lab, storage_catalogue
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.results import RunStore
from redolab.units import format_size


def kept_images() -> list[tuple[CrashImage, int]]:
    """The crash images on this machine with the bytes each takes, oldest first."""
    host = LocalHost()
    images = ImageStore(host, native_folder(PROJECT.lab))
    return [(image, host.files.folder_size(images.folder(image.name))) for image in images.all()]


def remove_run(progress: Progress, name: str) -> list[str]:
    """Remove a run, and the crash images that no other run used; what was removed, in words. Raises `InvalidInput`."""
    store = RunStore()
    run = store.get(name)
    with open_lab(progress, store.clear_unfinished) as lab:
        images = ImageStore(lab.host, native_folder(lab.folder))
        used_elsewhere = {image.name for other in store.all() if other.name != run.name for image in other.crashes()}
        used = {image.name for image in run.crashes()}
        removed = [image.name for image in images.all() if image.name in used - used_elsewhere]
        for image in removed:
            images.remove(image)
        store.remove(run)
    return [f"removed the run {run.name}", *(f"removed the crash image {image}" for image in removed)]


def remove_image(progress: Progress, name: str) -> str:
    """Remove a crash image; the runs that used it keep their results. What was removed, in words. Raises `InvalidInput`."""
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        images = ImageStore(lab.host, native_folder(lab.folder))
        images.get(name)
        images.remove(name)
    return f"removed the crash image {name}"


def clean(progress: Progress) -> list[str]:
    """Remove all that the lab made for its own use on this machine; what was removed, in words."""
    with open_lab(progress, RunStore().clear_unfinished) as lab:
        if not lab.host.files.exists(lab.folder):
            return ["the lab has nothing on this machine"]
        size = lab.host.files.folder_size(lab.folder)
        lab.host.files.remove(lab.folder)
    return [
        f"removed {lab.folder} (servers, tools, datasets, crash images: {format_size(size)}); runs stay in {PROJECT.runs}"
    ]


def native_folder(lab_folder: Path) -> Path:
    """Where crash images are kept: on the native storage."""
    return lab_folder / storage_catalogue().get("native").path
