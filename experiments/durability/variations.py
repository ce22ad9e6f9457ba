"""Variations: changes beside the two settings, one at a time."""

from __future__ import annotations

from dataclasses import dataclass

from redolab.disks.profiles import PROTECTED, VOLATILE, Cache
from redolab.powercut.window import CutWindow
from redolab.servers.dialects import Setting
from redolab.workloads.data import Defines

PLAIN = "plain"
"""Name of the variation that changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """A change of the disk, the file system, the server or the load."""

    about: str
    overrides: tuple[Setting, ...] = ()
    file_system: str = "xfs"
    cache: Cache = VOLATILE
    obeys: bool = True
    """True if the disk obeys flushes."""
    torn: bool = False
    """True if single sectors of a write are lost."""
    table_options: str = ""
    defines: Defines = Defines.NOTHING
    """Tables that one more client creates and drops while it rotates the binary log and resizes the redo log."""
    replica: bool = False
    """True if a replica reads the binary log, which has to be on."""
    xa: bool = False
    """True if the clients prepare their transactions (XA)."""
    window: CutWindow = CutWindow.LOAD
    """Part of the recording in which the cuts lie."""
    must_lose: bool = False
    """True for a control: a search that finds nothing here would find nothing anywhere."""


def _set(name: str, value: str) -> tuple[Setting, ...]:
    return (Setting(name, value, "as asked: what is varied"),)


_FLUSHING = (
    *_set("innodb_max_dirty_pages_pct", "0"),
    *_set("innodb_io_capacity", "2000"),
    *_set("innodb_io_capacity_max", "4000"),
)
"""Settings with which pages are written all the time. Only a page that is being written can be torn."""

_WINDOWS = {
    CutWindow.SHUTDOWN: "the cuts fall into a clean shutdown after the load",
    CutWindow.START: "the cuts fall into an ordinary start after a clean shutdown",
    CutWindow.RECOVERY: "the cuts fall into a recovery from SIGKILL: a second crash",
    CutWindow.FIRST_START: "the cuts fall into the first start of an initialised data directory",
}

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
    "replica": Variation(about="a replica reads the binary log meanwhile (bug 70669)", replica=True),
    "tables": Variation(
        about="one more client creates, rebuilds, empties and drops a table, and resizes the redo log",
        defines=Defines.TABLES,
    ),
    "partitions": Variation(
        about="the same with a table that has partitions, of which single ones are emptied and dropped",
        defines=Defines.PARTITIONS,
    ),
    "xa": Variation(about="clients prepare each transaction before they commit it (XA)", xa=True),
    **{str(window): Variation(about=about, window=window) for window, about in _WINDOWS.items()},
    "ignores-flushes": Variation(about="control: a disk that ignores flushes", obeys=False, must_lose=True),
    "no-doublewrite": Variation(
        about="control: torn writes without the doublewrite buffer",
        overrides=(*_set("innodb_doublewrite", "0"), *_FLUSHING),
        torn=True,
        must_lose=True,
    ),
}
"""Name → what it changes."""
_PAST = {
    "machine-unsafe": Variation(
        about="control: in a virtual machine whose disk has cache=unsafe", obeys=False, must_lose=True
    )
}
"""Variations that only runs of November 2026 have. Their variations that are missing here had disks that obeyed."""


def variation_of(name: str) -> Variation:
    """Return the variation of a run, also one that the lab no longer makes."""
    return {**_PAST, **VARIATIONS}.get(name, VARIATIONS[PLAIN])
