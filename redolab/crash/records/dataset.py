"""Specification of a dataset, and the lab's own tables in it."""

from __future__ import annotations

import msgspec
import xxhash

from redolab.units import format_size
from redolab.workloads.data import DATABASE, WorkloadData

OPEN_TRANSACTION_TABLE = f"{DATABASE}.open_transaction"
"""Table of the transaction that is open at the crash.

The workload's clients would wait for its locks in their own tables.
"""
PROBE_TABLE = f"{DATABASE}.probe"
"""Table of the first write after a recovery."""

LAB_TABLES = f"""
CREATE TABLE {OPEN_TRANSACTION_TABLE} (id INT NOT NULL PRIMARY KEY, changed TINYINT NOT NULL, filler CHAR(100) NOT NULL) ENGINE=InnoDB;
CREATE TABLE {PROBE_TABLE} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, written TIMESTAMP NOT NULL) ENGINE=InnoDB;
"""


class DatasetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Specification of a dataset: datasets of equal specs are the same."""

    server: str
    version: str
    size: int
    """Bytes asked for."""
    data: WorkloadData
    """Data that the workload loads."""
    open_transaction_rows: int
    schema: str = LAB_TABLES
    """The lab's own tables."""
    empty_tables: int = 0
    """Number of further tables, each a file that a start may have to open."""
    page_size: int | None = None
    """Bytes of a page; None: the server's default."""
    own_files: bool = True
    """True if each table has a file of its own (`innodb_file_per_table`)."""

    @property
    def key(self) -> str:
        """Name on disk."""
        return f"{self.server}-{format_size(self.size)}-{xxhash.xxh3_64_hexdigest(msgspec.json.encode(self))[:8]}"
