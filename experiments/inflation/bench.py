"""One instance under a stream of inserts, counted at every layer, for each group of the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import msgspec
from typing_extensions import override

from redolab.bench.kept_server import KeptServer
from redolab.errors import LabError
from redolab.lab import Lab
from redolab.models import sizes
from redolab.models.inflation import LogWriter
from redolab.runs.bench import Bench, Measured
from redolab.runs.plan import Plan, Planned, PlannedGroup, PlannedStep
from redolab.runs.room import Needs
from redolab.runs.store import Run
from redolab.samples.layers import LayerReader
from redolab.samples.log_layers import LogLayers
from redolab.servers.dialects import REDO, InstanceRequest, Purpose
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import Instance
from redolab.storage.loop import LoopDisk
from redolab.units import MIB, format_size
from redolab.workloads.inserts import EMPTY_TABLE, Inserted, insert

from .trial import InflationCell, InflationTrial

BUFFER_POOL = 512 * MIB
_DATA = 1024 * MIB
_WRITTEN_A_SECOND = 40 * MIB
"""Rows, and binary log, that the quickest server here was given by 64 clients."""
_NOT_INSTRUMENTED = "this version does not instrument the writes of its redo log"


class PlannedInstance(PlannedGroup, frozen=True, kw_only=True):
    """An instance that is started for some cells."""

    server: str
    binary_log: bool
    trx_commit: int


class PlannedInserts(PlannedStep, frozen=True, kw_only=True):
    """A stretch of inserts."""

    threads: int
    row_bytes: int
    rows_per_transaction: int
    seconds: int
    """For how long."""

    @override
    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """They all take the same time, that of the inserts and of coming to rest."""
        return [f"inserts for {self.seconds} s into {group[0]}", f"inserts for {self.seconds} s"]


class InflationConditions(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for the whole run."""

    log_size: int


InflationPlan: TypeAlias = Plan[PlannedInstance, PlannedInserts, InflationConditions]


@dataclass(frozen=True, slots=True)
class _Server:
    """A server with a data directory of its own, and the device on which its redo log lies alone, if there is one."""

    server: InstalledServer
    folder: Path
    disk: LoopDisk | None
    why_no_disk: str


@dataclass(frozen=True, slots=True)
class _Started:
    """An instance that takes inserts."""

    instance: Instance
    reader: LayerReader
    writer: LogWriter
    on: _Server
    kept: str
    """The hash under which the run keeps its settings and variables."""


class InflationBench(Bench[PlannedInstance, PlannedInserts, InflationTrial]):
    """Starts an instance for each group and inserts into it for each step."""

    brief = True

    def __init__(self, lab: Lab, plan: InflationPlan) -> None:
        self._lab = lab
        self._plan = plan
        self._kept = KeptServer(lab, "inflation", self._made)
        self._started: _Started | None = None

    @override
    def find(self, group: int, name: str | None) -> str | None:
        """An instance does not outlive its run."""
        return None

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        longest = max(planned.step.seconds for planned in self._plan.steps)
        logged = (
            max(
                (sum(planned.step.seconds for planned in self._plan.steps if planned.group == position))
                for position, group in enumerate(self._plan.groups)
                if group.binary_log
            )
            if any(group.binary_log for group in self._plan.groups)
            else 0
        )
        written = (longest + logged) * _WRITTEN_A_SECOND
        disk = sizes.log_disk(self._plan.conditions.log_size) + _DATA + written
        home, log = self._lab.home, format_size(self._plan.conditions.log_size)
        return Needs(
            memory=BUFFER_POOL,
            memory_for=f"a buffer pool of {format_size(BUFFER_POOL)}",
            disk={home: disk},
            disk_for={home: f"a server with a redo log of {log}"},
            remedy="choose a smaller LOGSIZE",
        )

    @contextmanager
    @override
    def opened(self, run: Run) -> Iterator[None]:
        """At its end no instance and no data directory is left."""
        with self._kept.opened():
            yield

    @override
    def make(self, group: int, run: Run) -> str:
        planned = self._plan.groups[group]
        on = self._kept.of(planned.server)
        # Set at the start: MariaDB decides then whether it writes its log past the page cache.
        request = replace(
            self._request(),
            redo_apart=on.disk is not None,
            binary_log=planned.binary_log,
            flush_log_at_trx_commit=planned.trx_commit,
        )
        name = f"{planned.server}{'-binlog' if planned.binary_log else ''}-commit{planned.trx_commit}"
        with self._lab.progress.stage(f"starting {planned.server}", "start") as stage, ExitStack() as stack:
            log = run.log(name)
            instance = stack.enter_context(Instance.start(on.server, on.folder, request, log))
            instance.wait_ready()
            stack.enter_context(instance.answering())
            connection = stack.enter_context(instance.connections.connect())
            used = instance.used(connection)
            kept = run.keep_once(used)
            reader = LayerReader(instance, connection, on.disk)
            self._started = _Started(instance, reader, on.server.dialect.log_writer(used.variables), on, kept)
            stage.say("warming up")
            # A server just started still allocates undo segments: what it writes for its first inserts is not counted.
            first = self._plan.steps[self._plan.positions(group)[0]].step
            self._insert_between_readings(self._started, first)
            self._kept.take(stack)
        return ""

    @override
    def measure(
        self,
        position: int,
        planned: Planned[PlannedInserts],
        name: str,
        run: Run,
        keep: Callable[[Measured[InflationTrial]], None],
    ) -> None:
        started = self._started
        assert started is not None
        group, step, server = self._plan.groups[planned.group], planned.step, started.on.server
        title = (
            f"inserting into {server.name}: {', '.join(f'{what} {value}' for what, value in step.described().items())}"
        )
        with self._lab.progress.stage(title, "measure", brief=True):
            before, inserted, after = self._insert_between_readings(started, step)
        trial = InflationTrial(
            server=server.name,
            version=server.version,
            cell=InflationCell(
                trx_commit=group.trx_commit,
                threads=step.threads,
                row_bytes=step.row_bytes,
                rows_per_transaction=step.rows_per_transaction,
                binary_log=group.binary_log,
            ),
            repeat=planned.repeat,
            seconds=inserted.seconds,
            commits=inserted.commits,
            before=before,
            after=after,
            log_writer=started.writer,
            why_blank=_why_blank(after, started.on.why_no_disk),
            instance=started.kept,
        )
        keep(Measured(trial))

    @override
    def release(self, group: int, name: str) -> None:
        """The instance is shut down cleanly, as the next starts on its data directory."""
        assert self._started is not None
        started, self._started = self._started, None
        self._kept.shut_down(started.instance)

    def _made(self, server: InstalledServer, folder: Path, stack: ExitStack) -> _Server:
        disk, why_not = _redo_disk(stack, server, folder, self._plan.conditions.log_size)
        with self._lab.progress.stage(f"making a data directory of {server.name}", "initialise"):
            initialise(server, folder, replace(self._request(), redo_apart=disk is not None))
        return _Server(server, folder, disk, why_not)

    def _request(self) -> InstanceRequest:
        log_size = self._plan.conditions.log_size
        return InstanceRequest(purpose=Purpose.MEASURE, log_size=log_size, buffer_pool=BUFFER_POOL)

    def _insert_between_readings(
        self, started: _Started, step: PlannedInserts
    ) -> tuple[LogLayers, Inserted, LogLayers]:
        """The layers, inserts into an empty table, the layers."""
        reader = started.reader
        with reader.connection.cursor() as cursor:
            for statement in EMPTY_TABLE:
                cursor.execute(statement)
        reader.settle()
        before = reader.read()
        folder = reader.instance.folder
        inserted = insert(
            self._lab.tools,
            folder,
            threads=step.threads,
            row_bytes=step.row_bytes,
            rows_per_transaction=step.rows_per_transaction,
            seconds=step.seconds,
            output=folder / "inserts.log",
        )
        return before, inserted, reader.read()


def _redo_disk(stack: ExitStack, server: InstalledServer, folder: Path, log_size: int) -> tuple[LoopDisk | None, str]:
    """A device for the redo log alone, or why there is none."""
    try:
        disk = LoopDisk.attached(folder / REDO, sizes.log_disk(log_size), server.sandbox.owner())
        return stack.enter_context(disk), ""
    except LabError as error:
        return None, error.problem


def _why_blank(layers: LogLayers, why_no_disk: str) -> Mapping[str, str]:
    why = {}
    if layers.device_bytes is None:
        why["device"] = why_no_disk
    if layers.file_bytes is None:
        why["file layer"] = _NOT_INSTRUMENTED
    return why
