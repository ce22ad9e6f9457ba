"""The storages of one run: made when they are first wanted, attached one at a time, gone at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from redolab.disks.disk_model import built_disk_model, check_fuse
from redolab.disks.figures import DiskCheck, DiskTarget, StorageRecord
from redolab.disks.file_systems import AS_IS, MADE_BY
from redolab.disks.fio import FILE_SIZE, Fio
from redolab.disks.lab_disk import STAGED, LabDisk, ModelledPlace
from redolab.disks.place import Place
from redolab.disks.profiles import (
    HOME,
    VOLATILE,
    Cache,
    FolderStorage,
    ModelledDisk,
    SpinningDisk,
    StorageProfile,
    TmpfsStorage,
)
from redolab.errors import InvalidInput
from redolab.lab import Lab
from redolab.machine import copies, files, processes
from redolab.machine.clean_up_journal import OURS_ELSEWHERE, Journal
from redolab.machine.description import read_disk
from redolab.machine.device import BlockDevice
from redolab.machine.facts import Disk, RequestQueue
from redolab.machine.processes import Command
from redolab.progress import Stage
from redolab.servers import sizes
from redolab.units import GIB, MIB, format_size

DISKS = "storage/disks"
"""Folder of lab disks and mounts, relative to the lab's folder."""
_CHECK_DISK = 4 * GIB
_TMPFS_FILE = 256 * MIB
_CALIBRATE_NS = 300_000
_UNLIMITED = ["kind=unlimited"]
_CALIBRATE_AS = ["kind=flash", f"read={_CALIBRATE_NS}", "write=0", "flush=0", "depth=64"]


def measure_overhead(fio: Fio, disk: LabDisk, program: Path) -> int:
    """Measure the latency in nanoseconds that the disk model, FUSE and the loop device add."""
    with disk.modelled("calibration", program, _CALIBRATE_AS, RequestQueue(), 0) as place:
        return max(0, round(fio.read(place).latency_us * 1000) - _CALIBRATE_NS)


def check_can_be_cut(name: str, profile: StorageProfile | None) -> None:
    """Raise `InvalidInput`, before anything starts, if this storage cannot be a disk whose power can be cut.

    Such a disk is a file in the lab's folder. It may stand for the lab's own disk or for a modelled one. Under the
    name of another folder, or of memory, its results would be attributed to the wrong disk.
    """
    if name != HOME and not isinstance(profile, ModelledDisk):
        raise InvalidInput(
            f"the disk whose power is cut lies in the lab's folder, and not on {name}",
            f"choose {HOME} or a modelled storage, or CRASH=kill; REDOLAB_LAB names another folder for the lab",
        )
    if not processes.is_root():
        raise InvalidInput(
            "the disk whose power is cut is mounted, and only root may mount", "run as root, or CRASH=kill"
        )
    check_fuse()


def check_possible(profiles: Mapping[str, StorageProfile]) -> None:
    """Raise `InvalidInput`, before anything starts, for a profile that this machine cannot offer."""
    for name, profile in profiles.items():
        if isinstance(profile, FolderStorage):
            check_folder(profile)
        elif not processes.is_root():
            raise InvalidInput(
                f"the storage {name} is mounted, and only root may mount",
                "run as root, or give folders: STORAGE=local,/mnt/fast",
            )
        if isinstance(profile, ModelledDisk):
            check_fuse()
            profile.parameters()


def check_folder(profile: FolderStorage) -> None:
    """Raise `InvalidInput` for a user's folder that does not exist, or a path that leads out of the lab's folder."""
    path = Path(profile.path)
    if not path.is_absolute() and ".." in path.parts:
        raise InvalidInput(f"the storage {path} leads out of the lab's folder", "give an absolute path")
    if path.is_absolute() and not path.exists():
        raise InvalidInput(f"there is no folder {path}", "make it, or mount what is to be there")


@contextmanager
def attached_folder(profile: FolderStorage, lab_folder: Path, journal: Journal) -> Iterator[Path]:
    """Yield the folder. In a folder of the user's, only a subfolder is used, and removed afterwards."""
    with ExitStack() as stack:
        if Path(profile.path).is_absolute():
            folder = Path(profile.path) / OURS_ELSEWHERE
            stack.enter_context(journal.using(folder, f"the folder {folder}"))
        else:
            folder = lab_folder / profile.path
        files.make_folder(folder)
        yield folder


@dataclass(frozen=True, slots=True)
class Contents:
    """A data directory of which copies are made on storages."""

    name: str
    folder: Path
    size: int
    """Bytes on the disk."""


class Storages(AbstractContextManager["Storages"]):
    """The storages of one run. Leaving the context takes away all that was made for them."""

    def __init__(self, lab: Lab, profiles: Mapping[str, StorageProfile]) -> None:
        self._lab = lab
        self._profiles = profiles
        self._disks: dict[str, tuple[LabDisk, ExitStack]] = {}
        self._overhead_ns: int | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with ExitStack() as all_made:
            for _, made in self._disks.values():
                all_made.push(made)

    def attached(self, name: str, contents: Contents, *, to_be_cut: bool = False) -> AbstractContextManager[Place]:
        """Attach a storage for the block, with a copy of the contents if the storage is modelled.

        With `to_be_cut` the storage is a disk model in any case, and must have passed `check_can_be_cut`. For the
        lab's own disk the model has no limits and a volatile cache. Raises `LabError`.
        """
        profile = self._profiles.get(name)
        if isinstance(profile, ModelledDisk):
            # Before the contents take room beside fio's files.
            self._overhead()
            return self._modelled(self._staged(contents), name, profile, profile.cache if to_be_cut else None)
        if to_be_cut:
            program = built_disk_model(self._lab)
            return self._staged(contents).modelled(name, program, _UNLIMITED, RequestQueue(), 0, VOLATILE)
        assert profile is not None
        return self._plain(name, profile, sizes.recovered_copy(contents.size) + GIB)

    @contextmanager
    def empty(self, name: str, size: int, file_system: str) -> Iterator[Place]:
        """Attach a storage with an empty file system `file_system`, on a lab disk of `size` bytes.

        For a folder the lab disk's file lies in that folder and is as fast as its disk; `AS_IS` is the folder itself.
        Raises `LabError`.
        """
        profile = self._profiles[name]
        under = self._lab.folder / DISKS
        with ExitStack() as stack:
            if not isinstance(profile, ModelledDisk):
                place = stack.enter_context(self._plain(name, profile, size))
                if file_system == AS_IS:
                    yield place
                    return
                under = place.folder
            folder = under / f"{name.strip('/').replace('/', '-')}-{file_system}"
            disk = stack.enter_context(LabDisk.made(self._lab.journal, folder, size, MADE_BY[file_system]))
            if isinstance(profile, ModelledDisk):
                yield stack.enter_context(self._modelled(disk, name, profile))
            else:
                mounted_at = stack.enter_context(disk.natively())
                yield Place(name=name, folder=mounted_at, device=BlockDevice.under(mounted_at))

    def overhead_from(self, checks: Iterable[DiskCheck]) -> None:
        """Take over the disk model's own latency from earlier checks."""
        for check in checks:
            if check.overhead_us is not None:
                self._overhead_ns = round(check.overhead_us * 1000)

    def lies_on(self, name: str) -> Disk | None:
        """Return the disk under a storage, or under the file that stands for it; None in memory."""
        profile = self._profiles[name]
        if isinstance(profile, TmpfsStorage):
            return None
        return read_disk(self._lab.folder / (profile.path if isinstance(profile, FolderStorage) else DISKS))

    def check_same_disks(self, before: Iterable[StorageRecord]) -> None:
        """Raise `InvalidInput` if a user's folder lies on another disk than recorded: results of two would mix."""
        for record in before:
            profile = self._profiles.get(record.storage)
            if not isinstance(profile, FolderStorage) or not Path(profile.path).is_absolute():
                continue
            if not Path(profile.path).exists():
                continue
            recorded, lies_on = record.lies_on, self.lies_on(record.storage)
            if recorded and lies_on and (recorded.file_system, recorded.size) != (lies_on.file_system, lies_on.size):
                raise InvalidInput(
                    f"{record.storage} lies on {_disk_in_words(lies_on)}, and lay on {_disk_in_words(recorded)} before",
                    "mount there what was mounted, or start a new run",
                )

    def release(self, name: str) -> None:
        """Remove the copy of contents that nobody needs any more."""
        if name in self._disks:
            _, made = self._disks.pop(name)
            made.close()

    def disk_checks(self, names: Sequence[str]) -> Iterator[DiskCheck]:
        """Measure these storages with fio, one after the other; yield targets and results. Raises `LabError`."""
        if not names:
            return
        fio = self._fio()
        lab_disk: AbstractContextManager[LabDisk | None] = nullcontext()
        if any(isinstance(self._profiles[name], ModelledDisk) for name in names):
            lab_disk = self._calibrated_disk(fio)
        with lab_disk as disk:
            for name in names:
                profile = self._profiles[name]
                with self._lab.progress.stage(f"checking the storage {name} with fio", "fio") as stage:
                    yield self._checked(name, profile, fio, disk, stage)

    def _checked(self, name: str, profile: StorageProfile, fio: Fio, disk: LabDisk | None, stage: Stage) -> DiskCheck:
        if isinstance(profile, ModelledDisk):
            assert disk is not None
            with self._modelled(disk, name, profile) as modelled:
                got = fio.measure(modelled, stage, whole_device=isinstance(profile, SpinningDisk))
            return DiskCheck(
                storage=name,
                scheduler=profile.scheduler,
                asked=profile.target(),
                got=got,
                overhead_us=self._overhead() / 1000,
            )
        size = FILE_SIZE if isinstance(profile, FolderStorage) else _TMPFS_FILE
        with self._plain(name, profile, 2 * size) as attached:
            folder = attached.folder / "fio"
            place = replace(attached, folder=folder)
            with self._lab.journal.making(folder, f"fio's files on {name}"):
                files.make_folder(folder)
                stage.say("writing its files")
                fio.write_files(place, size)
                got = fio.measure(place, stage, size=size)
        scheduler = None if place.device is None else place.device.scheduler()
        return DiskCheck(storage=name, scheduler=scheduler, asked=DiskTarget(), got=got)

    def _modelled(
        self, disk: LabDisk, name: str, profile: ModelledDisk, cache: Cache | None = None
    ) -> AbstractContextManager[ModelledPlace]:
        """Serve the disk through the disk model; with `cache`, its power can be cut."""
        overhead, program = self._overhead(), built_disk_model(self._lab)
        return disk.modelled(name, program, profile.parameters(), profile.request_queue(), overhead, cache)

    @contextmanager
    def _calibrated_disk(self, fio: Fio) -> Iterator[LabDisk]:
        """Provide a lab disk with fio's files, and measure on it the latency that the disk model adds."""
        with self._new_disk("check", _CHECK_DISK) as disk:
            with self._lab.progress.stage("writing fio's files", "fio"), disk.natively() as folder:
                fio.write_files(Place(name="check", folder=folder))
            program = built_disk_model(self._lab)
            with self._lab.progress.stage("measuring what the disk model itself takes", "fio") as stage:
                self._overhead_ns = measure_overhead(fio, disk, program)
                stage.outcome = f"{self._overhead_ns / 1000:.0f} us a request, taken off its latencies"
            yield disk

    def _overhead(self) -> int:
        """Return the latency in nanoseconds that the disk model adds; measure it the first time."""
        if self._overhead_ns is None:
            with self._calibrated_disk(self._fio()):
                pass
        assert self._overhead_ns is not None
        return self._overhead_ns

    def _fio(self) -> Fio:
        self._lab.tools.require(["fio"], self._lab.progress)
        return Fio(self._lab.tools.get("fio"))

    @contextmanager
    def _plain(self, name: str, profile: FolderStorage | TmpfsStorage, size: int) -> Iterator[Place]:
        if isinstance(profile, FolderStorage):
            with attached_folder(profile, self._lab.folder, self._lab.journal) as folder:
                yield Place(name=name, folder=folder, device=BlockDevice.under(folder))
            return
        folder = self._lab.folder / DISKS / name
        with self._lab.journal.making(folder, f"the storage {name}", mounted=True):
            files.make_folder(folder)
            processes.run(Command(["mount", "-t", "tmpfs", "-o", f"size={size}", "redolab", str(folder)]))
            yield Place(name=name, folder=folder, direct=False)

    def _staged(self, contents: Contents) -> LabDisk:
        """Return the lab disk with a copy of the contents; make it the first time."""
        if contents.name in self._disks:
            return self._disks[contents.name][0]
        with ExitStack() as stack:
            disk = stack.enter_context(self._new_disk(contents.name, sizes.lab_disk(contents.size)))
            title = f"putting {contents.name} ({format_size(contents.size)}) on its lab disk"
            with self._lab.progress.stage(title, "copy"), disk.natively() as folder:
                copies.copy_folder(contents.folder, folder / STAGED)
            self._disks[contents.name] = (disk, stack.pop_all())
        return disk

    def _new_disk(self, name: str, size: int) -> AbstractContextManager[LabDisk]:
        self._lab.tools.require(["mkfs.xfs"], self._lab.progress)
        return LabDisk.made(self._lab.journal, self._lab.folder / DISKS / name, size)


def _disk_in_words(disk: Disk) -> str:
    return f"{disk.device} ({disk.file_system}, {format_size(disk.size)})"
