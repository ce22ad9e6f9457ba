"""How many bytes a server writes for its redo: one instance under a stream of inserts, counted at every layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from redolab.crash import read_variables
from redolab.dataset import initialise
from redolab.errors import LabError
from redolab.lab import Lab
from redolab.log_layers import LayerReader, LogLayers
from redolab.models.counted import Growth
from redolab.models.inflation import Lengths, LogWriter
from redolab.progress import Stage
from redolab.servers.dialects import REDO, InstanceRequest, Purpose, Setting
from redolab.servers.install import InstalledServer
from redolab.servers.instance import Instance, prepare_folder
from redolab.storage.loop import LoopDisk
from redolab.units import MIB
from redolab.workloads.inserts import EMPTY_TABLE, Inserted, insert

BUFFER_POOL = 512 * MIB
_NOT_INSTRUMENTED = "this version does not instrument the writes of its redo log"


class InflationCell(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of the factors that can be changed on one server."""

    trx_commit: int
    threads: int
    row_bytes: int
    rows_per_transaction: int
    binary_log: bool


class InflationTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch of inserts, with the layers read on either side of it."""

    server: str
    version: str
    cell: InflationCell
    repeat: int
    seconds: float
    commits: int
    """As the clients counted them."""
    before: LogLayers
    after: LogLayers
    log_writer: LogWriter
    why_blank: Mapping[str, str]
    """Layer → why it is not counted."""

    def grown(self, layer: str) -> int | None:
        """By how much a layer's count grew; None where it does not count."""
        before, after = getattr(self.before, layer), getattr(self.after, layer)
        return None if before is None or after is None else after - before

    @property
    def growth(self) -> Growth:
        """What the model works with."""
        return Growth(
            lsn=self.after.lsn - self.before.lsn,
            os_log_written=self.after.os_log_written - self.before.os_log_written,
            log_writes=max(1, self.after.log_writes - self.before.log_writes),
            lengths=Lengths.EQUAL if self.cell.threads == 1 else Lengths.RANDOM,
        )


class UsedInstance(msgspec.Struct, frozen=True, kw_only=True):
    """What an instance was like: the lab's settings with their reasons, and all that the server says it used."""

    settings: tuple[Setting, ...]
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class InflationPlan:
    """What is measured on one server: every cell `repeat` times, for so many seconds each."""

    server: InstalledServer
    cells: Sequence[InflationCell]
    repeat: int
    seconds: int
    log_size: int


@dataclass(frozen=True, slots=True)
class Recorder:
    """Where what is measured goes."""

    trial: Callable[[InflationTrial], None]
    instance: Callable[[str, UsedInstance], None]
    log: Callable[[str], Path]
    """Name of an instance → where its error log goes."""


def disk_size(log_size: int) -> int:
    """Bytes of a file system that holds a redo log of so many bytes, and what a server makes beside it for a while."""
    return log_size + log_size // 4 + 128 * MIB


def measure_server(lab: Lab, storage: Path, plan: InflationPlan, recorder: Recorder, stage: Stage) -> Iterator[int]:
    """Measure all cells of a server, yielding the number of trials done after each. Raises `LabError`."""
    server = plan.server
    folder = storage / "instances" / f"{server.name}-inflation"
    base = InstanceRequest(purpose=Purpose.MEASURE, log_size=plan.log_size, buffer_pool=BUFFER_POOL)
    with lab.ledger.making(folder, f"the instance of {server.name} for the inflation experiment", mounted=True):
        prepare_folder(lab.host, server, folder, [])
        with _redo_disk(lab, server, folder, plan.log_size) as (disk, why_not):
            base = replace(base, redo_apart=disk is not None)
            stage.say(f"{server.name}: making a data directory")
            initialise(lab, server, folder, base)
            done = 0
            for binary_log in dict.fromkeys(cell.binary_log for cell in plan.cells):
                request = replace(base, binary_log=binary_log)
                cells = [cell for cell in plan.cells if cell.binary_log == binary_log]
                stage.say(f"{server.name}: starting")
                for trial in _measure_instance(lab, folder, plan, request, cells, disk, why_not, recorder):
                    recorder.trial(trial)
                    done += 1
                    yield done


@contextmanager
def _redo_disk(lab: Lab, server: InstalledServer, folder: Path, log_size: int) -> Iterator[tuple[LoopDisk | None, str]]:
    with ExitStack() as stack:
        try:
            owner = server.sandbox.owner(lab.host)
            disk = LoopDisk.attached(lab.host, folder / REDO, disk_size(log_size), owner)
            attached = stack.enter_context(disk)
        except LabError as error:
            yield None, error.problem
            return
        yield attached, ""


def _measure_instance(
    lab: Lab,
    folder: Path,
    plan: InflationPlan,
    request: InstanceRequest,
    cells: Sequence[InflationCell],
    disk: LoopDisk | None,
    why_no_disk: str,
    recorder: Recorder,
) -> Iterator[InflationTrial]:
    server = plan.server
    name = f"{server.name}{'-binlog' if request.binary_log else ''}"
    with Instance.start(lab.host, server, folder, request, recorder.log(name)) as instance:
        instance.wait_ready()
        with instance.answering(), instance.connections.connect() as connection:
            variables = read_variables(connection)
            settings = tuple(server.dialect.settings(request))
            recorder.instance(name, UsedInstance(settings=settings, variables=variables))
            writer = server.dialect.log_writer(variables)
            reader = LayerReader(instance, connection, disk)
            # A server just started still allocates undo segments: what it writes for its first inserts is not counted.
            _insert_between_readings(lab, reader, cells[0], plan.seconds)
            for repeat in range(1, plan.repeat + 1):
                for cell in cells:
                    before, inserted, after = _insert_between_readings(lab, reader, cell, plan.seconds)
                    yield InflationTrial(
                        server=server.name,
                        version=server.version,
                        cell=cell,
                        repeat=repeat,
                        seconds=inserted.seconds,
                        commits=inserted.commits,
                        before=before,
                        after=after,
                        log_writer=writer,
                        why_blank=_why_blank(after, why_no_disk),
                    )
        instance.shut_down()


def _insert_between_readings(
    lab: Lab, reader: LayerReader, cell: InflationCell, seconds: int
) -> tuple[LogLayers, Inserted, LogLayers]:
    """The layers, inserts into an empty table, the layers."""
    with reader.connection.cursor() as cursor:
        cursor.execute(f"SET GLOBAL innodb_flush_log_at_trx_commit = {cell.trx_commit}")
        for statement in EMPTY_TABLE:
            cursor.execute(statement)
    reader.settle()
    before = reader.read()
    folder = reader.instance.folder
    inserted = insert(
        lab.host,
        lab.tools,
        folder,
        threads=cell.threads,
        row_bytes=cell.row_bytes,
        rows_per_transaction=cell.rows_per_transaction,
        seconds=seconds,
        output=folder / "inserts.log",
    )
    return before, inserted, reader.read()


def _why_blank(layers: LogLayers, why_no_disk: str) -> dict[str, str]:
    why = {}
    if layers.device_bytes is None:
        why["device"] = why_no_disk
    if layers.file_bytes is None:
        why["file layer"] = _NOT_INSTRUMENTED
    return why
