"""Fetching the runs of a job as they grow: what is not whole lies apart, so that it passes for no result."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec
import xxhash

from redolab.errors import LabError
from redolab.machine import files
from redolab.remote.machine import OtherMachine, RemoteFile
from redolab.units import MIB

_APART = ".fetching"
_INDEX = "index.json"
_LARGE = 64 * MIB
"""Evidence, as a data directory, of which sending would be measured too."""
_WHERE = "machine.json"
"""In a run's folder: on which machine it was made."""


class _Where(msgspec.Struct, frozen=True):
    machine: str
    record: str = ""
    """The hash of its record as it was fetched."""


class Fetching:
    """The runs of one job, fetched to the folder of runs here."""

    def __init__(self, machine: OtherMachine, job: str, runs: Path) -> None:
        self._machine = machine
        self._job = job
        self._runs = runs
        self._apart = runs / _APART / f"{machine.host}-{job}"

    def fetch(self) -> None:
        """Fetch what has changed since the last time, while the job runs: nothing large. Raises `LabError`."""
        self._fetch([each for each in self._files_there() if each.size <= _LARGE])

    def _fetch(self, there: Sequence[RemoteFile]) -> None:
        here = self._index()
        wanted = {each.name: each for each in there if here.get(each.name) != each}
        if not wanted:
            return
        try:
            with (
                self._machine.sending(list(wanted)) as stream,
                tarfile.open(fileobj=stream, mode="r|") as archive,
            ):
                for entry in archive:
                    self._keep(entry, archive)
        except tarfile.TarError as error:
            remedy = f"'redolab attach {self._machine.address}' fetches it again"
            raise LabError(f"what {self._machine.host} sent of the run is torn ({error})", remedy) from error
        known = {**here, **wanted}
        files.write_whole(
            self._apart / _INDEX, msgspec.json.encode([known[each.name] for each in there if each.name in known])
        )

    def finish(self) -> list[Path]:
        """Fetch the rest of a job that has ended, and put its runs among those here: their folders. Raises `LabError`."""
        there = self._files_there()
        self._fetch(there)
        missing = [each.name for each in there if not self._is_whole(each)]
        if missing:
            raise LabError(
                f"{len(missing)} files of the run did not arrive ({missing[0]})",
                f"'redolab attach {self._machine.address}' fetches them again",
            )
        fetched = []
        for name in sorted({PurePosixPath(each.name).parts[0] for each in there}):
            folder = self._apart / name
            files.write_whole(folder / _WHERE, msgspec.json.encode(_Where(str(self._machine.address), _record(folder))))
            fetched.append(self._place(folder))
        files.remove(self._apart)
        if not files.names(self._apart.parent):
            files.remove(self._apart.parent)
        return fetched

    def _keep(self, entry: tarfile.TarInfo, archive: tarfile.TarFile) -> None:
        content = archive.extractfile(entry)
        if content is None or not _is_inside(entry.name):
            raise LabError(f"{self._machine.host} sends '{entry.name}', which is no file of a run")
        files.write_whole_from(self._apart / entry.name, content)

    def _place(self, folder: Path) -> Path:
        """Put a whole run where it belongs, instead of what was fetched of it before it went on."""
        to, number = self._runs / folder.name, 1
        while to.exists() and not self._is_ours(to):
            number += 1
            to = self._runs / f"{folder.name}-{number}"
        if to.exists():
            before = self._apart / f"{folder.name}.before"
            files.move(to, before)
        files.move(folder, to)
        return to

    def _is_ours(self, run: Path) -> bool:
        """Whether a run here was fetched from this machine, and has not been gone on with here since."""
        try:
            where = msgspec.json.decode((run / _WHERE).read_bytes(), type=_Where)
        except (OSError, msgspec.DecodeError):
            return False
        return where == _Where(str(self._machine.address), _record(run))

    def _files_there(self) -> list[RemoteFile]:
        there = self._machine.run_files(self._job)
        if wrong := next((each.name for each in there if not _is_inside(each.name)), None):
            raise LabError(f"{self._machine.host} has '{wrong}', which is no file of a run")
        return there

    def _index(self) -> dict[str, RemoteFile]:
        try:
            known: Sequence[RemoteFile] = msgspec.json.decode(
                (self._apart / _INDEX).read_bytes(), type=list[RemoteFile]
            )
        except (OSError, msgspec.DecodeError):
            return {}
        return {each.name: each for each in known if self._is_whole(each)}

    def _is_whole(self, file: RemoteFile) -> bool:
        path = self._apart / file.name
        return path.exists() and path.stat().st_size == file.size


def _record(run: Path) -> str:
    return xxhash.xxh3_64_hexdigest((run / "run.json").read_bytes())


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and len(path.parts) > 1
