"""The storages of one run: made when they are first wanted, attached one at a time, gone at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from redolab.crash import CrashImage, ImageStore
from redolab.device import BlockDevice, RequestQueue
from redolab.errors import DiskFull, InvalidInput
from redolab.hosts import Command, Host
from redolab.lab import Lab
from redolab.machine import read_machine
from redolab.progress import Stage
from redolab.storage import StorageProfile
from redolab.storage.disk_model import built_disk_model, check_fuse
from redolab.storage.figures import AskedDisk, DiskCheck
from redolab.storage.fio import FILE_SIZE, FILES_SIZE, Fio
from redolab.storage.folder import FolderStorage
from redolab.storage.lab_disk import STAGED, LabDisk, ModelledPlace, size_for
from redolab.storage.modelled import ModelledDisk, SpinningDisk
from redolab.storage.place import Place
from redolab.storage.tmpfs import TmpfsStorage
from redolab.units import GIB, MIB, format_size

DISKS = "storage/disks"
"""Where lab disks and mounts lie in the lab's folder."""
_CHECK_DISK = 4 * GIB
_TMPFS_FILE = 256 * MIB
_REWRITTEN = 1.5
"""A copy that was recovered, in sizes of the image: log files may be made anew beside the old ones."""
_CALIBRATE_NS = 300_000
_CALIBRATE_AS = ["kind=flash", f"read={_CALIBRATE_NS}", "write=0", "flush=0", "depth=64"]


def measure_overhead(fio: Fio, disk: LabDisk, program: Path) -> int:
    """Nanoseconds that the disk model, FUSE and the loop device take themselves, on a lab disk with fio's files."""
    with disk.modelled("calibration", program, _CALIBRATE_AS, RequestQueue(), 0) as place:
        return max(0, round(fio.read(place).latency_us * 1000) - _CALIBRATE_NS)


def check_possible(host: Host, profiles: Mapping[str, StorageProfile]) -> None:
    """Raises `InvalidInput` for a profile that this host cannot offer, before anything is started."""
    for name, profile in profiles.items():
        if isinstance(profile, FolderStorage):
            profile.check(host)
        elif not host.is_root():
            raise InvalidInput(
                f"the storage {name} is mounted, and only root may mount",
                "run as root, or give folders: STORAGE=native,/mnt/fast",
            )
        if isinstance(profile, ModelledDisk):
            check_fuse(host)
            profile.parameters()


def check_storage_room(
    lab: Lab, profiles: Mapping[str, StorageProfile], images: Sequence[int], pool: int, *, check_disks: bool
) -> None:
    """Refuse storages that have no room for copies of images of so many bytes. Raises `DiskFull` or `InvalidInput`.

    `images`: all that are on lab disks at the same time; `pool`: the largest buffer pool, which shares the memory with a tmpfs;
    `check_disks`: whether fio's files come on top.
    """
    largest = max(images)
    for name, profile in profiles.items():
        if isinstance(profile, FolderStorage):
            path = lab.folder / profile.path
            _check_free(lab.host, path, int(largest * _REWRITTEN) + FILES_SIZE * check_disks, name)
        elif isinstance(profile, TmpfsStorage):
            memory = read_machine(lab.host, lab.home).memory
            needed = int(largest * _REWRITTEN) + pool + GIB
            if needed > memory:
                raise InvalidInput(
                    f"{name} with a copy of the crash image and a buffer pool of {format_size(pool)} needs {format_size(needed)} of "
                    f"memory, and this machine has {format_size(memory)}",
                    "choose a smaller LOGSIZE, DATASET or POOL",
                )
    if any(isinstance(profile, ModelledDisk) for profile in profiles.values()):
        needed = sum(size_for(image) for image in images) + FILES_SIZE
        _check_free(lab.host, lab.folder / DISKS, needed, "the lab disks")


def _check_free(host: Host, path: Path, needed: int, what: str) -> None:
    free = host.files.free_space(path)
    if needed > free:
        raise DiskFull(
            f"{what} needs about {format_size(needed)} for copies of crash images and the disk under {path} has {format_size(free)} free",
            "choose a smaller LOGSIZE, remove crash images ('redolab images'), or KEEP=off to have one at a time",
        )


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

    @contextmanager
    def attached(self, name: str, image: CrashImage, images: ImageStore) -> Iterator[Place]:
        """While in it: the storage is there, with a copy of the image on it if it is modelled. Raises `LabError`."""
        profile = self._profiles[name]
        if isinstance(profile, ModelledDisk):
            disk = self._staged(image, images)
            with self._modelled(disk, name, profile) as modelled:
                yield modelled
        else:
            size = self._lab.host.files.folder_size(images.folder(image.name))
            with self._plain(name, profile, int(size * _REWRITTEN) + GIB) as place:
                yield place

    def prepare(self, name: str, image: CrashImage, images: ImageStore) -> None:
        """Make what `attached` needs and takes long, once for each image. Raises `LabError`."""
        if isinstance(self._profiles[name], ModelledDisk):
            self._overhead()
            self._staged(image, images)

    def overhead_from(self, checks: Iterable[DiskCheck]) -> None:
        """Take over what the disk model itself takes from checks that were made before."""
        for check in checks:
            if check.overhead_us is not None:
                self._overhead_ns = round(check.overhead_us * 1000)

    def release(self, image: str) -> None:
        """Remove the copy of an image that no recovery needs any more."""
        kept = self._disks.pop(image, None)
        if kept is not None:
            kept[1].close()

    def checks(self, names: Sequence[str]) -> Iterator[DiskCheck]:
        """These storages as they were asked for and as fio finds them, one after the other. Raises `LabError`."""
        if not names:
            return
        fio = self._fio()
        with ExitStack() as stack:
            disk = None
            if any(isinstance(self._profiles[name], ModelledDisk) for name in names):
                disk = self._check_disk(stack, fio)
                self._calibrate(disk, fio)
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
                about=profile.about,
                scheduler=profile.scheduler,
                asked=profile.asked(),
                got=got,
                overhead_us=self._overhead() / 1000,
            )
        size = FILE_SIZE if isinstance(profile, FolderStorage) else _TMPFS_FILE
        with self._plain(name, profile, 2 * size) as attached:
            folder = attached.folder / "fio"
            place = replace(attached, folder=folder)
            with self._lab.ledger.making(folder, f"fio's files on {name}"):
                self._lab.host.files.make_folder(folder)
                stage.say("writing its files")
                fio.write_files(place, size)
                got = fio.measure(place, stage, size=size)
        scheduler = None if place.device is None else place.device.scheduler()
        return DiskCheck(storage=name, about=profile.about, scheduler=scheduler, asked=AskedDisk(), got=got)

    def _modelled(self, disk: LabDisk, name: str, profile: ModelledDisk) -> AbstractContextManager[ModelledPlace]:
        overhead = self._overhead()
        return disk.modelled(name, built_disk_model(self._lab), profile.parameters(), profile.request_queue(), overhead)

    def _check_disk(self, stack: ExitStack, fio: Fio) -> LabDisk:
        """A lab disk with fio's files."""
        disk = stack.enter_context(self._new_disk("check", _CHECK_DISK))
        with self._lab.progress.stage("writing fio's files", "fio"), disk.natively() as folder:
            fio.write_files(Place(host=self._lab.host, name="check", folder=folder))
        return disk

    def _calibrate(self, disk: LabDisk, fio: Fio) -> None:
        """Measure what the disk model itself takes."""
        program = built_disk_model(self._lab)
        with self._lab.progress.stage("measuring what the disk model itself takes", "fio") as stage:
            self._overhead_ns = measure_overhead(fio, disk, program)
            stage.outcome = f"{self._overhead_ns / 1000:.0f} us a request, taken off its latencies"

    def _overhead(self) -> int:
        """Nanoseconds that the disk model itself takes, measured if they are not yet."""
        if self._overhead_ns is None:
            fio = self._fio()
            with ExitStack() as stack:
                self._calibrate(self._check_disk(stack, fio), fio)
        assert self._overhead_ns is not None
        return self._overhead_ns

    def _fio(self) -> Fio:
        self._lab.tools.require(["fio"], self._lab.progress)
        return Fio(self._lab.host, self._lab.tools.get("fio"))

    @contextmanager
    def _plain(self, name: str, profile: FolderStorage | TmpfsStorage, size: int) -> Iterator[Place]:
        host = self._lab.host
        if isinstance(profile, FolderStorage):
            with profile.attach(host, self._lab.folder) as folder:
                yield Place(host=host, name=name, folder=folder, device=BlockDevice.under(host, folder))
            return
        folder = self._lab.folder / DISKS / name
        with self._lab.ledger.making(folder, f"the storage {name}", mounted=True):
            host.files.make_folder(folder)
            host.run(Command(["mount", "-t", "tmpfs", "-o", f"size={size}", "redolab", str(folder)]))
            yield Place(host=host, name=name, folder=folder, direct=False)

    def _staged(self, image: CrashImage, images: ImageStore) -> LabDisk:
        """The lab disk with a copy of the image, which then lies on it at the storage's own speed."""
        if image.name in self._disks:
            return self._disks[image.name][0]
        size = self._lab.host.files.folder_size(images.folder(image.name))
        with ExitStack() as stack:
            disk = stack.enter_context(self._new_disk(image.name, size_for(size)))
            with (
                self._lab.progress.stage(f"putting {image.name} ({format_size(size)}) on its lab disk", "copy"),
                disk.natively() as folder,
            ):
                self._lab.host.files.copy_folder(images.data(image), folder / STAGED)
            self._disks[image.name] = (disk, stack.pop_all())
        return disk

    def _new_disk(self, name: str, size: int) -> AbstractContextManager[LabDisk]:
        self._lab.tools.require(["mkfs.xfs"], self._lab.progress)
        return LabDisk.made(self._lab.host, self._lab.ledger, self._lab.folder / DISKS / name, size)
