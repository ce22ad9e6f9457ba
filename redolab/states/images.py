"""Crash images: the data directory as a crash left it, kept and never started itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from redolab.counters import Sample
from redolab.errors import InvalidInput, LabError
from redolab.machine import files
from redolab.machine.clean_up_journal import Journal
from redolab.records.crash import MARK, SAMPLES, STORY, CrashImage, CrashSpec, decoded_image
from redolab.results.series import read_samples
from redolab.servers.dialects import Dialect
from redolab.servers.instance import DATA

_USED_BY = "used-by"
_MADE_ON = "made-on"


class ImageStore:
    """The crash images on a storage; `identity`: the machine on which some may be made or looked for."""

    def __init__(self, storage: Path, identity: str = "") -> None:
        self._folder = storage / "images"
        self._identity = identity

    def folder(self, name: str) -> Path:
        """Where an image lies."""
        return self._folder / name

    def data(self, image: CrashImage) -> Path:
        """An image's data directory."""
        return self._folder / image.name / DATA

    def names(self) -> list[str]:
        """The names of all images, those included that another version of the lab made."""
        return list(files.names(self._folder))

    def all(self) -> list[CrashImage]:
        """The images that this version of the lab can read, oldest first."""
        found = [self.read(name) for name in self.names()]
        return sorted((image for image in found if image is not None), key=lambda image: image.made)

    def read(self, name: str) -> CrashImage | None:
        """The image of that name; None if there is none that this version of the lab can read."""
        try:
            return decoded_image((self._folder / name / MARK).read_bytes())
        except (msgspec.MsgspecError, OSError):
            return None

    def get(self, name: str) -> CrashImage:
        """The image of that name. Raises `InvalidInput`, which lists the names there are."""
        # Each has the hashes of all its files: read only the one.
        image = self.read(name) if name in self.names() else None
        if image is None:
            there = [each.name for each in self.all()]
            known = f"choose from {', '.join(there)}" if there else "'redolab run recovery' makes one"
            raise InvalidInput(f"there is no crash image '{name}'", known)
        return image

    def find(self, spec: CrashSpec) -> CrashImage | None:
        """The newest image made to exactly this spec, on this machine where it is known on which."""
        return next((image for image in reversed(self.all()) if image.spec == spec and self._is_of_here(image)), None)

    def _is_of_here(self, image: CrashImage) -> bool:
        noted = self._folder / image.name / _MADE_ON
        return not (self._identity and noted.exists()) or noted.read_text() == self._identity

    def keep(self, image: CrashImage, instance: Path) -> None:
        """Make a crashed instance's folder an image: only what the crash left and how it came about stays in it."""
        for name in files.names(instance):
            if name not in (DATA, *STORY):
                files.remove(instance / name)
        if self._identity:
            files.write_whole(instance / _MADE_ON, self._identity.encode())
        files.write_whole(instance / MARK, msgspec.json.encode(image))
        files.move(instance, self._folder / image.name)

    def check_unchanged(self, image: CrashImage) -> None:
        """Raises `LabError` if an image is no longer as the kill left it."""
        if files.hash_folder(self.data(image)) != image.hashes:
            raise LabError(
                f"the crash image {image.name} was changed since it was made", f"'redolab rm {image.name}' removes it"
            )

    def note_use(self, name: str, run: Path) -> None:
        """Note beside an image that a run measures on it: runs can lie in many folders, the image cannot."""
        if run not in self.used_by(name):
            with (self._folder / name / _USED_BY).open("a") as file:
                file.write(f"{run}\n")

    def used_by(self, name: str) -> set[Path]:
        """The folders of the runs that have measured on an image and are still there."""
        noted = self._folder / name / _USED_BY
        lines = noted.read_text().splitlines() if noted.exists() else []
        return {Path(line) for line in lines if Path(line).exists()}

    def remove(self, name: str, journal: Journal) -> None:
        """Remove an image, if there is one of that name; where that is broken off, the next command ends it."""
        # Names come from runs too, which others may have written: one may be a path.
        if name in self.names():
            journal.remove(self._folder / name, MARK, f"the crash image {name} half removed")

    def samples(self, image: CrashImage) -> Sequence[Sample]:
        """All samples from the start of the fill to the kill."""
        return read_samples(self.folder(image.name) / SAMPLES)


def check_format(image: CrashImage, server: str, dialect: Dialect) -> None:
    """Raises `InvalidInput` if a server cannot read the redo of an image."""
    if image.redo_format != dialect.redo_format:
        raise InvalidInput(
            f"the crash image {image.name} has redo of format {image.redo_format}, and {server} reads {dialect.redo_format} only",
            f"recover it with {image.spec.dataset.server}",
        )
