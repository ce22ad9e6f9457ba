"""A server for a group of steps: made, started and connected to, and removed with its data afterwards."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pymysql.connections import Connection

from redolab.crash.dataset import copy_dataset
from redolab.crash.dataset_store import Dataset
from redolab.errors import LabError
from redolab.lab import Lab
from redolab.runs.store import Run
from redolab.servers.dialects import InstanceRequest
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, UsedInstance, prepare_folder
from redolab.units import format_size
from redolab.workloads.data import DATABASE

_UNHURRIED = 60.0
"""Seconds for which a statement of the lab may take: the server is under load, on a slow disk."""
_TO_GO = 30.0
_LOOK = 0.02


@dataclass(frozen=True, slots=True)
class StartedServer:
    """A server that accepts statements."""

    instance: Instance
    connection: Connection
    used: UsedInstance
    digest: str
    """Hash under which the run keeps its settings and variables."""

    @property
    def data(self) -> Path:
        """Path of the data directory."""
        return self.instance.folder / DATA

    def execute(self, *statements: str) -> None:
        """Execute statements, one after the other."""
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def value(self, statement: str) -> int:
        """Return the whole number that is the last column of a statement's first row, as of `SHOW STATUS`."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            row = cursor.fetchone()
        assert row is not None
        return int(row[-1])

    def named_values(self, statement: str) -> dict[str, str]:
        """Return name, in small letters → value of a statement as `SHOW STATUS`."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            return {str(name).lower(): str(value) for name, value in cursor.fetchall()}

    def wait_clients_gone(self) -> None:
        """Wait until no connection uses the lab's schema: a statement is logged after it was answered. Raises `LabError`."""
        deadline = time.monotonic() + _TO_GO
        while True:
            with self.connection.cursor() as cursor:
                cursor.execute("SHOW PROCESSLIST")
                left = sum(row[3] == DATABASE for row in cursor.fetchall())
            if not left:
                return
            if time.monotonic() > deadline:
                name = self.instance.server.name
                raise LabError(f"{name} still had {left} clients {_TO_GO:.0f} s after they had ended")
            time.sleep(_LOOK)


@contextmanager
def server_folder(lab: Lab, server: InstalledServer, name: str, under: Path | None = None) -> Iterator[Path]:
    """Provide an empty folder for an instance, in the lab's own storage or in `under`."""
    folder = (under or lab.home) / "instances" / name
    with lab.journal.making(folder, f"the instance {name}", mounted=True):
        prepare_folder(server, folder)
        yield folder


@contextmanager
def started_server(
    lab: Lab, run: Run, server: InstalledServer, folder: Path, request: InstanceRequest
) -> Iterator[StartedServer]:
    """Run a server on a new data directory during the block. Its error log is the run's. Raises `LabError`."""
    with lab.progress.stage(f"starting {folder.name}", "start") as stage:
        stage.say("making its data directory")
        initialise(server, folder, request)
        instance = Instance.start(server, folder, request, run.log(folder.name))
    with _taking_statements(run, instance) as started:
        yield started


@contextmanager
def new_server(
    lab: Lab, run: Run, server: InstalledServer, request: InstanceRequest, name: str = "", under: Path | None = None
) -> Iterator[StartedServer]:
    """Run a server on a new data directory during the block, in a folder as `server_folder` has it. Raises `LabError`.

    `name`: of the folder and the error log; by default the server's.
    """
    with (
        server_folder(lab, server, name or server.name, under) as folder,
        started_server(lab, run, server, folder, request) as started,
    ):
        yield started


@contextmanager
def server_on_dataset(
    lab: Lab, run: Run, server: InstalledServer, folder: Path, request: InstanceRequest, dataset: Dataset
) -> Iterator[StartedServer]:
    """Run a server on a copy of a dataset during the block. Its error log is the run's. Raises `LabError`."""
    with lab.progress.stage(f"copying the tables ({format_size(dataset.size)})", "copy"):
        copy_dataset(server, dataset.folder / DATA, folder, durable=False)
    with lab.progress.stage(f"starting {folder.name}", "start"):
        instance = Instance.start(server, folder, request, run.log(folder.name))
    with _taking_statements(run, instance) as started:
        yield started


@contextmanager
def _taking_statements(run: Run, instance: Instance) -> Iterator[StartedServer]:
    with instance:
        instance.wait_ready()
        with instance.answering(), instance.connections.connect(answer=_UNHURRIED) as connection:
            used = instance.used(connection)
            yield StartedServer(instance, connection, used, run.keep_once(used))
