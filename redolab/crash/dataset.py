"""Loading of datasets, and copies of them on which servers start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from pymysql.connections import Connection

from redolab.clock import now
from redolab.crash.dataset_store import DATASET_MARK, Dataset, dataset_folder, find_dataset
from redolab.crash.records.dataset import OPEN_TRANSACTION_TABLE, DatasetSpec
from redolab.errors import FindingsMade, WorkloadFailed
from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.progress import Stage
from redolab.servers.dialects import InstanceRequest, Purpose, Setting
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.units import GIB, MIB, format_size
from redolab.workloads.contract import Workload
from redolab.workloads.data import DATABASE

# A log that is large against the dataset would be copied along with it at every fill.
_SMALLEST_LOAD_LOG = 16 * MIB
_LARGEST_LOAD_LOG = 512 * MIB
_LOAD_POOL = 1 * GIB
_SOMETIMES = 100
_ERROR_LOG = "error.log"
_LOAD_LOG = "load.log"

_IN_SYSTEM_TABLESPACE = Setting("innodb_file_per_table", "0", "as asked: all tables in the system tablespace")


def make_dataset(lab: Lab, server: InstalledServer, workload: Workload, spec: DatasetSpec) -> Dataset:
    """Return the dataset; load it if it does not exist. Raises `LabError`; a half-made dataset is never kept."""
    if there := find_dataset(lab.home, spec):
        lab.progress.note(f"dataset {spec.key}: {format_size(there.size)}, made earlier")
        return there
    folder = dataset_folder(lab.home, spec.key)
    making = folder.with_name(f"{spec.key}.partial")
    title = f"loading {format_size(spec.size)} into {spec.server}"
    with (
        lab.journal.making(making, f"the half-made dataset {spec.key}"),
        lab.progress.stage(title, "load") as stage,
    ):
        _load(lab, server, workload, spec, making, stage)
        for name in files.names(making):
            if name not in (DATA, _ERROR_LOG):
                files.remove(making / name)
        files.write_whole(making / DATASET_MARK, msgspec.json.encode(spec))
        files.remove_marked(folder, DATASET_MARK)
        files.move(making, folder)
    dataset = find_dataset(lab.home, spec)
    assert dataset is not None
    return dataset


def make_tables(lab: Lab, server: InstalledServer, workload: Workload, size: int) -> Dataset:
    """Return a dataset of `size` bytes in the lab's own storage; load it if it does not exist. Raises `LabError`."""
    workload.require(lab)
    spec = DatasetSpec(
        server=server.name,
        version=server.version,
        size=size,
        data=workload.data(size),
        open_transaction_rows=0,
    )
    return make_dataset(lab, server, workload, spec)


def copy_dataset(server: InstalledServer, data: Path, folder: Path, *, durable: bool = True) -> None:
    """Make an instance folder with a copy of a dataset's data directory, on which a server starts with a log of any size.

    `durable`: see `copy_folder`.
    """
    prepare_folder(server, folder)
    files.remove(folder / DATA)
    copies.copy_folder(data, folder / DATA, durable=durable)
    for log_file in server.dialect.old_log_files:
        files.remove(folder / DATA / log_file)


def _load(lab: Lab, server: InstalledServer, workload: Workload, spec: DatasetSpec, folder: Path, stage: Stage) -> None:
    request = InstanceRequest(
        purpose=Purpose.LOAD,
        log_size=max(_SMALLEST_LOAD_LOG, min(_LARGEST_LOAD_LOG, spec.size // 4)),
        buffer_pool=_LOAD_POOL,
        flush_log_at_trx_commit=2,
        page_size=spec.page_size,
        network=workload.network,
        overrides=() if spec.own_files else (_IN_SYSTEM_TABLESPACE,),
    )
    initialise(server, folder, request)
    with Instance.start(server, folder, request, folder / _ERROR_LOG) as instance:
        instance.wait_ready()
        with instance.answering(), instance.connections.connect() as connection:
            _make_schema(connection, spec, workload.schema(spec.data))
            _make_empty_tables(connection, spec.empty_tables, stage)
        if workload.network:
            instance.open_to_network()
        _load_tables(lab, instance, workload, spec, stage)
        _finish(instance, workload.finish(spec.data))
        _check_loaded(instance, workload, spec, stage)
        stage.say("shutting down cleanly")
        instance.shut_down()


def _make_schema(connection: Connection, spec: DatasetSpec, of_workload: Sequence[str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {DATABASE}")
        cursor.execute(f"USE {DATABASE}")
        for statement in (*filter(str.strip, spec.schema.split(";")), *of_workload):
            cursor.execute(statement)
        cursor.execute("SET autocommit = 0")
        batch = 10_000
        for first in range(0, spec.open_transaction_rows, batch):
            ids = range(first, min(first + batch, spec.open_transaction_rows))
            values = ",".join(f"({number},0,'')" for number in ids)
            cursor.execute(f"INSERT INTO {OPEN_TRANSACTION_TABLE} VALUES {values}")
        connection.commit()


def _make_empty_tables(connection: Connection, count: int, stage: Stage) -> None:
    with connection.cursor() as cursor:
        for number in range(1, count + 1):
            cursor.execute(f"CREATE TABLE {DATABASE}.empty_{number} (id INT NOT NULL PRIMARY KEY) ENGINE=InnoDB")
            if number % _SOMETIMES == 0:
                stage.advance(number, count, f"{number:,} of {count:,} empty tables")


def _load_tables(lab: Lab, instance: Instance, workload: Workload, spec: DatasetSpec, stage: Stage) -> None:
    loading = workload.load(lab.tools, instance, spec.data, instance.folder / _LOAD_LOG)
    try:
        while (status := loading.wait(0.2)) is None:
            instance.check_running()
            # The tables' files grow with their rows, so the disk shows the progress.
            loaded = files.folder_size(instance.folder / DATA / DATABASE)
            stage.advance(loaded, spec.size, f"{format_size(loaded)} of about {format_size(spec.size)}")
    finally:
        loading.stop()
    if status != 0:
        last_lines = [line.text for line in loading.lines(now().monotonic)][-8:]
        raise WorkloadFailed(
            f"the tables could not be loaded (status {status})", "the last lines are below", last_lines
        )


def _finish(instance: Instance, statements: Sequence[str]) -> None:
    with instance.answering(), instance.connections.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"USE {DATABASE}")
        for statement in statements:
            cursor.execute(statement)
            cursor.fetchall()


def _check_loaded(instance: Instance, workload: Workload, spec: DatasetSpec, stage: Stage) -> None:
    """Raise `FindingsMade` if the tables are wrong right after they were loaded."""
    with instance.answering(), instance.connections.connect() as connection:
        checks = workload.check_loaded(connection, spec.data, stage.advance)
    wrong = [f"{check.what}: {check.found} instead of {check.expected}" for check in checks if not check.passed]
    if wrong:
        raise FindingsMade(
            f"{spec.server} holds other tables than were loaded into it",
            "nothing of them is kept; what is wrong is below, what the loading program said above it",
            [*_last_lines(instance.folder / _LOAD_LOG), *wrong],
        )


def _last_lines(log: Path) -> Sequence[str]:
    return log.read_text(errors="replace").splitlines()[-8:]
