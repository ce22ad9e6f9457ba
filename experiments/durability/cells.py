"""What is varied: how the server syncs, and one thing at a time beside that."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from redolab.servers.dialects import Setting
from redolab.storage.profiles import PROTECTED, VOLATILE, Cache
from redolab.workloads.data import Defines

PLAIN = "plain"
"""The variation that varies nothing."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """Settings under which power is cut."""

    server: str
    trx_commit: int
    sync_binlog: int | None
    """None: the binary log is off."""
    variation: str = PLAIN

    @property
    def in_words(self) -> str:
        """As in `trx_commit=1, binary log with sync_binlog=0, ext4`."""
        varied = "" if self.variation == PLAIN else f", {self.variation}"
        return f"{self.settings_in_words}{varied}"

    @property
    def settings_in_words(self) -> str:
        """The same without what is varied."""
        log = "binary log off" if self.sync_binlog is None else f"sync_binlog={self.sync_binlog}"
        return f"trx_commit={self.trx_commit}, {log}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """One thing that is otherwise than plainly."""

    about: str
    overrides: tuple[Setting, ...] = ()
    file_system: str = "xfs"
    cache: Cache = VOLATILE
    obeys: bool = True
    """Whether the disk does what a flush asks."""
    torn: bool = False
    """Whether single sectors of what was written are lost."""
    table_options: str = ""
    defines: Defines = Defines.NOTHING
    """What one more client makes, empties and drops; it also rotates the binary log and resizes the redo log."""
    replica: bool = False
    """Whether a replica reads the binary log meanwhile, which has to be on."""
    is_past: bool = False
    """Whether only runs of the past have it: they stay on the page, and the lab makes no more of them."""
    must_lose: bool = False
    """Whether it is a control: a search that finds nothing here would find nothing anywhere."""


def _set(name: str, value: str) -> tuple[Setting, ...]:
    return (Setting(name, value, "as asked: what is varied"),)


_FLUSHING = (
    *_set("innodb_max_dirty_pages_pct", "0"),
    *_set("innodb_io_capacity", "2000"),
    *_set("innodb_io_capacity_max", "4000"),
)
"""Has pages written all the time: without any under way none can be torn."""

VARIATIONS = {
    PLAIN: Variation(about="O_DIRECT, doublewrite, XFS, a volatile cache that obeys, whole writes survive or not"),
    "torn": Variation(
        about="of what was in flight or in the cache single sectors survive", overrides=_FLUSHING, torn=True
    ),
    "torn-fsync": Variation(
        about="the same with innodb_flush_method=fsync",
        overrides=(*_FLUSHING, *_set("innodb_flush_method", "fsync")),
        torn=True,
    ),
    "ext4": Variation(about="ext4", file_system="ext4"),
    "fsync": Variation(about="innodb_flush_method=fsync", overrides=_set("innodb_flush_method", "fsync")),
    "protected": Variation(
        about="a cache that outlives the power, or none: what was answered survives", cache=PROTECTED
    ),
    "compressed": Variation(
        about="ROW_FORMAT=COMPRESSED", overrides=_FLUSHING, table_options="ROW_FORMAT=COMPRESSED", torn=True
    ),
    "encrypted": Variation(about="tables and redo log are encrypted", is_past=True),
    "replica": Variation(about="a replica reads the binary log meanwhile (bug 70669)", replica=True),
    "indexed": Variation(about="rows have an index whose entries come in no order (bug 79674)", is_past=True),
    "tables": Variation(
        about="one more client creates, rebuilds, empties and drops a table, and resizes the redo log",
        defines=Defines.TABLES,
    ),
    "partitions": Variation(
        about="the same with a table that has partitions, of which single ones are emptied and dropped",
        defines=Defines.PARTITIONS,
    ),
    "undo": Variation(about="the same as tables, and undo tablespaces are truncated", is_past=True),
    "twice": Variation(about="a second cut while the server recovers from the first", is_past=True),
    "ignores-flushes": Variation(about="control: a disk that ignores flushes", obeys=False, must_lose=True),
    "no-doublewrite": Variation(
        about="control: torn writes without the doublewrite buffer",
        overrides=(*_set("innodb_doublewrite", "0"), *_FLUSHING),
        torn=True,
        must_lose=True,
    ),
    "machine-none": Variation(about="in a virtual machine whose disk has cache=none", is_past=True),
    "machine-writeback": Variation(about="in a virtual machine whose disk has cache=writeback", is_past=True),
    "machine-unsafe": Variation(
        about="control: in a virtual machine whose disk has cache=unsafe", obeys=False, must_lose=True, is_past=True
    ),
}
"""Name → what it changes."""
