"""A constant stream of inserts by real clients, which count their own commits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from redolab.machine.tools import Tools
from redolab.workloads.data import DATABASE
from redolab.workloads.reporting import no_report, running
from redolab.workloads.sysbench import sysbench_command, totals_in

TABLE = f"{DATABASE}.inserted"
_SCHEMA = f"CREATE TABLE {TABLE} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, filler BLOB NOT NULL) ENGINE=InnoDB"
_LONGER = 60.0

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
    command = sysbench_command(
        tools,
        instance,
        "insert_rows.lua",
        threads,
        *(f"--row-bytes={row_bytes}", f"--rows-per-transaction={rows_per_transaction}"),
        *(f"--time={seconds}", "--events=0", "run"),
    )
    with running("sysbench", command, output, no_report) as clients:
        status = clients.process.wait(seconds + _LONGER)
    totals = totals_in(output.read_text(errors="replace"))
    if status != 0 or totals is None:
        raise clients.failure(f"could not insert (status {status})")
    commits, took = totals
    return Inserted(commits=commits, seconds=took)
