"""A load on a recorded disk. The recording yields every crash state that a power cut could have left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from redolab.clock import now
from redolab.crash.dataset import copy_dataset, make_tables
from redolab.disks.attaching import DISKS
from redolab.disks.disk_model import DiskModel
from redolab.disks.file_systems import MADE_BY
from redolab.disks.lab_disk import LabDisk
from redolab.disks.loop import make_file_system, mounted
from redolab.disks.profiles import Cache
from redolab.lab import Lab
from redolab.machine import files
from redolab.powercut.images import share_blocks
from redolab.powercut.ledger import Ledger, read_ledger
from redolab.powercut.recording import Recording, read_recording
from redolab.powercut.replica import reading_as_replica
from redolab.powercut.window import CutWindow, WindowTimes, after_load, of_start
from redolab.progress import Stage
from redolab.servers.dialects import InstanceRequest
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance
from redolab.units import GIB, MIB
from redolab.workloads.data import Clients, Defines
from redolab.workloads.ledger import NOTES, ROWS_EACH, LedgerWorkload

CHECKS = {"xfs": ("xfs_repair", "-n"), "ext4": ("e2fsck", "-fn")}
"""Name → what looks whether one is whole, and changes nothing."""
INSTANCE = "instance"
"""The instance's folder on the disk."""
BASE, RECORDING = "base", "recording"
"""Names in the folder of a recorded load: the disk before the load, and the folder of the recorded requests."""
_TABLES_SIZE = 16 * MIB
_DISK_SIZE = GIB
_ROOM_SIZE = 24 * GIB
"""Size in bytes of the lab disk whose files, themselves disks, share their blocks."""
_LOG = "server.log"
_LOOK = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLoad:
    """Results of a recorded load, in a folder on a file system that can share blocks."""

    folder: Path
    recording: Recording
    ledger: Ledger
    file_system: str
    began: int
    """Time at which all clients had begun, in nanoseconds of CLOCK_MONOTONIC. Cuts lie between `began` and `ended`."""
    ended: int
    killed: int
    """Time at which the server was gone, by SIGKILL. Clients received no answers after it."""

    @classmethod
    def read(
        cls, folder: Path, defines: Defines, file_system: str, began: int, ended: int, killed: int
    ) -> RecordedLoad:
        """Read the recording and the ledger in a folder. Raises `LabError`."""
        return cls(
            folder=folder,
            recording=read_recording(folder / RECORDING),
            ledger=read_ledger(folder / NOTES, ROWS_EACH, defines),
            file_system=file_system,
            began=began,
            ended=ended,
            killed=killed,
        )

    @property
    def base(self) -> Path:
        """Path of the disk before the recording: its file system was unmounted cleanly."""
        return self.folder / BASE

    @property
    def kept(self) -> Path:
        """Path of the folder of the recording."""
        return self.folder / RECORDING


def mount_options(file_system: str) -> str:
    """Return the mount options for a crash state, which may be mounted beside others of the same recording."""
    return "noatime,nouuid" if file_system == "xfs" else "noatime"


@contextmanager
def cut_room(lab: Lab) -> Iterator[Path]:
    """Yield a folder on a lab disk whose files share blocks. Raises `LabError` if this machine cannot have one."""
    folder = lab.folder / DISKS / "power-cuts"
    with LabDisk.made(lab.journal, folder, _ROOM_SIZE) as disk, disk.natively() as room:
        yield room


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedLoad:
    """Description of a load to record."""

    server: InstalledServer
    workload: LedgerWorkload
    request: InstanceRequest
    clients: Clients
    seconds: float
    parameters: Sequence[str]
    """Parameters of the disk model."""
    cache: Cache
    file_system: str
    replica: bool = False
    """True if a replica reads the binary log meanwhile."""
    window: CutWindow = CutWindow.LOAD


def record(lab: Lab, program: Path, room: Path, wanted: WantedLoad, stage: Stage) -> RecordedLoad:
    """Put a server under load on a recorded disk, and kill it; `room`: an empty folder where files share blocks.

    With another window than the load, the load comes first and what the window is about after it. Raises `LabError`.
    """
    mountpoint, kept = room / "mounted", room / RECORDING
    stage.say("making its disk")
    _make_disk(lab, wanted, room / "disk", mountpoint)
    share_blocks(room / "disk", room / BASE)
    stage.say("starting its server")
    files.make_folder(kept)
    files.make_folder(room / NOTES)
    parameters = [f"recording={kept}", *wanted.parameters]

    def start() -> Instance:
        return Instance.start(wanted.server, mountpoint / INSTANCE, wanted.request, room / _LOG)

    with DiskModel.serving(program, room / "disk", room / "model", parameters, room / "model.log") as model:
        with (
            mounted(model.file, mountpoint, mount_options(wanted.file_system)) as device,
            device.as_volatile(wanted.cache.volatile),
        ):
            if wanted.window is CutWindow.FIRST_START:
                model.tell("limits on")
                times = of_start(start)
            else:
                with start() as instance:
                    instance.wait_ready()
                    model.tell("limits on")
                    times = _under_load(lab, room, wanted, instance, stage)
                    if wanted.window is not CutWindow.LOAD:
                        times = after_load(wanted.window, instance, start)
            model.tell("limits off")
        model.tell("keep")
    defines, file_system = wanted.workload.defines, wanted.file_system
    return RecordedLoad.read(room, defines, file_system, times.began, times.ended, times.gone)


def _under_load(lab: Lab, room: Path, wanted: WantedLoad, instance: Instance, stage: Stage) -> WindowTimes:
    """Run clients for a while. Where the cuts lie in the load, kill the server before the clients are stopped."""
    with ExitStack() as stack:
        checks = [instance.check_running]
        if wanted.replica:
            checks.append(stack.enter_context(reading_as_replica(instance, room / NOTES, room / "replica.log")))
        clients = wanted.workload.run(
            lab.tools, instance, wanted.workload.data(0), wanted.clients, room / "clients.log"
        )
        checks.append(stack.enter_context(clients).check_running)
        began = time.monotonic_ns()
        _wait(wanted.seconds, checks, stage)
        ended = time.monotonic_ns()
        if wanted.window in (CutWindow.LOAD, CutWindow.RECOVERY):
            instance.kill()
    return WindowTimes(began, ended, time.monotonic_ns())


def _make_disk(lab: Lab, wanted: WantedLoad, disk: Path, mountpoint: Path) -> None:
    """Make a disk with the server's instance on it, shut down cleanly, or for a first start only initialised."""
    make_file_system(disk, _DISK_SIZE, MADE_BY[wanted.file_system])
    folder = mountpoint / INSTANCE
    if wanted.window is CutWindow.FIRST_START:
        with mounted(disk, mountpoint):
            files.make_folder(folder)
            initialise(wanted.server, folder, wanted.request)
        return
    dataset = make_tables(lab, wanted.server, wanted.workload, _TABLES_SIZE).folder
    with mounted(disk, mountpoint):
        copy_dataset(wanted.server, dataset / DATA, folder)
        # A clean start makes the server's own redo log. It must not be part of the recording.
        with Instance.start(wanted.server, folder, wanted.request, disk.with_name("first-start.log")) as instance:
            instance.wait_ready()
            instance.shut_down()


def _wait(seconds: float, checks: Sequence[Callable[[], None]], stage: Stage) -> None:
    """Wait for `seconds`. Raises `LabError` if a server or program has ended before."""
    began = now().monotonic
    while (gone := now().monotonic - began) < seconds:
        for check in checks:
            check()
        stage.advance(gone, seconds, f"recording, {gone:.0f} of {seconds:.0f} s")
        time.sleep(min(_LOOK, seconds - gone))
