"""The disk model as the lab runs it: built from `diskmodel/`, started on a file, controlled by commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import xxhash

from redolab.clock import now
from redolab.errors import CommandFailed, InvalidInput, LabError, StorageLost
from redolab.lab import Lab
from redolab.machine import files, mounts, processes
from redolab.machine.interrupts import held, released
from redolab.machine.processes import Command, Process
from redolab.project import PROJECT

BUILD_PACKAGES = ("gcc", "libc6-dev", "make", "pkg-config", "libfuse3-dev", "fuse3")
_START_SECONDS = 10.0
_END_SECONDS = 30.0
_MOUNTS_SECONDS = 1.0
FUSE = Path("/dev/fuse")


class ModelStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status of a disk model, counted since it was last limited; times in nanoseconds."""

    reads: int
    writes: int
    flushes: int
    latency_ns: int
    """Time that the modelled disk took for all requests together."""
    late_ns: int
    """Time by which requests were answered later than the modelled disk would have answered them, summed."""


class DiskModel:
    """A running disk model; `file` is the disk that it serves."""

    def __init__(self, process: Process, mountpoint: Path) -> None:
        self.file = mountpoint / "disk"
        self.process = process
        self._control = mountpoint / "control"

    @classmethod
    @contextmanager
    def serving(
        cls, program: Path, file: Path, mountpoint: Path, parameters: Sequence[str], log: Path
    ) -> Iterator[DiskModel]:
        """Serve `file` at `mountpoint` for the block, without limits at first.

        The journal must already have the mountpoint as `mounted`. Raises `LabError` if the disk model does not start.
        """
        files.make_folder(mountpoint)
        # An interrupt right after its start must find it here, or it would mount what is being removed.
        with held():
            process = processes.start(Command([str(program), str(file), str(mountpoint), *parameters]), log)
            model = cls(process, mountpoint)
            try:
                with released():
                    model._wait_until_there()
                    yield model
            finally:
                model._end(mountpoint)

    def _end(self, mountpoint: Path) -> None:
        """Unmount the disk model, which ends it; one that was still starting may mount only now."""
        try:
            mounts.unmount(mountpoint)
            if self.process.wait(_MOUNTS_SECONDS) is None:
                mounts.unmount(mountpoint)
        finally:
            if self.process.wait(_END_SECONDS) is None:
                self.process.stop()

    def tell(self, line: str) -> None:
        """Send the disk model a line of commands (`diskmodel/gate.h`). Raises `LabError`."""
        try:
            processes.run(Command(["tee", str(self._control)], standard_input=f"{line}\n".encode()))
        except CommandFailed:
            self.check_running()
            raise

    def status(self) -> ModelStatus:
        """Return the disk model's status. Raises `LabError`."""
        try:
            return msgspec.json.decode(self._control.read_bytes(), type=ModelStatus)
        except OSError as error:
            self.check_running()
            raise LabError(f"the disk model does not say how it stands ({error.strerror})") from error

    def check_running(self) -> None:
        """Raise `StorageLost` if the disk model has ended."""
        status = self.process.wait(0)
        if status is not None:
            last_lines = [line.text for line in self.process.lines(now().monotonic)][-5:]
            raise StorageLost(
                f"the disk model has ended (status {status}), and with it the disk it served", details=last_lines
            )

    def _wait_until_there(self) -> None:
        deadline = now().monotonic + _START_SECONDS
        while not self._control.exists():
            if self.process.wait(0.01) is not None:
                self.check_running()
            if now().monotonic > deadline:
                raise LabError(f"the disk model was not there within {_START_SECONDS:.0f} s", "see 'redolab doctor'")


def check_fuse() -> None:
    """Raise `InvalidInput` if this machine's kernel cannot serve a disk from a program."""
    if not FUSE.exists():
        raise InvalidInput(
            "this machine's kernel has no FUSE", "modprobe fuse, or choose a storage that is not modelled"
        )


def built_disk_model(lab: Lab) -> Path:
    """Return the disk model's program; build it if it is missing. Raises `LabError` if this machine cannot have it."""
    check_fuse()
    sources = sorted(path for path in PROJECT.disk_model.glob("*") if path.is_file())
    digest = xxhash.xxh3_64_hexdigest(b"".join(path.name.encode() + path.read_bytes() for path in sources))
    folder = lab.folder / "tools" / f"diskmodel-{digest}"
    program = folder / "diskmodel"
    if program.exists():
        return program
    if not can_build():
        lab.tools.install(BUILD_PACKAGES, lab.progress)
    making = folder.with_name("diskmodel.partial")
    with lab.journal.making(making, "the half-built disk model"), lab.progress.stage("building the disk model"):
        for name in files.names(folder.parent):
            if name.startswith("diskmodel-"):
                files.remove(folder.parent / name)
        processes.run(Command(["make", "--silent", f"--directory={PROJECT.disk_model}", f"BUILD={making}"]))
        files.move(making, folder)
    return program


def can_build() -> bool:
    """Return True if this machine has the tools that build the disk model."""
    if any(processes.which(program) is None for program in ("cc", "make", "pkg-config", "fusermount3")):
        return False
    return processes.run(Command(["pkg-config", "--exists", "fuse3"]), check=False).status == 0
