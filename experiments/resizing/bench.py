"""Starts a load for each group, and for each step measures a block of turns within it, the log's size changed between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pymysql.connections import Connection
from typing_extensions import override

from redolab.clock import now
from redolab.crashes.dataset import make_dataset
from redolab.errors import WorkloadFailed
from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.machine.processor_use import disturbance, processor_times
from redolab.models import sizes
from redolab.progress import Stage
from redolab.records.dataset import DatasetSpec
from redolab.records.turns import (
    PlannedBlock,
    PlannedLoad,
    Resize,
    ResizingCell,
    ResizingConditions,
    ResizingPlan,
    ResizingTrial,
    Turn,
)
from redolab.results.load_figures import load_figures
from redolab.runs.needs import Needs
from redolab.runs.old_bench import Measured, OldBench
from redolab.runs.plan import Planned
from redolab.runs.store import Run
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.storage.attaching import Storages, check_possible
from redolab.storage.catalogue import storage_profile
from redolab.storage.file_systems import AS_IS
from redolab.storage.place import Place
from redolab.storage.profiles import FolderStorage
from redolab.units import GIB, MIB, format_duration, format_size
from redolab.workloads.catalogue import workload_catalogue
from redolab.workloads.contract import Workload
from redolab.workloads.data import Clients

from .load import WatchedLoad, size_in_force

_GROWN_A_SECOND = 4 * MIB
"""By which TPC-C's tables and undo logs were seen to grow at most."""
_FILE_SYSTEM = "xfs"
"""Of a modelled disk."""


@dataclass(frozen=True, slots=True)
class _Started:
    """An instance under load."""

    server: InstalledServer
    load: WatchedLoad
    connection: Connection
    place: Place
    kept: str
    """The hash under which the run keeps its settings and variables."""


class ResizingBench(OldBench[PlannedLoad, PlannedBlock, ResizingTrial]):
    """The bench of changes of the log size under load."""

    def __init__(self, lab: Lab, plan: ResizingPlan) -> None:
        super().__init__(lab, plan)
        self._lab = lab
        self._plan = plan
        self._conditions: ResizingConditions = plan.conditions
        self._profiles = {group.cell.storage: storage_profile(group.cell.storage) for group in plan.groups}
        self._storages = Storages(lab, self._profiles)
        self._of_group = ExitStack()
        self._started: _Started | None = None

    @override
    def check(self, positions: Sequence[int]) -> None:
        check_possible(self._profiles)

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        """The tables, a copy of them, both logs, and what the clients add."""
        cells = [self._plan.groups[self._plan.steps[position].group].cell for position in positions]
        pool = max(cell.pool for cell in cells)
        needed: dict[Path, int] = {self._lab.home: 0}
        for cell in cells:
            profile = self._profiles[cell.storage]
            folder = Path(profile.path) if isinstance(profile, FolderStorage) else self._lab.home
            home = folder if folder.is_absolute() else self._lab.home
            needed[home] = max(needed.get(home, 0), self._disk_size(cell))
        needed[self._lab.home] += max(sizes.data_directory(cell.tables, cell.large) for cell in cells)
        return Needs(
            memory=pool,
            memory_for=f"a buffer pool of {format_size(pool)}",
            disk=needed,
            disk_for=dict.fromkeys(needed, "the tables, a copy of them, and what clients add"),
            remedy="choose a smaller DATASET, WAREHOUSES or POOL, or fewer blocks (REPEAT)",
        )

    @contextmanager
    @override
    def opened(self, run: Run) -> Iterator[None]:
        """At its end no instance and no disk is left."""
        with self._storages, self._of_group:
            yield

    @override
    def make(self, group: int, run: Run) -> str:
        """The tables, the server with the first size of the log, and the load, its pool filled."""
        cell = self._plan.groups[group].cell
        first = self._plan.steps[self._plan.positions(group)[0]].step.sizes[0]
        server, workload = self._lab.server(cell.server), workload_catalogue().get(cell.workload)
        dataset = make_dataset(self._lab, self._lab.home, server, workload, _spec(server, workload, cell))
        request = _request(cell, first, network=workload.network)
        with ExitStack() as stack:
            place, folder = stack.enter_context(self._place(cell))
            prepare_folder(server, folder)
            with self._lab.progress.stage(f"copying the tables ({format_size(dataset.size)})", "copy"):
                copies.copy_folder(dataset.folder / DATA, folder / DATA, durable=False)
                for log_file in server.dialect.old_log_files:
                    files.remove(folder / DATA / log_file)
            stack.enter_context(place.limited())
            with self._lab.progress.stage(f"starting {server.name} and filling its pool", "start") as stage:
                instance = stack.enter_context(
                    Instance.start(server, folder, request, run.log(f"{group:03}-{server.name}"))
                )
                instance.wait_ready()
                stack.enter_context(instance.answering())
                connection = stack.enter_context(instance.connections.connect())
                kept = run.keep_once(instance.used(connection))
                output = folder / "clients.log"
                clients = Clients(connections=cell.connections)
                running = stack.enter_context(
                    workload.run(self._lab.tools, instance, dataset.spec.data, clients, output)
                )
                load = WatchedLoad(instance, running, place.device)
                sampling = stack.enter_context(instance.connections.connect())
                stack.enter_context(load.sampled(sampling))
                load.watch(self._conditions.warm_up, stage)
            self._started = _Started(server, load, connection, place, kept)
            self._of_group.push(stack.pop_all())
        return ""

    @override
    def measure_at(
        self,
        position: int,
        planned: Planned[PlannedBlock],
        name: str,
        run: Run,
        keep: Callable[[Measured[ResizingTrial]], None],
    ) -> None:
        started, cell = self._started, self._plan.groups[planned.group].cell
        assert started is not None
        title = f"{cell.server} on {cell.storage}: block {planned.step.block}"
        with (
            self._lab.progress.stage(title, "measure") as stage,
            started.place.blamed(),
            started.load.instance.answering(),
        ):
            started.load.forget()
            others, turns, resizes = processor_times(), list[Turn](), list[Resize]()
            for size in planned.step.sizes:
                resizes += self._settled(started, size, stage)
                turns.append(self._turn(started, cell, size, stage))
            trial = ResizingTrial(
                cell=cell,
                version=started.server.version,
                counts_new_orders=started.load.moments[-1].new_orders_per_second is not None,
                turns=tuple(turns),
                resizes=tuple(resizes),
                instance=started.kept,
                disturbance=disturbance(others, processor_times()),
            )
            stage.outcome = ", ".join(f"{format_size(each.log_size)} {each.rate:,.0f}" for each in turns)
        keep(Measured(trial))

    @override
    def release(self, group: int, name: str) -> None:
        """The instance goes with all it lies on."""
        self._started = None
        self._of_group.close()

    def _settled(self, started: _Started, size: int, stage: Stage) -> list[Resize]:
        """The change to that size, none where the log has it; the load has settled then."""
        settling, before = self._conditions.settling, size_in_force(started.connection, started.load.instance)
        if before == size:
            started.load.watch(settling, stage)
            return []
        stage.say(f"the log gets {format_size(size)}")
        return [started.load.resize(started.connection, before, size, settling, stage)]

    def _turn(self, started: _Started, cell: ResizingCell, size: int, stage: Stage) -> Turn:
        load, dialect = started.load, started.server.dialect
        load.watch(self._conditions.seconds, stage)
        capacity = dialect.capacity(dialect.layout(size))
        ended = now().monotonic
        figures = load_figures(
            load.moments, list(load.samples), list(load.machine), capacity, self._conditions.seconds, ended
        )
        if figures is None or not figures.rate.mean:
            raise WorkloadFailed(
                f"{cell.server} ended no transaction within {format_duration(self._conditions.seconds)}",
                "see its log in the run's folder",
            )
        ages = [
            each.checkpoint_age
            for each in load.samples
            if each.monotonic > ended - self._conditions.seconds and each.checkpoint_age is not None
        ]
        return Turn(
            log_size=size,
            seconds=figures.seconds,
            rate=figures.rate.mean,
            latency_95_ms=figures.latency_95_ms,
            worst_second=figures.worst_second,
            age=sum(ages) / len(ages) if ages else None,
            redo_per_second=figures.redo_per_second,
            pages_per_commit=figures.pages_per_commit,
            device_per_commit=figures.device_per_commit,
            cpu_share=figures.cpu_share,
        )

    @contextmanager
    def _place(self, cell: ResizingCell) -> Iterator[tuple[Place, Path]]:
        """Where the instance is to lie, and its folder there."""
        as_is = isinstance(self._profiles[cell.storage], FolderStorage)
        with self._storages.empty(cell.storage, self._disk_size(cell), AS_IS if as_is else _FILE_SYSTEM) as place:
            folder = place.folder / "instances" / f"{cell.server}-resizing"
            with self._lab.journal.making(folder, f"the instance of {cell.server} for the resizing experiment"):
                files.make_folder(folder.parent)
                yield place, folder

    def _disk_size(self, cell: ResizingCell) -> int:
        turns = sum(
            len(planned.step.sizes) * planned.step.seconds
            for planned in self._plan.steps
            if self._plan.groups[planned.group].cell == cell
        )
        grown = round((turns + self._conditions.warm_up) * _GROWN_A_SECOND)
        return sizes.data_directory(cell.tables, cell.large) + cell.small + grown + GIB


def _spec(server: InstalledServer, workload: Workload, cell: ResizingCell) -> DatasetSpec:
    return DatasetSpec(
        server=server.name,
        version=server.version,
        size=cell.tables,
        data=workload.data(cell.tables),
        open_transaction_rows=0,
    )


def _request(cell: ResizingCell, log_size: int, *, network: bool) -> InstanceRequest:
    return InstanceRequest(
        purpose=Purpose.PRODUCTION,
        log_size=log_size,
        buffer_pool=cell.pool,
        flush_log_at_trx_commit=cell.trx_commit,
        network=network,
    )
