"""What makes a dataset, and the tables in it that are the lab's own."""

from __future__ import annotations

import msgspec
import xxhash

from redolab.units import format_size
from redolab.workloads.data import DATABASE, WorkloadData

OPEN_TRANSACTION_TABLE = f"{DATABASE}.open_transaction"
"""Rows for the transaction that is open at the crash: apart from the workload's, whose clients would wait for its locks."""
PROBE_TABLE = f"{DATABASE}.probe"
"""Where the first write after a recovery goes."""

LAB_TABLES = f"""
CREATE TABLE {OPEN_TRANSACTION_TABLE} (id INT NOT NULL PRIMARY KEY, changed TINYINT NOT NULL, filler CHAR(100) NOT NULL) ENGINE=InnoDB;
CREATE TABLE {PROBE_TABLE} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, written TIMESTAMP NOT NULL) ENGINE=InnoDB;
"""


class DatasetSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a dataset: two of equal specs are the same."""

    server: str
    version: str
    size: int
    """Bytes asked for."""
    data: WorkloadData
    """What the workload loads."""
    open_transaction_rows: int
    schema: str = LAB_TABLES
    """The lab's own tables."""
    empty_tables: int = 0
    """Tables beside those, each a file that a start may have to open."""
    page_size: int | None = None
    """Bytes of a page; None: the server's default."""
    own_files: bool = True
    """Whether each table has a file of its own (`innodb_file_per_table`)."""

    @property
    def key(self) -> str:
        """Its name on the disk."""
        return f"{self.server}-{format_size(self.size)}-{xxhash.xxh3_64_hexdigest(msgspec.json.encode(self))[:8]}"
