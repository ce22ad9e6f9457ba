"""Crash images: data directories after a crash, on which no server ever starts."""

from __future__ import annotations

from pathlib import Path

import msgspec

from redolab.crash.records.crash import MARK, STORY, CrashImage, CrashSpec, decoded_image
from redolab.errors import InvalidInput, LabError
from redolab.machine import files
from redolab.machine.clean_up_journal import Journal
from redolab.servers.dialects import Dialect
from redolab.servers.instance import DATA

_USED_BY = "used-by"
_MADE_ON = "made-on"


class ImageStore:
    """Crash images on a storage. `identity`: id of the machine for images that belong to one."""

    def __init__(self, storage: Path, identity: str = "") -> None:
        self._folder = storage / "images"
        self._identity = identity

    def folder(self, name: str) -> Path:
        """Return the folder of an image."""
        return self._folder / name

    def data(self, image: CrashImage) -> Path:
        """Return an image's data directory."""
        return self._folder / image.name / DATA

    def names(self) -> list[str]:
        """Return the names of all images, also of those made by another version of the lab."""
        return list(files.names(self._folder))

    def all(self) -> list[CrashImage]:
        """Return the images that this version of the lab can read, oldest first."""
        found = [self.read(name) for name in self.names()]
        return sorted((image for image in found if image is not None), key=lambda image: image.made)

    def read(self, name: str) -> CrashImage | None:
        """Return the image of that name; None if there is none that this version of the lab can read."""
        try:
            return decoded_image((self._folder / name / MARK).read_bytes())
        except (msgspec.MsgspecError, OSError):
            return None

    def get(self, name: str) -> CrashImage:
        """Return the image of that name. Raises `InvalidInput`, which lists the names there are."""
        # Read only this one: each has the hashes of all its files.
        image = self.read(name) if name in self.names() else None
        if image is None:
            names = [each.name for each in self.all()]
            remedy = f"choose from {', '.join(names)}" if names else "'redolab run recovery' makes one"
            raise InvalidInput(f"there is no crash image '{name}'", remedy)
        return image

    def find(self, spec: CrashSpec) -> CrashImage | None:
        """Return the newest image made to exactly this spec, on this machine if its machine is known."""
        return next((image for image in reversed(self.all()) if image.spec == spec and self._is_of_here(image)), None)

    def _is_of_here(self, image: CrashImage) -> bool:
        noted = self._folder / image.name / _MADE_ON
        return not (self._identity and noted.exists()) or noted.read_text() == self._identity

    def keep(self, image: CrashImage, instance: Path) -> None:
        """Turn a crashed instance's folder into an image: keep only the crash state and the files on the way to it."""
        for name in files.names(instance):
            if name not in (DATA, *STORY):
                files.remove(instance / name)
        if self._identity:
            files.write_whole(instance / _MADE_ON, self._identity.encode())
        files.write_whole(instance / MARK, msgspec.json.encode(image))
        files.move(instance, self._folder / image.name)

    def check_unchanged(self, image: CrashImage) -> None:
        """Check that an image is still as the kill left it. Raises `LabError`."""
        if files.hash_folder(self.data(image)) != image.hashes:
            raise LabError(
                f"the crash image {image.name} was changed since it was made", f"'redolab rm {image.name}' removes it"
            )

    def note_use(self, name: str, run: Path) -> None:
        """Record beside an image that a run measures on it: runs can be in many folders, the image cannot."""
        if run not in self.used_by(name):
            with (self._folder / name / _USED_BY).open("a") as file:
                file.write(f"{run}\n")

    def used_by(self, name: str) -> set[Path]:
        """Return the folders of the runs that have measured on an image and still exist."""
        noted = self._folder / name / _USED_BY
        lines = noted.read_text().splitlines() if noted.exists() else []
        return {Path(line) for line in lines if Path(line).exists()}

    def remove(self, name: str, journal: Journal) -> None:
        """Remove an image, if it exists; if the removal is interrupted, the next command finishes it."""
        # Names come from runs too, which others may have written: one may be a path.
        if name in self.names():
            journal.remove(self._folder / name, MARK, f"the crash image {name} half removed")


def check_format(image: CrashImage, server: str, dialect: Dialect) -> None:
    """Refuse an image whose redo a server cannot read. Raises `InvalidInput`."""
    if image.redo_format != dialect.redo_format:
        raise InvalidInput(
            f"the crash image {image.name} has redo of format {image.redo_format}, and {server} reads {dialect.redo_format} only",
            f"recover it with {image.spec.dataset.server}",
        )
