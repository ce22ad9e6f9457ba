"""A constant stream of inserts by real clients, which count their own commits."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from pathlib import Path

from redolab.clock import now
from redolab.errors import WorkloadFailed
from redolab.machine import processes
from redolab.machine.processes import Command
from redolab.machine.tools import Tools
from redolab.workloads.data import DATABASE
from redolab.workloads.sysbench import SCRIPTS, connection_arguments

TABLE = f"{DATABASE}.inserted"
_SCHEMA = f"CREATE TABLE {TABLE} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, filler BLOB NOT NULL) ENGINE=InnoDB"
_EVENTS = re.compile(r"total number of events:\s+(\d+)")
_SECONDS = re.compile(r"total time:\s+([\d.]+)s")
_LONGER = 60.0
_LAST_LINES = 8

EMPTY_TABLE = (f"CREATE DATABASE IF NOT EXISTS {DATABASE}", f"DROP TABLE IF EXISTS {TABLE}", _SCHEMA)
"""The statements after which the table that is inserted into is there and empty."""


@dataclass(frozen=True, slots=True)
class Inserted:
    """Commits that the clients counted, and the duration in seconds."""

    commits: int
    seconds: float


def insert(
    tools: Tools,
    instance: Path,
    *,
    threads: int,
    row_bytes: int,
    rows_per_transaction: int,
    seconds: int,
    output: Path,
) -> Inserted:
    """Let `threads` clients insert rows of `row_bytes` bytes for `seconds`, each as fast as the server answers.

    Raises `WorkloadFailed` if a client was refused.
    """
    sysbench = tools.get("sysbench")
    arguments = [
        *connection_arguments(sysbench, SCRIPTS / "insert_rows.lua", threads),
        *(f"--row-bytes={row_bytes}", f"--rows-per-transaction={rows_per_transaction}"),
        *(f"--time={seconds}", "--events=0", "run"),
    ]
    process = processes.start(Command(arguments, folder=instance, environment=sysbench.environment), output)
    try:
        status = process.wait(seconds + _LONGER)
    finally:
        process.stop(signal.SIGKILL)
    said = [line.text for line in process.lines(now().monotonic)]
    text = "\n".join(said)
    events, took = _EVENTS.search(text), _SECONDS.search(text)
    if status != 0 or events is None or took is None:
        raise WorkloadFailed(
            f"sysbench could not insert (status {status})", "its last lines are below", said[-_LAST_LINES:]
        )
    return Inserted(commits=int(events[1]), seconds=float(took[1]))
