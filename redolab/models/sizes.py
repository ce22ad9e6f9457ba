"""How much disk and memory crashes and recoveries take: the one estimate that doctor, plans and storages go by.

All sizes in bytes. The factors are from the lab's own runs and round up: what is refused for room can be made smaller,
what fills a disk half-way is lost.
"""

from __future__ import annotations

from redolab.units import GIB, MIB

SYSTEM_FILES = GIB // 4
"""System tables, temporary tablespace and error log of any server."""
_GROWTH = 1.5
"""What updates add to a freshly loaded dataset: split pages and undo logs that purge has not yet freed."""
_REWRITTEN = 1.5
"""A copy that was recovered, in sizes of the image: log files may be made anew beside the old ones."""
_LAB_DISK = 1.75
"""A lab disk, in sizes of the image on it: the image, and what the recovery of a copy, which shares its blocks, writes anew."""
_SMALLEST_DEFAULT_DATASET = 64 * MIB
_SMALLEST_POOL = 128 * MIB
_POOL_STEP = 64 * MIB


def default_dataset(log_size: int) -> int:
    """Tables for a redo log of so many bytes.

    Half of the log, so that random updates of all of it dirty about as many distinct pages as a log of that size can.
    """
    return max(_SMALLEST_DEFAULT_DATASET, log_size // 2)


def default_pool(dataset: int) -> int:
    """The larger buffer pool to recover with where none is asked for: all pages of the tables fit into it."""
    return max(_SMALLEST_POOL, _up(dataset * 3 // 2, _POOL_STEP))


def fill_pool(dataset: int, log_size: int) -> int:
    """The buffer pool to fill a log with: the log is to decide when pages are flushed, not the pool.

    Every page of the tables may be dirty at once, and with them the undo that purge has not caught up with: with room for
    the tables alone, the fill of a 4 GiB log left MariaDB 10.11's pool 98 % dirty.
    """
    return default_pool(dataset) + _up(log_size // 2, _POOL_STEP)


def data_directory(dataset: int, log_size: int, *, binary_log: bool = False) -> int:
    """A data directory as a crash leaves it; the binary log of a full redo log is about as large as that."""
    return loaded(dataset) + log_size * (2 if binary_log else 1)


def crash_and_recovery(dataset: int, log_size: int, *, images: int, binary_log: bool = False) -> int:
    """What making and keeping so many crash images, each with its dataset, and recovering one copy at a time takes."""
    image = data_directory(dataset, log_size, binary_log=binary_log)
    return images * (image + loaded(dataset)) + image


def loaded(dataset: int) -> int:
    """Return the bytes that a dataset takes on disk."""
    return int(dataset * _GROWTH) + SYSTEM_FILES


def recovered_copy(image: int) -> int:
    """A copy of a crash image on a storage of its own, while it is recovered."""
    return int(image * _REWRITTEN)


def lab_disk(image: int) -> int:
    """A lab disk for a crash image, in whole GiB."""
    return _up(int(image * _LAB_DISK) + GIB, GIB)


def log_disk(log_size: int) -> int:
    """A file system that holds a redo log, and what a server makes beside it for a while."""
    return log_size + log_size // 4 + 128 * MIB


def _up(size: int, step: int) -> int:
    return -(-size // step) * step


SMALLEST_DATASET = 16 * MIB

SMALLEST_POOL = 32 * MIB
