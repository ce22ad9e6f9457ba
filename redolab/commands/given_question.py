"""Options that describe a recovering server, the same for a prediction and for a log size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from redolab.commands.shared_options import WORKLOAD, gathered

if TYPE_CHECKING:
    from redolab.predict.question import Question


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownServer:
    """Values that a server tells itself, or its metrics do; sizes in bytes, None for those that must be given."""

    server: str | None = None
    pool: int | None = None
    tables: int | None = None
    binary_log: int | None = None
    """Most bytes of a binary log file; 0 where it is off."""
    read_threads: int | None = None


UNKNOWN = KnownServer()
"""A server that nobody has asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenQuestion:
    """Values of these options as given."""

    server: str | None
    pool: str | None
    storage: str
    workload: str | None
    tables: int | None
    undo_rows: int | None
    prepared_rows: int | None
    binary_log: str | None
    read_threads: int | None

    @property
    def is_enough(self) -> bool:
        """True if they name version and buffer pool: no server has to be asked for these."""
        return self.server is not None and self.pool is not None

    @property
    def is_anything(self) -> bool:
        """True if they describe a server or a crash, which a server that is asked does itself."""
        described = (self.pool, self.tables, self.undo_rows, self.prepared_rows, self.binary_log, self.read_threads)
        return any(each is not None for each in described)

    def question(self, known: KnownServer = UNKNOWN) -> Question:
        """Return the question, with the server's own values for options that were not given.

        Raises `UsageError` without a buffer pool.
        """
        from redolab.predict.question import Question
        from redolab.units import parse_size

        pool = parse_size(self.pool) if self.pool else known.pool
        if pool is None:
            raise click.UsageError("give --pool SIZE: no metric tells it (--collect.global_variables)")
        return Question(
            server=self.server or known.server or "",
            storage=self.storage,
            pool=pool,
            workload=self.workload,
            tables=known.tables if self.tables is None else self.tables,
            undo_rows=self.undo_rows,
            prepared_rows=self.prepared_rows,
            binary_log=parse_size(self.binary_log) if self.binary_log else known.binary_log,
            read_threads=self.read_threads or known.read_threads,
        )


question_options = gathered(
    "given",
    GivenQuestion,
    click.option(
        "--server", metavar="NAME", help="Of 'redolab servers', or as in mysql-8.4.3.  [default: the asked server]"
    ),
    click.option("--pool", metavar="SIZE", help="Buffer pool of the recovering server.  [default: the asked server's]"),
    click.option(
        "--storage",
        default="local",
        metavar="NAME",
        show_default=True,
        help="A storage of the calibration that comes with redolab, or a calibration of your own: FILE, or FILE:STORAGE.",
    ),
    WORKLOAD,
    click.option("--tables", type=click.IntRange(min=0), metavar="N", help="Tables, each in a file of its own."),
    click.option("--undo-rows", type=click.IntRange(min=0), metavar="N", help="Rows to roll back."),
    click.option(
        "--prepared-rows",
        type=click.IntRange(min=0),
        metavar="N",
        help="Rows of a transaction that the crash cuts off while it is written to the binary log.",
    ),
    click.option(
        "--binary-log",
        metavar="SIZE",
        help="Of its last file at the crash, 0 without one.  [default: the asked server's max_binlog_size, else 1G where it is on "
        "as shipped]",
    ),
    click.option(
        "--read-io-threads",
        "read_threads",
        type=click.IntRange(1, 64),
        metavar="N",
        help="innodb_read_io_threads of the recovering server.  [default: the asked server's, else 4]",
    ),
)
"""Decorator that gives a command these options, which it receives together as its parameter `given`."""
