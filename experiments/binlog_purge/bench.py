"""An instance for each group of the plan, on a storage with a file system; binary logs removed from it under load for each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

from redolab.clock import now
from redolab.lab import Lab
from redolab.machine import files
from redolab.progress import Stage
from redolab.runs.needs import Needs
from redolab.runs.old_bench import Measured, OldBench
from redolab.runs.plan import Planned
from redolab.runs.store import Run
from redolab.servers.dialects import InstanceRequest, Purpose, Setting
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.storage.attaching import DISKS, Storages, check_possible
from redolab.storage.catalogue import storage_profile
from redolab.storage.file_systems import AS_IS, check_file_system
from redolab.storage.folder import attached_folder
from redolab.storage.place import Place
from redolab.storage.profiles import FolderStorage
from redolab.units import GIB, MIB, format_size
from redolab.workloads.paced import PacedRun, paced_tables, paced_updates

from .binary_logs import FILLER, BinaryLogs, RemovalMoments, forget, prepared
from .planned import PlannedInstance, PlannedRemoval, PurgePlan
from .trial import PurgeCell, PurgeTrial, Removal
from .waits import removal_times, stretch

_POOL = 128 * MIB
_REDO = 128 * MIB
_SERVER = 2 * GIB
"""What an instance takes beside its binary logs."""
_WARM_UP = 2.0
_AFTERWARDS = 1.0
"""Seconds for which clients are looked at after a removal, however long it took."""
_BEHIND = 120.0
_QUIET = 10.0
_CACHE = Setting("binlog_cache_size", str(MIB), "what fills the files is not to go through temporary files")


@dataclass(frozen=True, slots=True)
class _Started:
    """An instance that takes statements."""

    server: InstalledServer
    instance: Instance
    place: Place
    logs: BinaryLogs
    notes: Path


class PurgeBench(OldBench[PlannedInstance, PlannedRemoval, PurgeTrial]):
    """The bench of purges of binary logs under load."""

    brief = True

    def __init__(self, lab: Lab, plan: PurgePlan) -> None:
        super().__init__(lab, plan)
        self._lab = lab
        self._plan = plan
        self._profiles = {group.storage: storage_profile(group.storage) for group in plan.groups}
        self._storages = Storages(lab, self._profiles)
        self._of_group = ExitStack()
        self._started: _Started | None = None

    @override
    def check(self, positions: Sequence[int]) -> None:
        check_possible(self._profiles)
        groups = [self._plan.groups[self._plan.steps[position].group] for position in positions]
        for name in dict.fromkeys(group.file_system for group in groups if group.file_system != AS_IS):
            check_file_system(self._lab, self._lab.folder / DISKS / f"trial-{name}", name)

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        needed: dict[Path, int] = {}
        for profile in self._profiles.values():
            folder = Path(profile.path) if isinstance(profile, FolderStorage) else self._lab.home
            needed[folder if folder.is_absolute() else self._lab.home] = self._disk_size()
        return Needs(
            memory=_POOL,
            memory_for=f"a buffer pool of {format_size(_POOL)}",
            disk=needed,
            disk_for=dict.fromkeys(needed, f"a server with {format_size(self._plan.conditions.purged)} of binary logs"),
            remedy="choose a smaller PURGED",
        )

    @contextmanager
    @override
    def opened(self, run: Run) -> Iterator[None]:
        """At its end no instance and no disk is left."""
        with self._storages, self._of_group:
            yield

    @override
    def make(self, group: int, run: Run) -> str:
        planned = self._plan.groups[group]
        server = self._lab.server(planned.server)
        name = f"{planned.server}-{planned.storage.strip('/').replace('/', '-')}-{planned.file_system}"
        what = f"starting {planned.server} on {planned.file_system} of {planned.storage}"
        with self._lab.progress.stage(what, "start") as stage, ExitStack() as stack:
            notes = self._lab.home / "instances" / "binlog-purge-notes"
            stack.enter_context(self._lab.journal.making(notes, "the notes of clients"))
            files.make_folder(notes)
            stage.say("making its disk")
            place = stack.enter_context(self._place(planned))
            folder = place.folder / planned.server if planned.file_system != AS_IS else place.folder
            stage.say("making a data directory")
            request = _request()
            prepare_folder(server, folder)
            initialise(server, folder, request)
            instance = stack.enter_context(Instance.start(server, folder, request, run.log(name)))
            instance.wait_ready()
            stack.enter_context(instance.answering())
            connection = stack.enter_context(instance.connections.connect())
            with connection.cursor() as cursor:
                for statement in (*paced_tables(self._plan.conditions.clients), *FILLER):
                    cursor.execute(statement)
            run.keep_once(instance.used(connection))
            self._started = _Started(server, instance, place, BinaryLogs(connection, folder / DATA), notes)
            self._of_group.push(stack.pop_all())
        return ""

    @override
    def measure_at(
        self,
        position: int,
        planned: Planned[PlannedRemoval],
        name: str,
        run: Run,
        keep: Callable[[Measured[PurgeTrial]], None],
    ) -> None:
        started, conditions = self._started, self._plan.conditions
        assert started is not None
        group = self._plan.groups[planned.group]
        cell = PurgeCell(
            server=group.server,
            storage=group.storage,
            file_system=group.file_system,
            removal=planned.step.removal,
            file_size=planned.step.file_size,
            purged=conditions.purged,
            cached=conditions.cached,
        )
        title = f"{group.server}, {group.file_system} of {group.storage}: {cell.files_in_words}, {cell.removal}"
        with self._lab.progress.stage(title, "measure", brief=True) as stage, started.place.blamed():
            keep(Measured(self._trial(started, cell, planned.repeat, stage)))

    def _trial(self, started: _Started, cell: PurgeCell, repeat: int, stage: Stage) -> PurgeTrial:
        conditions, logs = self._plan.conditions, started.logs
        written, took = logs.write(
            cell.file_size,
            cell.files,
            lambda size: stage.advance(size, cell.purged, f"{format_size(size)} of binary logs"),
        )
        if cell.removal is Removal.ROTATION:
            logs.expire(written)
        if not cell.cached:
            forget(written)
        lying = prepared(written, took)
        if started.place.device is not None:
            started.place.device.wait_quiet(_QUIET)
        with (
            started.place.limited(),
            paced_updates(
                self._lab.tools,
                started.instance.folder,
                started.notes,
                clients=conditions.clients,
                rate=conditions.rate,
            ) as clients,
        ):
            stage.say("clients write")
            look = started.instance.check_running
            began = now().monotonic + _WARM_UP
            clients.wait(began + conditions.seconds, look)
            stage.say("the files are removed")
            asked = now().monotonic
            moments = self._removed(started, cell, written, clients)
            ended = max(asked + conditions.seconds, moments.ended + _AFTERWARDS)
            clients.wait(ended, look)
            clients.wait_answered(ended, _BEHIND, look)
            statements = clients.statements()
        return PurgeTrial(
            cell=cell,
            version=started.server.version,
            repeat=repeat,
            rate=conditions.rate,
            clients=conditions.clients,
            files=lying,
            quiet=stretch(statements, began, asked),
            removing=stretch(statements, asked, ended),
            removal=removal_times(statements, moments.began, moments.ended, ended),
        )

    def _removed(
        self, started: _Started, cell: PurgeCell, written: Sequence[Path], clients: PacedRun
    ) -> RemovalMoments:
        if cell.removal is Removal.PURGE:
            return started.logs.purge(written)

        def look() -> None:
            clients.check_running()
            started.instance.check_running()

        return started.logs.rotate(written, look)

    @override
    def release(self, group: int, name: str) -> None:
        """The instance goes with all it lies on."""
        self._started = None
        self._of_group.close()

    @contextmanager
    def _place(self, planned: PlannedInstance) -> Iterator[Place]:
        """Where the instance is to lie: an empty lab disk, or a folder of its own on the file system that is there."""
        profile = self._profiles[planned.storage]
        if planned.file_system != AS_IS:
            with self._storages.empty(planned.storage, self._disk_size(), planned.file_system) as place:
                yield place
            return
        assert isinstance(profile, FolderStorage)
        with attached_folder(profile, self._lab.folder, self._lab.journal) as under:
            folder = under / "instances" / f"{planned.server}-binlog-purge"
            what = f"the instance of {planned.server} for the removal of binary logs"
            with self._lab.journal.making(folder, what):
                files.make_folder(folder)
                # The disk is not the instance's alone: others would keep it from being quiet.
                yield Place(name=planned.storage, folder=folder)

    def _disk_size(self) -> int:
        """Of an instance's disk: half of it stays free, as a full one would break up the files."""
        return 2 * self._plan.conditions.purged + _SERVER


def _request() -> InstanceRequest:
    return InstanceRequest(
        purpose=Purpose.PRODUCTION,
        log_size=_REDO,
        buffer_pool=_POOL,
        binary_log=True,
        sync_binlog=1,
        overrides=(_CACHE,),
    )
