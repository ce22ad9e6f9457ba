"""A load on a disk that is recorded: what every power cut during it could have left can be made from what it keeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from redolab.clock import now
from redolab.crashes.dataset import make_dataset
from redolab.errors import LabError, WorkloadFailed
from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.machine.tools import Tools
from redolab.powercut.encryption import Encryption
from redolab.powercut.guest.machine import CLIENT, Guest, as_in_guest, booted, system_disk
from redolab.powercut.images import DiskImages, share_blocks
from redolab.powercut.ledger import Ledger, has_acknowledgement, read_ledger
from redolab.powercut.recording import Recording, read_recording
from redolab.powercut.replica import reading_as_replica
from redolab.powercut.states import DiskState, History
from redolab.progress import Progress, Stage
from redolab.records.dataset import DatasetSpec
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.storage.attaching import DISKS
from redolab.storage.disk_model import DiskModel
from redolab.storage.file_systems import MADE_BY
from redolab.storage.lab_disk import LabDisk
from redolab.storage.loop import attached, make_file_system, mounted
from redolab.storage.profiles import Cache
from redolab.units import GIB
from redolab.workloads.contract import RunningWorkload
from redolab.workloads.data import DATABASE, Clients, LedgerTables
from redolab.workloads.ledger import ACCOUNTS, ENTRIES, NOTES, PARTS, LedgerWorkload

CHECKS = {"xfs": ("xfs_repair", "-n"), "ext4": ("e2fsck", "-fn")}
"""Name → what looks whether one is whole, and changes nothing."""
INSTANCE = "instance"
"""The instance's folder on the disk."""
BASE, RECORDING = "base", "recording"
"""Of a recorded load: the disk before it, and the folder of what was asked of it."""
_DISK_SIZE = GIB
_ROOM_SIZE = 24 * GIB
"""Of the lab disk on which disks lie as files that share their blocks."""
_LOG = "server.log"
_LOOK = 0.2
_FIRST_COMMIT_WITHIN = 120.0
_TRIES = 3
"""Of clients to be let into a guest."""
_READY_WITHIN = 900.0
"""Seconds: a machine that is emulated takes a minute to boot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedLoad:
    """What a recorded load has left, in a folder on a file system that can share blocks."""

    folder: Path
    base: Path
    """The disk before the recording: its file system was unmounted cleanly."""
    recording: Recording
    ledger: Ledger
    notes: Path
    """The folder of what clients noted."""
    data: LedgerTables
    file_system: str
    began: int
    """When clients had begun, and when the server was ended, in nanoseconds of CLOCK_MONOTONIC: cuts lie in between."""
    ended: int
    killed: int
    """When the server was gone, by SIGKILL, or its machine: no client was told anything later."""

    @property
    def kept(self) -> Path:
        """The folder of the recording."""
        return self.folder / RECORDING


def mount_options(file_system: str) -> str:
    """With which a state is mounted: beside others of the same recording."""
    return "noatime,nouuid" if file_system == "xfs" else "noatime"


@contextmanager
def cut_room(lab: Lab) -> Iterator[Path]:
    """While in it: a folder on a lab disk on which files share blocks. Raises `LabError` where this machine can have none."""
    folder = lab.folder / DISKS / "power-cuts"
    with LabDisk.made(lab.journal, folder, _ROOM_SIZE) as disk, disk.natively() as room:
        yield room


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedLoad:
    """A load that is to be recorded."""

    server: InstalledServer
    workload: LedgerWorkload
    dataset: DatasetSpec
    data: LedgerTables
    request: InstanceRequest
    clients: Clients
    seconds: float
    parameters: Sequence[str]
    """Of the disk model."""
    cache: Cache
    file_system: str
    first: Sequence[str] = ()
    """Statements to run before the recording."""
    replica: bool = False
    """Whether a replica reads the binary log meanwhile."""
    guest: Guest | None = None
    """The virtual machine in which the server runs; None: on this one."""
    encryption: Encryption | None = None
    """With which the tables are encrypted before the recording; its settings are among those of `request`."""


def record(lab: Lab, program: Path, room: Path, wanted: WantedLoad, stage: Stage) -> RecordedLoad:
    """Put a server under load on a disk that is recorded, and end it; `room`: an empty folder where files share blocks.

    In a guest it ends with a cut of the power of disk and machine. Raises `LabError`.
    """
    disk, mountpoint = room / "disk", room / "mounted"
    dataset = make_dataset(lab, lab.home, wanted.server, wanted.workload, wanted.dataset)
    stage.say("making its disk")
    make_file_system(disk, _DISK_SIZE, MADE_BY[wanted.file_system])
    with mounted(disk, mountpoint):
        folder = mountpoint / INSTANCE
        prepare_folder(wanted.server, folder)
        files.remove(folder / DATA)
        copies.copy_folder(dataset.folder / DATA, folder / DATA)
        for log_file in wanted.server.dialect.old_log_files:
            files.remove(folder / DATA / log_file)
        if wanted.encryption is not None:
            wanted.encryption.put(folder)
        # Its own log is made by a clean start, which is none of what is recorded.
        with Instance.start(wanted.server, folder, wanted.request, room / "first-start.log") as instance:
            instance.wait_ready()
            if wanted.encryption is not None:
                _encrypt(instance, wanted.encryption)
            if wanted.guest is not None:
                instance.open_to_network(CLIENT)
            for statement in wanted.first:
                with instance.answering(), instance.connections.connect() as connection, connection.cursor() as cursor:
                    cursor.execute(statement)
            instance.shut_down()
        if wanted.guest is not None:
            prepare_folder(wanted.server, folder, as_in_guest(wanted.request))
    share_blocks(disk, room / BASE)
    stage.say("starting its server" if wanted.guest is None else "booting its machine")
    with _recorded(program, room, wanted) as (model, instance):
        instance.wait_ready(_READY_WITHIN)
        model.tell("limits on")
        output = room / "clients.log"
        with ExitStack() as stack:
            checks = [instance.check_running]
            if wanted.replica:
                checks.append(stack.enter_context(reading_as_replica(instance, room / NOTES, room / "replica.log")))
            run = wanted.workload.run if wanted.guest is None else partial(let_in, lab.progress, wanted.workload)
            clients = run(lab.tools, instance, wanted.data, wanted.clients, output)
            checks.append(stack.enter_context(clients).check_running)
            began = _nanoseconds()
            _wait(wanted.seconds, checks, stage)
            ended = _nanoseconds()
            if wanted.guest is None:
                instance.kill()
            else:
                # The disk's goes first: of what the machine still held back nothing is to reach it.
                model.tell("cut")
                instance.end()
            killed = _nanoseconds()
        model.tell("limits off")
    return _left(
        room, wanted, read_ledger(room / NOTES, PARTS, wanted.workload.defines), room / NOTES, (began, ended, killed)
    )


def record_recovery(
    program: Path, room: Path, wanted: WantedLoad, load: RecordedLoad, history: History, state: DiskState
) -> RecordedLoad:
    """Recover a state of a recorded load on a disk that is recorded again, until it is ready; cuts lie in the recovery.

    `room`: an empty folder where files share blocks. The ledger is that of the load. Raises `LabError`.
    """
    with DiskImages(history, load.base, load.kept).image(state, room / "disk"):
        share_blocks(room / "disk", room / BASE)
        recovering = replace(wanted, request=replace(wanted.request, purpose=Purpose.RECOVER))
        began = _nanoseconds()
        with _recorded(program, room, recovering) as (model, instance):
            model.tell("limits on")
            instance.wait_ready()
            ended = _nanoseconds()
            instance.kill()
            killed = _nanoseconds()
            model.tell("limits off")
    return _left(room, wanted, load.ledger, load.notes, (began, ended, killed))


def _encrypt(instance: Instance, encryption: Encryption) -> None:
    with instance.answering(), instance.connections.connect() as connection, connection.cursor() as cursor:
        for table in (ENTRIES, ACCOUNTS):
            cursor.execute(f"ALTER TABLE {DATABASE}.{table} {encryption.of_table}")
        cursor.execute(
            f"SELECT COUNT(*) FROM information_schema.{encryption.encrypted} AND NAME LIKE '{DATABASE}/ledger%'"
        )
        (count,) = cursor.fetchone() or (0,)
    if count != len((ENTRIES, ACCOUNTS)):
        raise LabError(
            f"{instance.server.name} has encrypted {count} of its tables",
            "see its log, or leave VARIATION=encrypted out",
        )


@contextmanager
def _recorded(program: Path, room: Path, wanted: WantedLoad) -> Iterator[tuple[DiskModel, Instance]]:
    """While in it: the server runs on the disk in a room, and all that is asked of that disk is kept."""
    kept = room / RECORDING
    files.make_folder(kept)
    loses = [] if wanted.guest is None else wanted.cache.parameters()
    parameters = [f"recording={kept}", *loses, *wanted.parameters]
    with DiskModel.serving(program, room / "disk", room / "model", parameters, room / "model.log") as model:
        where = (
            _on_this_machine(model, room, wanted) if wanted.guest is None else _in(wanted.guest, model, room, wanted)
        )
        with where as instance:
            yield model, instance
        model.tell("keep")


@contextmanager
def _on_this_machine(model: DiskModel, room: Path, wanted: WantedLoad) -> Iterator[Instance]:
    mountpoint = room / "mounted"
    with (
        mounted(model.file, mountpoint, mount_options(wanted.file_system)) as device,
        device.as_volatile(wanted.cache.volatile),
        Instance.start(wanted.server, mountpoint / INSTANCE, wanted.request, room / _LOG) as instance,
    ):
        yield instance


@contextmanager
def _in(guest: Guest, model: DiskModel, room: Path, wanted: WantedLoad) -> Iterator[Instance]:
    system, request = room / "system", as_in_guest(wanted.request)
    system_disk(wanted.server, system)
    with attached(model.file) as device, device.as_volatile(wanted.cache.volatile):
        disk = Path("/dev") / device.name
        command = booted(guest, wanted.server, request, system=system, disk=disk, file_system=wanted.file_system)
        with Instance.start_guest(wanted.server, room, request, room / _LOG, command) as instance:
            yield instance


def _left(room: Path, wanted: WantedLoad, ledger: Ledger, notes: Path, times: tuple[int, int, int]) -> RecordedLoad:
    began, ended, killed = times
    return RecordedLoad(
        folder=room,
        base=room / BASE,
        recording=read_recording(room / RECORDING),
        ledger=ledger,
        notes=notes,
        data=wanted.data,
        file_system=wanted.file_system,
        began=began,
        ended=ended,
        killed=killed,
    )


def _nanoseconds() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


@contextmanager
def let_in(
    progress: Progress,
    workload: LedgerWorkload,
    tools: Tools,
    instance: Instance,
    data: LedgerTables,
    clients: Clients,
    output: Path,
) -> Iterator[RunningWorkload]:
    """While in it: clients of a server in a guest, of which one has committed.

    They are started anew if they ended before any had sent a thing: sysbench gives up after 30 s, and an emulated machine may
    not have let all of them in by then. Raises `LabError`.
    """
    notes = output.with_name(NOTES)
    for tries_left in reversed(range(_TRIES)):
        with workload.run(tools, instance, data, clients, output) as running:
            try:
                _wait_for_commit(notes, [instance.check_running, running.check_running])
            except WorkloadFailed:
                if not tries_left or any(file.stat().st_size for file in notes.iterdir()):
                    raise
            else:
                yield running
                return
        progress.note("no client was let in: once more")
        files.remove(notes)


def _wait_for_commit(notes: Path, checks: Sequence[Callable[[], None]]) -> None:
    """Wait until a client had a commit acknowledged: an emulated machine takes seconds to let clients in. Raises `LabError`."""
    deadline = now().monotonic + _FIRST_COMMIT_WITHIN
    while not any(has_acknowledgement(file.read_text()) for file in notes.iterdir()):
        for check in checks:
            check()
        if now().monotonic > deadline:
            raise LabError(
                f"no commit was acknowledged within {_FIRST_COMMIT_WITHIN:.0f} s",
                "is the machine busy with other work?",
            )
        time.sleep(_LOOK)


def _wait(seconds: float, checks: Sequence[Callable[[], None]], stage: Stage) -> None:
    """Raises `LabError` if what is checked has ended before that."""
    began = now().monotonic
    while (gone := now().monotonic - began) < seconds:
        for check in checks:
            check()
        stage.advance(gone, seconds, f"recording, {gone:.0f} of {seconds:.0f} s")
        time.sleep(min(_LOOK, seconds - gone))
