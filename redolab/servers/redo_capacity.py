"""Capacity of a redo log: its usable bytes, and the checkpoint ages at which a server forces flushing and statements
wait.

Every formula uses the integer arithmetic of the server's source. It agrees to the byte with the limits that some
servers report (tests/servers/limits.csv). LSNs and ages count log blocks with their headers, so bytes of LSN equal bytes
of file.
"""

from __future__ import annotations

from dataclasses import dataclass

from redolab.units import KIB, MIB

PAGE_SIZE = 16 * KIB
_BLOCK = 512
_CHECKPOINT_FREE_PER_THREAD = 4
_CHECKPOINT_EXTRA_FREE = 8
_THREADS_BESIDE_USERS = 10
_REDO_FILES_8_0_30 = 32
_FILES_DUMMY_INTAKE = 4096


@dataclass(frozen=True, slots=True)
class RedoLayout:
    """The files of a redo log, in bytes, and the two settings that its limits depend on."""

    file_size: int
    files: int
    page_size: int = PAGE_SIZE
    thread_concurrency: int = 0
    """innodb_thread_concurrency; 0, the default, sets no limit."""

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return self.file_size * self.files


@dataclass(frozen=True, slots=True)
class RedoCapacity:
    """Limits of a redo log, in bytes."""

    layout: RedoLayout
    usable: int
    """Bytes of the files without headers and reserve."""
    async_flush_point: int
    """Checkpoint age from which flushing becomes eager, within innodb_io_capacity_max ("async")."""
    sync_flush_point: int
    """Checkpoint age from which flushing is forced ("sync"); from MariaDB 10.5 on, the hard limit."""
    hard_limit: int
    """Checkpoint age at which statements wait: the most redo that a crash can leave.

    Only statements that are already running can write beyond it. In MySQL 8.0 and later, a small log can reach it
    before flushing is forced.
    """
    highest_age: int
    """Checkpoint age that a load faster than flushing returns to: the hard limit, or where statements write
    checkpoints.
    """


def capacity_before_8_0(layout: RedoLayout, *, header: int, forced_at_limit: bool = False) -> RedoCapacity:
    """Return the limits of MySQL 5.5 to 5.7 and MariaDB.

    Source: log_calc_max_ages() / log_set_capacity() in storage/innobase/log/log0log.cc (.c in 5.5).

    `header`: bytes at the start of each file that hold no redo (2048; MariaDB 10.8 and later 12288, for its one file).

    `forced_at_limit`: MariaDB has no second limit ("sync") since 10.5. Its log_close() asks for eager flushing from
    max_modified_age_async on. Only from max_checkpoint_age on does the page cleaner ignore the I/O capacity
    (buf_flush_sync_for_checkpoint()), and there statements wait (log_checkpoint_margin()).

    Older servers make statements wait for pages from max_modified_age_sync on (log_checkpoint_margin()), and the
    checkpoint age goes beyond that. From max_checkpoint_age_async on, 31/32 of the limit, one statement writes a
    checkpoint while others go on.
    """
    usable = (layout.file_size - header) * layout.files
    with_reserve = usable - usable // 10
    threads = _THREADS_BESIDE_USERS + layout.thread_concurrency
    margin = with_reserve - (_CHECKPOINT_FREE_PER_THREAD * threads + _CHECKPOINT_EXTRA_FREE) * layout.page_size
    users_wait = margin - margin // 10
    return RedoCapacity(
        layout,
        usable,
        users_wait - users_wait // 8,
        users_wait if forced_at_limit else users_wait - users_wait // 16,
        users_wait,
        highest_age=users_wait if forced_at_limit else users_wait - users_wait // 32,
    )


def capacity_8_0(layout: RedoLayout) -> RedoCapacity:
    """Return the limits of MySQL 8.0 before 8.0.30.

    Source: log_calc_max_ages() and log_calc_concurrency_margin() in storage/innobase/log/log0chkp.cc. Statements wait
    in log_free_check_wait(), at the limit less the margin.
    """
    usable = (layout.file_size - 2048) * layout.files
    extra = min(_up(-(-usable // 10)), 1024 * layout.page_size)
    soft = _up(-(-95 * (usable - extra) // 100))
    threads = _THREADS_BESIDE_USERS + layout.thread_concurrency
    pages = _CHECKPOINT_FREE_PER_THREAD * threads + _CHECKPOINT_EXTRA_FREE
    margin = pages * layout.page_size + _down((usable - extra) // 20)
    return RedoCapacity(
        layout,
        usable,
        soft - soft // 8,
        soft - soft // 16,
        soft - margin,
        highest_age=soft - margin,
    )


def capacity_8_0_30(layout: RedoLayout) -> RedoCapacity:
    """Return the limits of MySQL 8.0.30 and later, where 30 of 32 files can hold redo in use.

    Source: storage/innobase/log/log0files_capacity.cc. Statements wait in log_free_check_wait() (log0chkp.cc), at the
    limit less the margin.
    """
    size = layout.size
    usable = _down(size * 30 // 32 - 194_560 - size // 320)
    soft = _down(95 * usable // 100)
    threads = _THREADS_BESIDE_USERS + layout.thread_concurrency
    margin = _CHECKPOINT_FREE_PER_THREAD * threads * layout.page_size + _down(soft // 20) + _FILES_DUMMY_INTAKE
    return RedoCapacity(
        layout,
        usable,
        _down(soft - soft // 8),
        _down(soft - soft // 16),
        soft - margin,
        highest_age=soft - margin,
    )


def two_files(log_size: int) -> RedoLayout:
    """Return the layout of servers with two files by default: each has half of the log, in whole MiB."""
    return RedoLayout(file_size=log_size // 2 // MIB * MIB, files=2)


def one_file(log_size: int) -> RedoLayout:
    """Return the layout of servers with one file."""
    return RedoLayout(file_size=log_size, files=1)


def thirty_two_files(log_size: int) -> RedoLayout:
    """Return the layout of MySQL 8.0.30 and later: 32 files that add up to the capacity."""
    return RedoLayout(file_size=log_size // _REDO_FILES_8_0_30, files=_REDO_FILES_8_0_30)


def _up(size: int) -> int:
    """Round up to whole log blocks."""
    return -(-size // _BLOCK) * _BLOCK


def _down(size: int) -> int:
    """Round down to whole log blocks."""
    return size // _BLOCK * _BLOCK
