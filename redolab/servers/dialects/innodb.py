"""Common ground of InnoDB in all families: settings, counters from metrics, and the tables that hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from redolab.servers.dialects import REDO, SLOW_LOG, InstanceRequest, Purpose, Resizing, Setting
from redolab.servers.redo_counters import Counters

METRICS = {
    "lsn": "log_lsn_current",
    "flushed_lsn": "log_lsn_last_flush",
    "checkpoint_lsn": "log_lsn_last_checkpoint",
    "checkpoint_age": "log_lsn_checkpoint_age",
    "sync_flush_point": "log_max_modified_age_sync",
    "log_padded": "log_padded",
}
"""Counter → its row in information_schema.INNODB_METRICS."""

STATUS = {
    "os_log_written": "Innodb_os_log_written",
    "log_writes": "Innodb_log_writes",
    "log_write_requests": "Innodb_log_write_requests",
    "log_waits": "Innodb_log_waits",
    "dirty_pages": "Innodb_buffer_pool_pages_dirty",
    "pages_written": "Innodb_buffer_pool_pages_flushed",
    "page_size": "Innodb_page_size",
    "uptime": "Uptime",
}
"""Counter → its global status variable."""

# Numbers instead of ON and OFF: 5.5 ignores the words.
_AGE = "keeps the checkpoint age high: "


def baseline(request: InstanceRequest) -> list[Setting]:
    """Return what every instance is given, in words that every version takes; docs/workloads.md names it."""
    page_size = [] if request.page_size is None else [Setting("innodb_page_size", str(request.page_size), "as asked")]
    return [
        *page_size,
        Setting("innodb_buffer_pool_size", str(request.buffer_pool), "the buffer pool under test"),
        Setting("innodb_flush_log_at_trx_commit", str(request.flush_log_at_trx_commit), "as asked"),
        Setting("innodb_doublewrite", "1", "torn pages must be recoverable"),
        Setting(
            "innodb_flush_method", "O_DIRECT", "pages are read from the storage under test, not from the page cache"
        ),
        Setting("innodb_file_per_table", "1", "the same files on every server"),
        Setting("character_set_server", "utf8mb4", "the same rows on every server, whatever its default"),
        Setting("skip_name_resolve", None, "the only client is on the socket"),
    ]


def no_warm_up() -> list[Setting]:
    """Return the settings that turn off dump and load of the buffer pool, for servers that have them."""
    reason = "a warm-up would read beside the recovery"
    return [
        Setting("innodb_buffer_pool_dump_at_shutdown", "0", reason),
        Setting("innodb_buffer_pool_load_at_startup", "0", reason),
    ]


def binary_log(request: InstanceRequest, *, synced: int) -> list[Setting]:
    """Return the settings of the binary log, on or off whatever the server's default.

    `synced`: the version's own default of sync_binlog.
    """
    if not request.binary_log:
        return [Setting("skip_log_bin", None, "as asked")]
    is_asked = request.sync_binlog is not None
    return [
        Setting("log_bin", "binlog", "as asked"),
        Setting("server_id", "1", "the binary log wants one"),
        Setting(
            "sync_binlog",
            str(request.sync_binlog if is_asked else synced),
            "as asked" if is_asked else "the version's default",
        ),
    ]


def slow_log(request: InstanceRequest) -> list[Setting]:
    """Return the settings that log every statement into a file of the instance's folder."""
    if not request.slow_log:
        return []
    return [
        Setting("slow_query_log", "1", "as asked"),
        Setting("slow_query_log_file", f"../{SLOW_LOG}", "among the instance's files"),
        Setting("long_query_time", "0", "every statement is logged"),
    ]


def high_age(request: InstanceRequest, *, low_water_mark: bool, idle_flush: bool) -> list[Setting]:
    """Return the settings that keep the checkpoint age high while the log fills.

    `low_water_mark` and `idle_flush`: the version has the setting of that name.
    """
    if request.purpose is not Purpose.FILL:
        return []
    settings = [
        Setting("innodb_max_dirty_pages_pct", "99", _AGE + "dirty pages stay in the pool"),
        Setting("innodb_adaptive_flushing", "0", _AGE + "no flushing by the log's fill rate"),
        Setting("innodb_io_capacity", "100", _AGE + "little is flushed beyond what is forced"),
    ]
    if low_water_mark:
        settings.append(Setting("innodb_max_dirty_pages_pct_lwm", "0", _AGE + "no flushing ahead of that limit"))
    if idle_flush:
        settings.append(Setting("innodb_idle_flush_pct", "0", _AGE + "nothing is flushed while idle"))
    return settings


def two_log_files(file_size: int) -> list[Setting]:
    """Return the settings of a redo log in two files of `file_size` bytes each."""
    return [
        Setting("innodb_log_file_size", str(file_size), "the redo log under test"),
        Setting("innodb_log_files_in_group", "2", "the redo log under test"),
    ]


STOP_CLEANLY = (
    "SET GLOBAL innodb_fast_shutdown = 1, stop the server, and see that its error log ends with 'Shutdown complete'"
)
"""A log with redo that is still to be recovered is not made anew."""


def resized_at_start(*old_files: str) -> Resizing:
    """Return the procedure with a restart; `old_files`: files to move away if the server does not do so itself."""
    moved = (
        [f"move {' and '.join(old_files)} out of the data directory; delete them once the server is up"]
        if old_files
        else []
    )
    return Resizing(
        None,
        [STOP_CLEANLY, *moved, "change the lines above in the option file", "start the server: it makes the log anew"],
    )


def measured(request: InstanceRequest, *, stored_statistics: bool) -> list[Setting]:
    """Return the settings of an instance whose log writes are counted: only the clients cause writes.

    `stored_statistics`: the version keeps table statistics in tables of its own, which it updates in the background.
    """
    if request.purpose is not Purpose.MEASURE:
        return []
    settings = [
        Setting("performance_schema", "1", "counts what is written to each file"),
        Setting("innodb_adaptive_flushing", "0", "pages are flushed before a measurement, not during it"),
        Setting("innodb_io_capacity", "5000", "pages are flushed before a measurement, and quickly then"),
    ]
    if stored_statistics:
        settings.append(Setting("innodb_stats_persistent", "0", "statistics kept in tables are written redo for"))
    return settings


def redo_apart(request: InstanceRequest) -> list[Setting]:
    """Return the setting that moves the redo log out of the data directory, if the request asks for that."""
    if not request.redo_apart:
        return []
    return [Setting("innodb_log_group_home_dir", f"../{REDO}", "the redo log is alone on a device")]


def size_of_files(variables: Mapping[str, str]) -> int:
    """Return the bytes of all redo log files together, where the setting is the size of one file."""
    return int(variables["innodb_log_file_size"]) * int(variables.get("innodb_log_files_in_group", 1))


def status_and_metrics(status_table: str) -> str:
    """Return one statement that reads status variables, from `status_table`, and metrics at the same instant."""
    return (
        f"SELECT VARIABLE_NAME, VARIABLE_VALUE FROM {status_table} WHERE VARIABLE_NAME IN ({_quoted(STATUS.values())}) "
        "UNION ALL SELECT NAME, COUNT FROM information_schema.INNODB_METRICS "
        f"WHERE STATUS = 'enabled' AND NAME IN ({_quoted(METRICS.values())})"
    )


def show_status(names: Iterable[str]) -> str:
    """Return one statement that reads these status variables."""
    return f"SHOW GLOBAL STATUS WHERE Variable_name IN ({_quoted(names)})"


def counters_of(rows: Sequence[Sequence[Any]], *sources: Mapping[str, str]) -> Counters:
    """Return the counters in rows of (name, value); `sources` map counters to names."""
    values = {_text(name).lower(): _text(value) for name, value in rows}
    return Counters(
        **{
            counter: int(values[name.lower()])
            for source in sources
            for counter, name in source.items()
            if values.get(name.lower(), "").isdigit()
        }
    )


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _text(value: object) -> str:
    # A UNION of text and numbers comes back as bytes from some versions.
    return value.decode() if isinstance(value, bytes) else str(value)
