"""Clients of the ledger, a bank test as Jepsen's: each notes its transactions when sent and acknowledged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from pymysql.connections import Connection
from pymysql.cursors import Cursor
from typing_extensions import override

from redolab.lab import Lab
from redolab.machine import files
from redolab.machine.tools import Tools
from redolab.servers.instance import Instance
from redolab.workloads.contract import Follow, RunningWorkload, Workload, check_pages, check_value
from redolab.workloads.data import DATABASE, Clients, Defines, LedgerTables, Rows, TableCheck
from redolab.workloads.reporting import running
from redolab.workloads.source_code import code_alone
from redolab.workloads.sysbench import SCRIPTS, report_in, sysbench_command

ENTRIES, ACCOUNTS, DEFINED = "ledger_entries", "ledger_accounts", "ledger_defined"
INSERTED = re.compile(rf"INSERT INTO {ENTRIES} VALUES \((\d+), (\d+), 1,")
"""Client and number of a transaction, in the statement that inserts its rows."""
ROWS_EACH = 3
"""Rows that each transaction inserts."""
NOTES = "notes"
"""Folder of the notes, beside the file of the clients' output."""
_SCRIPT = "ledger.lua"
_CREATE = (
    "CREATE TABLE {entries} (client INT NOT NULL, number BIGINT NOT NULL, part TINYINT NOT NULL, filler VARCHAR(200) NOT NULL, "
    "PRIMARY KEY (client, number, part)) ENGINE=InnoDB {options}",
    "CREATE TABLE {accounts} (id INT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL) ENGINE=InnoDB {options}",
)


class LedgerWorkload(Workload, frozen=True, kw_only=True, tag="ledger"):
    """A sysbench script of the project's, whose first client reads what the others write."""

    options: str = ""
    """Table options, such as `ROW_FORMAT=COMPRESSED`."""
    defines: Defines = Defines.NOTHING
    """Statements that define tables, run by one more client."""
    between: tuple[str, ...] = ()
    """Statements that the defining client runs between its own."""
    xa: bool = False
    """True if clients prepare transactions before they commit them."""

    @override
    def content(self) -> str:
        return "\n".join(
            [code_alone(SCRIPTS / _SCRIPT), self.options, self.defines, *self.between, *(["xa"] if self.xa else [])]
        )

    @override
    def require(self, lab: Lab) -> None:
        lab.tools.require(["sysbench"], lab.progress)

    @override
    def data(self, size: int) -> LedgerTables:
        """Return the same small tables for every size."""
        return LedgerTables()

    @override
    def schema(self, data: LedgerTables) -> Sequence[str]:
        """Return the statements that make and fill the tables."""
        values = ", ".join(f"({number}, {data.balance})" for number in range(1, data.accounts + 1))
        created = [each.format(entries=ENTRIES, accounts=ACCOUNTS, options=self.options) for each in _CREATE]
        return (*created, f"INSERT INTO {ACCOUNTS} VALUES {values}")

    @override
    def run(
        self, tools: Tools, instance: Instance, data: LedgerTables, clients: Clients, output: Path
    ) -> AbstractContextManager[RunningWorkload]:
        """Start the clients; their notes go into a folder beside `output`."""
        notes = output.with_name(NOTES)
        files.make_folder(notes)
        command = sysbench_command(
            tools,
            instance.folder,
            _SCRIPT,
            # One more: the reader; and who defines tables.
            clients.connections + 1 + (self.defines is not Defines.NOTHING),
            *(f"--notes={notes}", f"--parts={ROWS_EACH}", f"--accounts={data.accounts}"),
            f"--defines={self.defines}",
            f"--xa={'on' if self.xa else 'off'}",
            f"--between={';'.join(self.between)}",
            *("--time=0", "--events=0", f"--report-interval={max(1, round(clients.report_every))}", "run"),
        )
        return running("sysbench", command, output, report_in)

    @override
    def verify(self, connection: Connection, data: LedgerTables, turn: int, follow: Follow) -> list[TableCheck]:
        """Check that transactions are whole, the sum of all accounts is unchanged, and the pages are in order."""
        torn = f"SELECT COUNT(*) FROM (SELECT 1 FROM {DATABASE}.{ENTRIES} GROUP BY client, number HAVING COUNT(*) <> {ROWS_EACH}) torn"
        with connection.cursor() as cursor:
            return [
                check_value(cursor, "transactions that are there in part", torn, 0),
                check_value(
                    cursor,
                    "money of all accounts",
                    f"SELECT SUM(balance) FROM {DATABASE}.{ACCOUNTS}",
                    data.accounts * data.balance,
                ),
                *(check_pages(cursor, f"{DATABASE}.{name}") for name in (ENTRIES, ACCOUNTS, *defined_in(cursor))),
            ]


def defined_in(cursor: Cursor) -> Sequence[str]:
    """Return the name of the table that a client defines, if the table exists."""
    cursor.execute(f"SHOW TABLES FROM {DATABASE} LIKE '{DEFINED}'")
    return [DEFINED] if cursor.fetchall() else []


def defined_rows(cursor: Cursor) -> Rows:
    """Return the numbers of rows of each thousand of that table's keys; None if the table does not exist."""
    if not defined_in(cursor):
        return None
    cursor.execute(f"SELECT id DIV 1000, COUNT(*) FROM {DATABASE}.{DEFINED} GROUP BY 1")
    rows = {int(part): int(count) for part, count in cursor.fetchall()}
    return tuple(rows.get(part, 0) for part in range(4))
