"""Crashes of a run, whether or not their images are still kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from redolab.crash.records.crash import MARK, SAMPLES, CrashImage, decoded_image
from redolab.errors import LabError
from redolab.results.series import read_samples
from redolab.runs.store import Run
from redolab.servers.redo_counters import Sample

CRASHES = "crashes"


def crashes_of(run: Run) -> list[CrashImage]:
    """Return the crash images of a run, whether or not they are still kept. Raises `LabError`."""
    images = []
    for path in sorted((run.files / CRASHES).glob(f"*/{MARK}")):
        try:
            images.append(decoded_image(path.read_bytes()))
        except msgspec.MsgspecError as error:
            raise LabError(
                f"the run {run.name} cannot be read ({path.name}: {error})", "it is left as it is"
            ) from error
    return images


def story_folder(run: Run, image: str) -> Path:
    """Return the folder of the series recorded on the way to a crash."""
    return run.files / CRASHES / image


def samples_of(run: Run, image: str) -> Sequence[Sample]:
    """Return the counters from the start of the load to the kill.

    Of several crashes of one load, only the last has the series.
    """
    own = story_folder(run, image) / SAMPLES
    if own.exists():
        return read_samples(own)
    images = {each.name: each for each in crashes_of(run)}
    end = images[image].last_sample.monotonic
    longest = max(
        (each for each in images.values() if each.load == images[image].load),
        key=lambda each: each.last_sample.monotonic,
    )
    samples = read_samples(story_folder(run, longest.name) / SAMPLES)
    return [each for each in samples if each.monotonic <= end]
