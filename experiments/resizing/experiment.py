"""The experiment resizing: two sizes of the redo log, interleaved within one load."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from typing_extensions import override

from redolab.crash.bench.factors import several_storages, tables_size, workload_name
from redolab.crash.bench.storage_experiment import StorageConditions, StorageExperiment
from redolab.disks.catalogue import storage_profile
from redolab.disks.file_systems import AS_IS
from redolab.disks.profiles import FolderStorage, TmpfsStorage
from redolab.errors import InvalidInput
from redolab.results.turns import Resize, ResizingTrial, Turn
from redolab.runs.bench import GroupContext, StepContext
from redolab.runs.experiment import Noun
from redolab.runs.factors import several, whole_number
from redolab.runs.needs import Needs
from redolab.runs.options import Option
from redolab.runs.plan import PlannedGroup, PlannedStep
from redolab.runs.schema import Rows
from redolab.runs.store import Run
from redolab.runs.trial_results import Result
from redolab.servers import sizes
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.units import GIB, MIB, format_duration, format_size, parse_duration, parse_size

if TYPE_CHECKING:
    from redolab.crash.bench.watched_load import WatchedLoad

_SHORTEST = 5.0
_COMPARED = 2
_GROWN_A_SECOND = 4 * MIB
"""Fastest growth seen of TPC-C's tables and undo logs, in bytes a second."""
_FILE_SYSTEM = "xfs"
"""File system of a modelled disk."""


class Load(PlannedGroup, frozen=True, kw_only=True):
    """An instance under a load that continues until all its blocks are measured."""

    server: Annotated[
        str,
        Option("Servers that resize their redo log while they run, with commas.", server_names, "mysql-9,mariadb-11.8"),
    ]
    storage: Annotated[str, several_storages("local")]
    workload: Annotated[str, Option("The load.", workload_name, "tpcc", single=True)]
    connections: Annotated[int, Option("Clients, each with a connection.", whole_number(1, 1024), "8", single=True)]
    trx_commit: Annotated[int, Option("innodb_flush_log_at_trx_commit.", whole_number(0, 2), "1", single=True)]
    tables_bytes: Annotated[
        int,
        Option(
            "Size of the tables (default: a tenth more than the larger log).",
            parse_size,
            None,
            single=True,
            name="dataset",
        ),
    ]
    pool_bytes: Annotated[
        int,
        Option(
            "Buffer pool (default: one that holds the tables and what is added to them).",
            parse_size,
            None,
            single=True,
            name="pool",
        ),
    ]

    @property
    def file_system(self) -> str:
        """File system of the storage: a folder's own, or one that is made on a modelled disk."""
        return AS_IS if isinstance(storage_profile(self.storage), FolderStorage) else _FILE_SYSTEM


class Block(PlannedStep, frozen=True, kw_only=True):
    """Turns of log sizes, in order."""

    block: int
    sizes: tuple[int, ...]
    """Bytes of the log in each turn."""
    seconds: float
    """Seconds of a turn, including the time to settle."""

    @override
    def described(self) -> dict[str, str]:
        turns = ", ".join(format_size(size) for size in self.sizes)
        return {"block": str(self.block), "turns": f"{turns} ({format_duration(self.seconds)} each)"}

    @override
    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """Return keys without the order of sizes: every order takes as long."""
        turns = f"{len(self.sizes)} turns of {self.seconds} s"
        return [f"{turns} of {group[0]}", turns]


class Conditions(StorageConditions, frozen=True, kw_only=True):
    """Conditions of the whole run; sizes in bytes, times in seconds."""

    log_sizes: Annotated[
        tuple[int, ...],
        Option(
            "The two redo log sizes to compare, with a comma. Each of REPEAT blocks has four turns: one size, twice "
            "the other, the first again.",
            several(parse_size),
            "256M,4G",
            name="log_size",
        ),
    ]
    warehouses: Annotated[int | None, Option("Warehouses of TPC-C, instead of DATASET.", whole_number(1, 30_000), None)]
    seconds: Annotated[float, Option("How long each turn is measured.", parse_duration, "90s")]
    settling: Annotated[
        float, Option("How long clients run before each measurement, with the log at its size.", parse_duration, "30s")
    ]
    warm_up: Annotated[float, Option("How long clients run after the start, to fill the pool.", parse_duration, "3m")]


class Resizing(StorageExperiment[Load, Block, Conditions, "WatchedLoad", ResizingTrial]):
    """Loads within which the redo log's size changes, block after block.

    Each block ends with the size it began with: a steady drift of the load then affects both sizes alike.
    """

    question = (
        "What does a larger redo log gain within one load, and what do clients meet while a running server gets it?"
    )
    group_noun = Noun("load", "loads")
    step_noun = Noun("block", "blocks")
    repeat = "5"
    in_given_order = True

    @classmethod
    @override
    def cells(cls, factors: Any) -> Mapping[Load, Sequence[Block]]:
        _check(factors)
        small, large = sorted(factors.log_size)
        blocks = [
            Block(block=number, sizes=(first, other, other, first), seconds=factors.seconds + factors.settling)
            for number in range(1, factors.repeat + 1)
            for first, other in [(small, large) if number % 2 else (large, small)]
        ]
        tables = tables_size(factors.workload, factors.warehouses, factors.dataset, large)
        loads = [
            Load(
                server=server,
                storage=storage,
                workload=factors.workload,
                connections=factors.connections,
                trx_commit=factors.trx_commit,
                tables_bytes=tables,
                pool_bytes=factors.pool or sizes.fill_pool(tables, large),
            )
            for server, storage in itertools.product(factors.server, factors.storage)
        ]
        return dict.fromkeys(loads, blocks)

    @classmethod
    @override
    def rows(cls, run: Run) -> Rows:
        """Return a row for each turn."""
        return [(each.record, _turn_row(each, turn)) for each in cls.results(run) for turn in each.trial.turns]

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        """Return memory for the pool, and room for the tables, a copy of them, both logs and growth under load."""
        from redolab.crash.bench.own_disk import disk_needs

        disk = disk_needs(self.lab, self.conditions.storages, self._instance_size)
        disk[self.lab.home] = disk.get(self.lab.home, 0) + self._tables_size
        return Needs(
            memory=self.plan.groups[0].pool_bytes,
            disk=disk,
            disk_for=dict.fromkeys(disk, "the tables, a copy of them, and what clients add"),
            remedy="choose a smaller DATASET, WAREHOUSES or POOL, or fewer blocks (REPEAT)",
        )

    @contextmanager
    @override
    def group(self, group: Load, at: GroupContext) -> Iterator[WatchedLoad]:
        """Run clients on a server whose log has the first size, and fill its pool."""
        from redolab.crash.bench.started_server import server_folder, server_on_dataset
        from redolab.crash.bench.watched_load import WatchedLoad
        from redolab.crash.dataset import make_tables
        from redolab.servers.dialects import InstanceRequest, Purpose
        from redolab.workloads.catalogue import workload_catalogue
        from redolab.workloads.data import Clients

        server, workload = self.lab.server(group.server), workload_catalogue().get(group.workload)
        tables = make_tables(self.lab, server, workload, group.tables_bytes)
        request = InstanceRequest(
            purpose=Purpose.PRODUCTION,
            log_size=self.plan.steps[0].step.sizes[0],
            buffer_pool=group.pool_bytes,
            flush_log_at_trx_commit=group.trx_commit,
            network=workload.network,
        )
        name = f"{group.server}-resizing"
        clients = Clients(connections=group.connections)
        with (
            self.storages.empty(group.storage, self._instance_size, group.file_system) as place,
            server_folder(self.lab, server, name, place.folder) as folder,
            server_on_dataset(self.lab, at.run, server, folder, request, tables) as started,
            place.limited(),
            workload.run(
                self.lab.tools, started.instance, tables.spec.data, clients, folder / "clients.log"
            ) as running,
            WatchedLoad(started, place, running).sampled() as load,
        ):
            with self.lab.progress.stage(f"filling the pool of {server.name}", "start") as stage:
                load.watch(self.conditions.warm_up, stage)
            yield load

    @override
    def measure(self, group: Load, step: Block, made: WatchedLoad, at: StepContext[ResizingTrial]) -> ResizingTrial:
        from redolab.machine.processor_use import disturbance, processor_times

        from .load import measured_turn, settle

        title = f"{group.server} on {group.storage}: block {step.block}"
        with (
            self.lab.progress.stage(title, "measure") as stage,
            made.place.blamed(),
            made.started.instance.answering(),
        ):
            others, turns, resizes = processor_times(), list[Turn](), list[Resize]()
            for size in step.sizes:
                resizes += settle(made, size, self.conditions.settling, stage)
                turns.append(measured_turn(made, size, self.conditions.seconds, stage))
            stage.outcome = ", ".join(f"{format_size(each.log_size_bytes)} {each.rate:,.0f}" for each in turns)
            return ResizingTrial(
                version=made.started.instance.server.version,
                counts_new_orders=made.counts_new_orders,
                turns=tuple(turns),
                resizes=tuple(resizes),
                instance=made.started.digest,
                disturbance=disturbance(others, processor_times()),
            )

    @property
    def _tables_size(self) -> int:
        return sizes.data_directory(self.plan.groups[0].tables_bytes, max(self.conditions.log_sizes))

    @property
    def _instance_size(self) -> int:
        """Bytes of an instance, with all that clients add to its tables."""
        blocks = [self.plan.steps[position].step for position in self.plan.positions(0)]
        loaded_s = self.conditions.warm_up + sum(len(each.sizes) * each.seconds for each in blocks)
        return self._tables_size + min(self.conditions.log_sizes) + round(loaded_s * _GROWN_A_SECOND) + GIB


def _check(factors: Any) -> None:
    """Raise `InvalidInput` for factors that cannot be measured."""
    from redolab.crash.bench.checks import check_lasts, check_load
    from redolab.crash.bench.factors import check_log_sizes

    count, largest = len(factors.log_size), max(factors.log_size)
    if count != _COMPARED:
        raise InvalidInput(f"{count} sizes cannot take turns", "give LOGSIZE two, as in 256M,4G")
    check_log_sizes(factors.server, factors.log_size)
    if odd := [size for size in factors.log_size if size % MIB]:
        raise InvalidInput(
            f"a running server rounds a redo log of {format_size(odd[0])}", "give LOGSIZE whole megabytes"
        )
    for name in factors.server:
        if server_catalogue().get(name).dialect().resizing(largest).statement is None:
            raise InvalidInput(
                f"{name} changes the size of its redo log only at a start", "choose MySQL 8.0.30, MariaDB 10.9 or later"
            )
    if factors.pool is not None:
        sizes.check_pool(factors.pool)
    check_load(factors.workload, warehouses=factors.warehouses, dataset=factors.dataset, think_time=False)
    check_lasts("a turn", factors.seconds, _SHORTEST)
    for name in factors.storage:
        if isinstance(storage_profile(name), TmpfsStorage):
            raise InvalidInput(f"a load of an hour does not fit into memory ({name})", "choose a disk")


def _turn_row(result: Result[Load, Block, ResizingTrial], turn: Turn) -> dict[str, object]:
    """Return a turn with all its figures (docs/run-data.md)."""
    row = {**msgspec.structs.asdict(result.group), "version": result.trial.version, **msgspec.structs.asdict(turn)}
    row["notpm" if result.trial.counts_new_orders else "commits_per_second"] = row.pop("rate")
    return row
