"""Datasets: loaded, cleanly shut-down data directories, kept and reused."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import xxhash
from pymysql.connections import Connection

from redolab.errors import CommandFailed, ServerFailed, WorkloadFailed
from redolab.hosts import Command
from redolab.lab import Lab
from redolab.progress import Stage
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, OPTIONS, Instance, prepare_folder
from redolab.servers.sandbox import INSTANCE
from redolab.units import GIB, MIB, format_size
from redolab.workloads import DATABASE, Tables
from redolab.workloads.sysbench import load_tables

SMALLEST_DATASET = 16 * MIB
_DEFAULT_SHARE = 2
_SMALLEST_FILL_POOL = 128 * MIB
_POOL_STEP = 64 * MIB
_SMALLEST_DEFAULT = 64 * MIB
TABLE_COUNT = 16
"""Enough for the clients not to meet on one table's index, and for one table to be a quick sample to check."""

# What a row of sysbench's table takes on disk with its secondary index: 16 M rows made 4.0 GB (MariaDB 10.11).
_BYTES_PER_ROW = 250
_LOAD_THREADS = 4
# A log that is large against the dataset would be copied along with it at every fill.
_SMALLEST_LOAD_LOG = 16 * MIB
_LARGEST_LOAD_LOG = 512 * MIB
_LOAD_POOL = 1 * GIB

OPEN_TRANSACTION_TABLE = f"{DATABASE}.open_transaction"
"""Rows for the transaction that is open at the crash: apart from the workload's, whose clients would wait for its locks."""
PROBE_TABLE = f"{DATABASE}.probe"
"""Where the first write after a recovery goes."""

_SCHEMA = f"""
CREATE TABLE {OPEN_TRANSACTION_TABLE} (id INT NOT NULL PRIMARY KEY, changed TINYINT NOT NULL, filler CHAR(100) NOT NULL) ENGINE=InnoDB;
CREATE TABLE {PROBE_TABLE} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, written TIMESTAMP NOT NULL) ENGINE=InnoDB;
"""


class DatasetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a dataset: two of equal specs are the same."""

    server: str
    version: str
    size: int
    """Bytes asked for."""
    open_transaction_rows: int
    schema: str = _SCHEMA
    table_count: int = TABLE_COUNT
    bytes_per_row: int = _BYTES_PER_ROW

    @property
    def tables(self) -> Tables:
        """The workload's tables that come to about this size."""
        return Tables(self.table_count, max(1, self.size // self.bytes_per_row // self.table_count))

    @property
    def key(self) -> str:
        """Its name on the disk."""
        return f"{self.server}-{format_size(self.size)}-{xxhash.xxh3_64_hexdigest(msgspec.json.encode(self))[:8]}"


def default_dataset_size(log_size: int) -> int:
    """Bytes of tables for a redo log of so many bytes.

    Half of the log, so that random updates of all of it dirty about as many distinct pages as a log of that size can:
    4 GB of tables had 220,000 dirty pages (3.4 GiB) when an 8 GiB log was full.
    """
    return max(_SMALLEST_DEFAULT, log_size // _DEFAULT_SHARE)


def fill_pool(dataset_size: int) -> int:
    """The buffer pool to fill a log with: every page may be dirty at once, so that the pool forces none out before the log."""
    return max(_SMALLEST_FILL_POOL, -(-dataset_size * 3 // 2 // _POOL_STEP) * _POOL_STEP)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset that is there."""

    spec: DatasetSpec
    folder: Path
    """Holds the data directory as `data`."""
    size: int
    """Bytes on the disk."""


def find_dataset(lab: Lab, storage: Path, spec: DatasetSpec) -> Dataset | None:
    """The dataset if it is there whole."""
    folder = storage / "datasets" / spec.key
    if not lab.host.files.exists(folder / _MARK):
        return None
    return Dataset(spec, folder, lab.host.files.folder_size(folder))


def remove_dataset(lab: Lab, storage: Path, spec: DatasetSpec) -> None:
    """Remove a dataset."""
    lab.host.files.remove(storage / "datasets" / spec.key)


def make_dataset(lab: Lab, storage: Path, server: InstalledServer, spec: DatasetSpec) -> Dataset:
    """The dataset, loaded if it is not there yet. Raises `LabError`; a half-made one is never kept."""
    if there := find_dataset(lab, storage, spec):
        lab.progress.note(f"dataset {spec.key}: {format_size(there.size)}, made earlier")
        return there
    files = lab.host.files
    folder = storage / "datasets" / spec.key
    making = folder.with_name(f"{spec.key}.partial")
    title = f"loading {format_size(spec.size)} into {spec.server}"
    with (
        lab.ledger.making(making, f"the half-made dataset {spec.key}"),
        lab.progress.stage(title, "load") as stage,
    ):
        _load(lab, server, spec, making, stage)
        for name in files.names(making):
            if name not in (DATA, "error.log"):
                files.remove(making / name)
        files.write(making / _MARK, msgspec.json.encode(spec))
        files.remove(folder)
        files.rename(making, folder)
    dataset = find_dataset(lab, storage, spec)
    assert dataset is not None
    return dataset


_MARK = "dataset.json"


def initialise(lab: Lab, server: InstalledServer, folder: Path, request: InstanceRequest) -> None:
    """Make an empty instance folder's data directory one that the server starts on. Raises `CommandFailed`."""
    initialisation = server.dialect.initialisation()
    share = server.share_on_host
    if initialisation.ready_folder is not None:
        lab.host.files.copy_folder(share.parent / initialisation.ready_folder, folder / DATA)
        if (owner := server.sandbox.owner(lab.host)) is not None:
            lab.host.run(Command(["chown", "--recursive", f"{owner}:{owner}", str(folder / DATA)]))
    prepare_folder(lab.host, server, folder, server.dialect.settings(request))
    if not initialisation.arguments:
        return
    try:
        sql = b"\n".join(lab.host.files.read(share / name) for name in initialisation.sql_files)
    except FileNotFoundError as error:
        raise ServerFailed(
            f"{server.name} lacks {error.filename}", "add a server with its system tables' SQL files"
        ) from error
    arguments = [
        f"--defaults-file={INSTANCE / OPTIONS}",
        *initialisation.arguments,
        *server.sandbox.user_arguments(lab.host),
    ]
    command = server.sandbox.command(server.program, arguments, folder)
    whole = initialisation.sql_before.encode() + sql
    try:
        lab.host.run(Command(command.arguments, environment=command.environment, standard_input=whole))
    except CommandFailed as error:
        raise ServerFailed(
            f"{server.name} could not make a data directory", "its last lines are below", error.details
        ) from error


def _load(lab: Lab, server: InstalledServer, spec: DatasetSpec, folder: Path, stage: Stage) -> None:
    request = InstanceRequest(
        purpose=Purpose.LOAD,
        log_size=max(_SMALLEST_LOAD_LOG, min(_LARGEST_LOAD_LOG, spec.size // 4)),
        buffer_pool=_LOAD_POOL,
        flush_log_at_trx_commit=2,
    )
    initialise(lab, server, folder, request)
    with Instance.start(lab.host, server, folder, request, folder / "error.log") as instance:
        instance.wait_ready()
        with instance.answering(), instance.connections.connect() as connection:
            _make_schema(connection, spec)
        _load_tables(lab, instance, spec, stage)
        stage.say("shutting down cleanly")
        instance.shut_down()


def _make_schema(connection: Connection, spec: DatasetSpec) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {DATABASE}")
        for statement in filter(str.strip, spec.schema.split(";")):
            cursor.execute(statement)
        cursor.execute("SET autocommit = 0")
        batch = 10_000
        for first in range(0, spec.open_transaction_rows, batch):
            ids = range(first, min(first + batch, spec.open_transaction_rows))
            values = ",".join(f"({number},0,'')" for number in ids)
            cursor.execute(f"INSERT INTO {OPEN_TRANSACTION_TABLE} VALUES {values}")
        connection.commit()


def _load_tables(lab: Lab, instance: Instance, spec: DatasetSpec, stage: Stage) -> None:
    loading = load_tables(
        lab.host, lab.tools, instance.folder, spec.tables, _LOAD_THREADS, instance.folder / "load.log"
    )
    try:
        while (status := loading.wait(0.2)) is None:
            instance.check_running()
            # How much is loaded shows on the disk; the tables' files grow as their rows come.
            loaded = lab.host.files.folder_size(instance.folder / DATA / DATABASE)
            stage.advance(loaded, spec.size, f"{format_size(loaded)} of about {format_size(spec.size)}")
    finally:
        loading.stop()
    if status != 0:
        said = [line.text for line in loading.lines(lab.host.now().monotonic)][-8:]
        raise WorkloadFailed(f"sysbench could not load the tables (status {status})", "its last lines are below", said)
