"""A server for a group of steps: made, started and connected to, and removed with its data afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pymysql.connections import Connection

from redolab.lab import Lab
from redolab.runs.store import Run
from redolab.servers.dialects import InstanceRequest
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import Instance, UsedInstance, prepare_folder

_UNHURRIED = 60.0
"""Seconds for which a statement of the lab may take: the server is under load, on a slow disk."""


@dataclass(frozen=True, slots=True)
class StartedServer:
    """A server that accepts statements."""

    instance: Instance
    connection: Connection
    used: UsedInstance
    digest: str
    """Hash under which the run keeps its settings and variables."""

    def execute(self, *statements: str) -> None:
        """Execute statements, one after the other."""
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)


@contextmanager
def server_folder(lab: Lab, server: InstalledServer, name: str, what: str, under: Path | None = None) -> Iterator[Path]:
    """Provide an empty folder for an instance, in the lab's own storage or in `under`."""
    folder = (under or lab.home) / "instances" / name
    with lab.journal.making(folder, what, mounted=True):
        prepare_folder(server, folder)
        yield folder


@contextmanager
def started_server(
    lab: Lab, run: Run, server: InstalledServer, folder: Path, request: InstanceRequest
) -> Iterator[StartedServer]:
    """Run a server on a new data directory during the block. Its error log is the run's. Raises `LabError`."""
    with lab.progress.stage(f"starting {folder.name}", "start") as stage:
        stage.say("making its data directory")
        prepare_folder(server, folder)
        initialise(server, folder, request)
        instance = Instance.start(server, folder, request, run.log(folder.name))
    with instance:
        instance.wait_ready()
        with instance.answering(), instance.connections.connect(answer=_UNHURRIED) as connection:
            used = instance.used(connection)
            yield StartedServer(instance, connection, used, run.keep_once(used))
