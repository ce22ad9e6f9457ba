"""A real server of which a user may read the counters and nothing else, with and without load."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redolab.lab import Lab
from redolab.servers.dialects import SOCKET, InstanceRequest, Purpose
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import Instance
from redolab.units import MIB
from redolab.workloads.inserts import EMPTY_TABLE, insert

REQUEST = InstanceRequest(purpose=Purpose.RECOVER, log_size=64 * MIB, buffer_pool=64 * MIB)
USER = "watcher"
SECRET = "what only the option file knows"


@contextmanager
def running(lab: Lab, server: InstalledServer, folder: Path) -> Iterator[Instance]:
    with Instance.start(server, folder, REQUEST, folder / "error.log") as instance:
        instance.wait_ready(60)
        yield instance


def fresh(lab: Lab, server: InstalledServer, folder: Path) -> None:
    """A server with a user who may connect and nothing else."""
    initialise(server, folder, REQUEST)
    with running(lab, server, folder) as instance:
        with instance.connections.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE USER {USER}@localhost IDENTIFIED BY '{SECRET}'")
            for statement in EMPTY_TABLE:
                cursor.execute(statement)
        instance.shut_down()


def load(lab: Lab, instance: Instance, seconds: int) -> int:
    """Bytes of LSN that inserts came to."""
    with instance.connections.connect() as connection:
        before = instance.whole_sample(connection).lsn or 0
        insert(
            lab.tools, instance.folder,
            threads=2, row_bytes=500, rows_per_transaction=1, seconds=seconds, output=instance.folder / "load.log",
        )  # fmt: skip
        return (instance.whole_sample(connection).lsn or 0) - before


def option_file(folder: Path) -> Path:
    path = folder.parent / "client.cnf"
    path.write_text(f'[client]\nuser = {USER}\npassword = "{SECRET}"\nsocket = {folder / SOCKET}\n')
    return path
