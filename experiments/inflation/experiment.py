"""The experiment inflation: a stream of inserts, counted at every layer between the LSN and the disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from typing_extensions import override

from redolab.counters.counted import LogLayers
from redolab.crash.bench.factors import check_log_sizes, several_servers
from redolab.errors import InvalidInput, LabError
from redolab.report.quantities import quantity
from redolab.runs.bench import GroupContext, StepContext
from redolab.runs.experiment import Experiment, Noun
from redolab.runs.factors import whole_number
from redolab.runs.needs import Needs
from redolab.runs.options import Option
from redolab.runs.plan import PlannedGroup, PlannedStep
from redolab.runs.planned_cells import crossed, one_at_a_time
from redolab.runs.schema import Trial
from redolab.servers import sizes
from redolab.servers.log_writer import Lengths, LogWriter
from redolab.units import MIB, format_size, parse_size

if TYPE_CHECKING:
    from redolab.counters.layers import LayerReader
    from redolab.crash.bench.started_server import StartedServer
    from redolab.workloads.inserts import Inserted

BUFFER_POOL = 512 * MIB
SMALLEST_LOG = 64 * MIB
"""Smallest redo log in bytes. With a smaller one, pages would have to be flushed while rows are inserted."""
_DATA = 1024 * MIB
_WRITTEN_A_SECOND = 40 * MIB
"""Bytes of rows and binary log that 64 clients gave the quickest server here."""


class Server(PlannedGroup, frozen=True, kw_only=True):
    """A server that is started for some windows of inserts."""

    server: Annotated[str, several_servers("all")]
    trx_commit: Annotated[
        int, Option("Values of innodb_flush_log_at_trx_commit, with commas.", whole_number(0, 2), "1,2,0")
    ]
    binary_log: Annotated[bool, Option("The binary log: off, on, or both with a comma.", None, "off,on")]


class Inserts(PlannedStep, frozen=True, kw_only=True):
    """A window of inserts."""

    threads: Annotated[int, Option("Numbers of clients, with commas.", whole_number(1, 64), "1,4,16,64")]
    row_bytes: Annotated[
        int, Option("Bytes of data in a row, with commas.", whole_number(1, 60_000), "100,10,500,2000")
    ]
    rows_per_transaction: Annotated[
        int, Option("Rows of a transaction, with commas.", whole_number(1, 1000), "1,10", name="rows")
    ]
    seconds: Annotated[
        int, Option("For how many seconds rows are inserted for each.", whole_number(1, 3600), "1", single=True)
    ]

    @property
    def lengths(self) -> Lengths:
        """Lengths of log writes: one client's are equal, those of several vary as their commits coincide."""
        return Lengths.EQUAL if self.threads == 1 else Lengths.RANDOM

    @override
    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """Return keys by which all steps have the same cost: the time of the inserts and of coming to rest."""
        return [f"inserts for {self.seconds} s into {group[0]}", f"inserts for {self.seconds} s"]


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of the whole run."""

    log_size: Annotated[int, Option("Redo log size.", parse_size, "512M")]
    cross: Annotated[
        bool,
        Option("off: from the first values one factor at a time is changed; on: every combination.", None, "off"),
    ] = False


class InflationTrial(Trial, frozen=True, kw_only=True):
    """A window of inserts, with the layers read before and after it."""

    version: str
    inserts_s: float = msgspec.field(name="seconds")
    commits: int
    """Commits, as the clients counted them."""
    before: LogLayers
    after: LogLayers
    log_writer: LogWriter
    why_blank: Mapping[str, str]
    """Layer → why it is not counted."""
    instance: str = ""
    """Hash under which the run keeps the server's settings and variables; empty in runs of format 1."""

    @property
    @quantity("os_log_written/LSN")
    def ratio(self) -> float:
        """Bytes of os_log_written for each byte by which the LSN grew."""
        return (self.after.os_log_written - self.before.os_log_written) / self.lsn_bytes

    @property
    @quantity("r", "B", places=0)
    def lsn_per_log_write(self) -> float:
        """Bytes of LSN in a write of the log."""
        return self.lsn_bytes / self.log_writes

    @property
    @quantity("device/LSN")
    def device_ratio(self) -> float | None:
        """Bytes sent to the device for each byte by which the LSN grew."""
        grown = self.grown("device_bytes")
        return None if grown is None else grown / self.lsn_bytes

    @property
    def lsn_bytes(self) -> int:
        """Bytes by which the LSN grew."""
        return self.after.lsn - self.before.lsn

    @property
    def log_writes(self) -> int:
        """Writes of the log."""
        return max(1, self.after.log_writes - self.before.log_writes)

    @override
    def details(self) -> Mapping[str, object]:
        layers = ("os_log_written", "log_padded", "file_bytes", "file_writes", "device_bytes")
        grown = {
            layer if layer.startswith(("file", "device")) else f"{layer}_bytes": self.grown(layer) for layer in layers
        }
        return {"lsn_bytes": self.lsn_bytes, "log_writes": self.log_writes, **grown}

    def grown(self, layer: str) -> int | None:
        """Return by how much a layer's count grew; None where it does not count."""
        before, after = getattr(self.before, layer), getattr(self.after, layer)
        return None if before is None or after is None else after - before


@dataclass(frozen=True, slots=True)
class CountedServer:
    """A server that takes inserts, and the reader of its layers."""

    started: StartedServer
    reader: LayerReader
    why_no_device: str


class Inflation(Experiment[Server, Inserts, Conditions, CountedServer, InflationTrial]):
    """Inserts into a server whose redo log lies alone on a device."""

    question = (
        "How far is Innodb_os_log_written from the growth of the LSN, what does it count, and what reaches the disk?"
    )
    group_noun = Noun("instance", "instances")
    step_noun = Noun("trial", "trials")
    brief = True

    @classmethod
    @override
    def refuse(cls, group: Server, step: Inserts, conditions: Conditions) -> None:
        size = conditions.log_size
        if size < SMALLEST_LOG:
            raise InvalidInput(
                f"a redo log of {format_size(size)} is too small", f"give it {format_size(SMALLEST_LOG)} or more"
            )
        check_log_sizes([group.server], [size])

    @classmethod
    @override
    def combinations(cls, values: Mapping[str, Sequence[Any]], conditions: Conditions) -> Sequence[Mapping[str, Any]]:
        if conditions.cross:
            return crossed(values)
        others = {name: each for name, each in values.items() if name != "server"}
        return [{"server": server, **each} for server in values["server"] for each in one_at_a_time(others)]

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        steps = self.plan.steps
        longest = max(each.step.seconds for each in steps)
        logged = [
            sum(steps[position].step.seconds for position in self.plan.positions(number))
            for number, group in enumerate(self.plan.groups)
            if group.binary_log
        ]
        written = (longest + max(logged, default=0)) * _WRITTEN_A_SECOND
        home, log = self.lab.home, self.conditions.log_size
        return Needs(
            memory=BUFFER_POOL,
            disk={home: sizes.log_disk(log) + _DATA + written},
            disk_for={home: f"a server with a redo log of {format_size(log)}"},
            remedy="choose a smaller LOGSIZE",
        )

    @contextmanager
    @override
    def group(self, group: Server, at: GroupContext) -> Iterator[CountedServer]:
        from redolab.counters.layers import LayerReader
        from redolab.crash.bench.started_server import server_folder, started_server
        from redolab.disks.loop import LoopDisk
        from redolab.servers.dialects import REDO, InstanceRequest, Purpose

        server, log_size = self.lab.server(group.server), self.conditions.log_size
        name = f"{group.server}-inflation{'-binlog' if group.binary_log else ''}-commit{group.trx_commit}"
        with server_folder(self.lab, server, name) as folder, ExitStack() as stack:
            disk, why_not = None, ""
            try:
                disk = stack.enter_context(
                    LoopDisk.attached(folder / REDO, sizes.log_disk(log_size), server.sandbox.owner())
                )
            except LabError as error:
                why_not = error.problem
            request = InstanceRequest(
                purpose=Purpose.MEASURE,
                log_size=log_size,
                buffer_pool=BUFFER_POOL,
                # MariaDB decides at the start whether it writes its log past the page cache.
                redo_apart=disk is not None,
                binary_log=group.binary_log,
                flush_log_at_trx_commit=group.trx_commit,
            )
            started = stack.enter_context(started_server(self.lab, at.run, server, folder, request))
            counted = CountedServer(started, LayerReader(started.instance, started.connection, disk), why_not)
            # A server just started still allocates undo segments: what it writes for its first inserts is not counted.
            self._insert(counted, self.plan.steps[self.plan.positions(at.group)[0]].step)
            yield counted

    @override
    def measure(
        self, group: Server, step: Inserts, made: CountedServer, at: StepContext[InflationTrial]
    ) -> InflationTrial:
        server = made.started.instance.server
        words = ", ".join(f"{name} {value}" for name, value in step.described().items())
        with self.lab.progress.stage(f"inserting into {server.name}: {words}", "measure", brief=True):
            before, inserted, after = self._insert(made, step)
        not_counted = {
            "device": made.why_no_device if after.device_bytes is None else "",
            "file layer": "not instrumented by this version" if after.file_bytes is None else "",
        }
        return InflationTrial(
            version=server.version,
            inserts_s=inserted.seconds,
            commits=inserted.commits,
            before=before,
            after=after,
            log_writer=server.dialect.log_writer(made.started.used.variables),
            why_blank={layer: why for layer, why in not_counted.items() if why},
            instance=made.started.digest,
        )

    def _insert(self, made: CountedServer, step: Inserts) -> tuple[LogLayers, Inserted, LogLayers]:
        """Insert into an empty table. Return the layers before, the clients' counts, and the layers after."""
        from redolab.workloads.inserts import EMPTY_TABLE, insert

        folder = made.started.instance.folder
        with made.started.instance.answering():
            made.started.execute(*EMPTY_TABLE)
            made.reader.settle()
            before = made.reader.read()
            inserted = insert(
                self.lab.tools,
                folder,
                threads=step.threads,
                row_bytes=step.row_bytes,
                rows_per_transaction=step.rows_per_transaction,
                seconds=step.seconds,
                output=folder / "inserts.log",
            )
            return before, inserted, made.reader.read()
