"""The lab disk: a sparse file with a file system (by default with reflinks), mounted directly or by a disk model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

from redolab.disks.disk_model import DiskModel
from redolab.disks.loop import is_buffered, make_file_system, mounted
from redolab.disks.place import FULL, Place
from redolab.disks.profiles import Cache
from redolab.errors import DiskFull
from redolab.machine import files
from redolab.machine.clean_up_journal import Journal
from redolab.machine.facts import RequestQueue
from redolab.units import format_size

# 512-byte sectors as the servers' logs write them; copies share their blocks.
_FILE_SYSTEM = ("mkfs.xfs", "-q", "-f", "-m", "reflink=1", "-s", "size=512")
STAGED = "staged"


@dataclass(frozen=True, kw_only=True)
class ModelledPlace(Place):
    """A lab disk behind a disk model."""

    model: DiskModel
    disk_file: Path

    @contextmanager
    @override
    def limited(self) -> Iterator[None]:
        self.model.tell("limits on")
        try:
            yield
        finally:
            self.model.tell("limits off")

    @contextmanager
    @override
    def unlimited(self) -> Iterator[None]:
        self.model.tell("limits off")
        try:
            yield
        finally:
            self.model.tell("limits on")

    @override
    def late_share(self) -> float | None:
        status = self.model.status()
        return status.late_ns / status.latency_ns if status.latency_ns else 0.0

    @override
    def check(self) -> None:
        self.model.check_running()
        if files.free_space(self.disk_file) < FULL:
            raise DiskFull(
                f"the disk under the lab disk {self.disk_file} is full",
                "free some space ('redolab runs' and 'redolab images' help)",
            )
        super().check()


class LabDisk:
    """A lab disk; its folder has the file, and the places where it is mounted."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "disk"
        self._folder = folder

    @classmethod
    @contextmanager
    def made(
        cls, journal: Journal, folder: Path, size: int, file_system: Sequence[str] = _FILE_SYSTEM
    ) -> Iterator[LabDisk]:
        """Make an empty lab disk of `size` bytes in `folder` for the block, its file system made by that command.

        Raises `LabError` if this machine cannot have one.
        """
        with journal.making(folder, f"the lab disk {folder.name} ({format_size(size)})", mounted=True):
            make_file_system(folder / "disk", size, file_system)
            yield cls(folder)

    @contextmanager
    def natively(self) -> Iterator[Path]:
        """Mount the lab disk for the block, as fast as the disk that holds its file."""
        mounted_at = self._folder / "local"
        with mounted(self.file, mounted_at):
            yield mounted_at

    @contextmanager
    def modelled(
        self,
        name: str,
        program: Path,
        parameters: Sequence[str],
        queue: RequestQueue,
        overhead: int,
        cache: Cache | None = None,
    ) -> Iterator[ModelledPlace]:
        """Mount the lab disk through the disk model, which subtracts `overhead` nanoseconds from its latencies.

        With `cache`, its power can be cut. Raises `LabError`.
        """
        log = self._folder / "model.log"
        loses = () if cache is None else cache.parameters()
        served = DiskModel.serving(program, self.file, self._folder / "model", [*loses, *parameters], log)
        with served as model:
            model.tell(f"overhead {overhead}")
            mounted_at = self._folder / "mounted"
            with mounted(model.file, mounted_at) as device, device.as_volatile(True), device.treated_as(queue):
                yield ModelledPlace(
                    name=name,
                    folder=mounted_at,
                    device=device,
                    staged=mounted_at / STAGED,
                    model=model,
                    disk_file=self.file,
                    buffered=is_buffered(device),
                )
