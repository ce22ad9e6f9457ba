"""Stories of crash images, kept with the runs that use them: samples, logs, and the image's record."""

from __future__ import annotations

import shutil

import msgspec

from redolab.crash.image_store import ImageStore
from redolab.crash.records.crash import MARK, STORY, CrashImage
from redolab.machine import files
from redolab.results.crashes import CRASHES, crashes_of
from redolab.runs.store import Run


def keep_story(images: ImageStore, image: CrashImage, run: Run) -> None:
    """Keep the story of an image with a run, which may outlive it, and note with the image that the run uses it."""
    images.note_use(image.name, run.folder)
    kept = run.folder / CRASHES / image.name
    kept.mkdir(parents=True, exist_ok=True)
    for name in STORY:
        source = images.folder(image.name) / name
        if source.exists():
            beside = kept / f".{name}"
            shutil.copy(source, beside)
            beside.replace(kept / name)
    _drop_beginnings(image, run)
    # The hashes are for those who start on the files; of 20,000 tables they are megabytes.
    files.write_whole(kept / MARK, msgspec.json.encode(msgspec.structs.replace(image, hashes={})))


def _drop_beginnings(image: CrashImage, run: Run) -> None:
    """Leave the story to the last crash of a load: earlier ones have its beginning, and many would be megabytes."""
    of_load = [each for each in crashes_of(run) if each.load and each.load == image.load and each.name != image.name]
    for each in of_load:
        earlier = each if each.last_sample.monotonic < image.last_sample.monotonic else image
        for name in STORY:
            files.remove(run.folder / CRASHES / earlier.name / name)
