"""A program that reads the binary log of a server under load as a replica does, and notes what it received and when."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.event import QueryEvent, RowsQueryLogEvent, XidEvent

from redolab.errors import LabError
from redolab.machine import files, processes
from redolab.machine.processes import Command
from redolab.powercut.ledger import REPLICA
from redolab.servers.dialects import SOCKET
from redolab.servers.instance import Instance
from redolab.workloads.ledger import INSERTED

_SERVER_ID = 2
_CONNECTS_WITHIN, _ENDS_WITHIN = 30.0, 10.0
_LOOK = 0.01


@contextmanager
def reading_as_replica(instance: Instance, notes: Path, log: Path) -> Iterator[Callable[[], None]]:
    """Run a program that reads the server's binary log as a replica and writes notes into the folder `notes`.

    Yields a function that raises `LabError` if the program has ended. Raises `LabError` if the program does not
    begin.
    """
    files.make_folder(notes)
    noted = notes / REPLICA
    # Relative to the instance's folder: a socket's address may have 107 bytes only.
    command = Command([sys.executable, "-m", __name__, SOCKET, str(noted)], folder=instance.folder)
    process = processes.start(command, log)

    def check(seconds: float = 0.0) -> None:
        if process.wait(seconds) is not None:
            said = [line.text for line in process.lines(time.monotonic())][-5:]
            raise LabError("what reads the binary log as a replica has ended", "its last lines are below", said)

    try:
        deadline = time.monotonic() + _CONNECTS_WITHIN
        while not noted.exists():
            check(_LOOK)
            if time.monotonic() > deadline:
                raise LabError(f"nothing had connected as a replica after {_CONNECTS_WITHIN:.0f} s", f"see {log}")
        yield check
        # The server is gone: what it had sent is read to its end.
        process.wait(_ENDS_WITHIN)
    finally:
        process.stop()


def _read(socket: str, noted: Path) -> None:
    """Note each transaction when its commit has come, as `B client:number time`, until the server ends."""
    stream = BinLogStreamReader(
        connection_settings={"unix_socket": socket, "user": "root", "ssl_disabled": True},
        server_id=_SERVER_ID,
        blocking=True,
        resume_stream=True,
        only_events=[QueryEvent, RowsQueryLogEvent, XidEvent],
        enable_logging=False,
    )
    noted.touch()
    with noted.open("w", buffering=1) as notes:
        open_ones: list[str] = []
        for event in stream:
            match event:
                case XidEvent():
                    at = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                    notes.writelines(f"B {each} {at}\n" for each in open_ones)
                    open_ones = []
                case QueryEvent() | RowsQueryLogEvent():
                    said = event.query.decode(errors="replace") if isinstance(event.query, bytes) else event.query
                    if found := INSERTED.search(said):
                        open_ones.append(f"{found[1]}:{found[2]}")


if __name__ == "__main__":
    try:
        _read(sys.argv[1], Path(sys.argv[2]))
    except pymysql.MySQLError as error:
        # The server has ended, and this program ends with it.
        sys.exit(str(error))
