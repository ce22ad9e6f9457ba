"""MariaDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redolab.sampling import Counters
from redolab.servers.dialects import Dialect, Initialisation, InstanceRequest, Purpose, Setting, Version
from redolab.units import MIB

_STATUS = {
    "lsn": "Innodb_lsn_current",
    "flushed_lsn": "Innodb_lsn_flushed",
    "checkpoint_lsn": "Innodb_lsn_last_checkpoint",
    "checkpoint_age": "Innodb_checkpoint_age",
    "users_wait_age": "Innodb_checkpoint_max_age",
    "os_log_written": "Innodb_os_log_written",
    "log_writes": "Innodb_log_writes",
    "log_write_requests": "Innodb_log_write_requests",
    "dirty_pages": "Innodb_buffer_pool_pages_dirty",
    "pages_written": "Innodb_buffer_pool_pages_flushed",
    "page_size": "Innodb_page_size",
    "uptime": "Uptime",
}


class MariaDB(Dialect):
    """MariaDB 10.8 and later: one redo log file of settable size."""

    family = "mariadb"

    def __init__(self, version: Version) -> None:
        self.version = version
        # storage/innobase/include/log0log.h: FILE_SIZE_MIN is 4 MiB since 10.8.
        self.smallest_log = 4 * MIB
        # "Phys" in the log's header since 10.8.0 (MDEV-14425).
        self.redo_format = "mariadb-10.8"

    def initialisation(self) -> Initialisation:
        """See `Dialect`."""
        return Initialisation(
            arguments=["--bootstrap", "--skip-log-bin", "--max_allowed_packet=8M", "--net_buffer_length=16K"],
            sql_before="CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n",
            sql_files=[
                "mysql_system_tables.sql",
                "mysql_performance_tables.sql",
                "mysql_system_tables_data.sql",
                "fill_help_tables.sql",
                "maria_add_gis_sp_bootstrap.sql",
                "mysql_sys_schema.sql",
            ],
            sql_after="",
        )

    def settings(self, request: InstanceRequest) -> Sequence[Setting]:
        """See `Dialect`."""
        baseline = [
            Setting("innodb_log_file_size", str(request.log_size), "the redo log under test"),
            Setting("innodb_buffer_pool_size", str(request.buffer_pool), "the buffer pool under test"),
            Setting("innodb_flush_log_at_trx_commit", str(request.flush_log_at_trx_commit), "as asked"),
            Setting("innodb_doublewrite", "ON", "production baseline: torn pages must be recoverable"),
            Setting("innodb_flush_method", "O_DIRECT", "production baseline: pages are cached once"),
            Setting("innodb_file_per_table", "ON", "production baseline"),
            Setting("innodb_buffer_pool_dump_at_shutdown", "OFF", "a warm-up would read beside the recovery"),
            Setting("innodb_buffer_pool_load_at_startup", "OFF", "a warm-up would read beside the recovery"),
            Setting("skip_name_resolve", None, "the only client is on the socket"),
        ]
        if request.binary_log:
            baseline += [
                Setting("log_bin", "binlog", "as asked"),
                Setting("server_id", "1", "the binary log wants one"),
            ]
        return [*baseline, *_FILL] if request.purpose is Purpose.FILL else baseline

    def counters_statement(self) -> str:
        """See `Dialect`."""
        names = ", ".join(f"'{name}'" for name in _STATUS.values())
        return f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})"

    def counters(self, rows: Mapping[str, str]) -> Counters:
        """See `Dialect`."""
        values = {field: int(rows[name]) for field, name in _STATUS.items() if name in rows}
        # log0log.cc, log_set_capacity(): the page cleaner starts to flush hard at 7/8 of the age at which users wait.
        forced = values["users_wait_age"] * 7 // 8 if "users_wait_age" in values else None
        return Counters(**values, flush_forced_age=forced)


_FILL = (
    Setting("innodb_max_dirty_pages_pct", "99", "keeps the checkpoint age high: dirty pages stay in the pool"),
    Setting(
        "innodb_max_dirty_pages_pct_lwm",
        "0",
        "keeps the checkpoint age high: no flushing ahead of that limit",
    ),
    Setting("innodb_adaptive_flushing", "OFF", "keeps the checkpoint age high: no flushing by the log's fill rate"),
    Setting("innodb_io_capacity", "100", "keeps the checkpoint age high: what is flushed all the same is little"),
)
