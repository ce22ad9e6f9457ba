"""Disk and memory that crashes and recoveries take: the one estimate for doctor, plans and storages.

All sizes in bytes. The factors are from the lab's own runs and round up: a run refused for lack of room can be made
smaller, a run that fills the disk half-way is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redolab.errors import InvalidInput
from redolab.units import GIB, MIB, format_size

if TYPE_CHECKING:
    from redolab.servers.dialects import Dialect

SMALLEST_DATASET = 16 * MIB
SMALLEST_POOL = 32 * MIB
SYSTEM_FILES = GIB // 4
"""Bytes of system tables, temporary tablespace and error log of any server."""
_GROWTH = 1.5
"""Growth of a freshly loaded dataset under updates: split pages and undo logs that purge has not yet freed."""
_REWRITTEN = 1.5
"""Size of a recovered copy, relative to the image: log files may be made anew beside the old ones."""
_LAB_DISK = 1.75
"""Size of a lab disk, relative to its image. Recovering a copy, which shares its blocks, writes more."""
_SMALLEST_DEFAULT_DATASET = 64 * MIB
_SMALLEST_DEFAULT_POOL = 128 * MIB
_POOL_STEP = 64 * MIB


def default_dataset(log_size: int) -> int:
    """Return the bytes of the tables for a redo log of `log_size` bytes.

    Half of the log: random updates of all of it then dirty about as many distinct pages as a log of that size can.
    """
    return max(_SMALLEST_DEFAULT_DATASET, log_size // 2)


def default_pool(dataset: int) -> int:
    """Return the larger default buffer pool for recovery: all pages of the tables fit into it."""
    return max(_SMALLEST_DEFAULT_POOL, _up(dataset * 3 // 2, _POOL_STEP))


def fill_pool(dataset: int, log_size: int) -> int:
    """Return the buffer pool to fill a log with: so large that the log, not the pool, decides when pages are flushed.

    Every page of the tables may be dirty at once, and with them the undo that purge has not yet freed. With room for
    the tables alone, filling a 4 GiB log left MariaDB 10.11's pool 98 % dirty.
    """
    return default_pool(dataset) + _up(log_size // 2, _POOL_STEP)


def data_directory(dataset: int, log_size: int, *, binary_log: int = 0) -> int:
    """Return the bytes of a data directory after a crash, its `binary_log` bytes included."""
    return loaded(dataset) + log_size + binary_log


def crash_and_recovery(dataset: int, log_size: int, *, images: int, binary_log: int = 0) -> int:
    """Return the bytes to make and keep `images` crash images with their datasets, plus one copy to recover."""
    image = data_directory(dataset, log_size, binary_log=binary_log)
    return images * (image + loaded(dataset)) + image


def loaded(dataset: int) -> int:
    """Return the bytes that a dataset takes on disk."""
    return int(dataset * _GROWTH) + SYSTEM_FILES


def recovered_copy(image: int) -> int:
    """Return the bytes of a copy of a crash image on a storage of its own, while it is recovered."""
    return int(image * _REWRITTEN)


def lab_disk(image: int) -> int:
    """Return the bytes of a lab disk for a crash image, in whole GiB."""
    return _up(int(image * _LAB_DISK) + GIB, GIB)


def log_disk(log_size: int) -> int:
    """Return the bytes of a file system for a redo log and the server's temporary files beside it."""
    return log_size + log_size // 4 + 128 * MIB


def check_pool(size: int) -> None:
    """Refuse a buffer pool that no server starts with. Raises `InvalidInput`."""
    if size < SMALLEST_POOL:
        raise InvalidInput(
            f"a buffer pool of {format_size(size)} is too small", f"give it {format_size(SMALLEST_POOL)} or more"
        )


def check_log_size(server: str, dialect: Dialect, size: int) -> None:
    """Refuse a redo log that the server cannot have. Raises `InvalidInput`."""
    if not dialect.smallest_log <= size <= dialect.largest_log:
        raise InvalidInput(
            f"{server} cannot have a redo log of {format_size(size)}",
            f"it takes {format_size(dialect.smallest_log)} to {format_size(dialect.largest_log)}",
        )


def _up(size: int, step: int) -> int:
    return -(-size // step) * step
