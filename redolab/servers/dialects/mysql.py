"""MySQL 5.5 and later, and Percona Server, whose redo log is MySQL's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from redolab.servers.dialects import (
    CAPACITY_IN_FORCE,
    Dialect,
    GetsStuck,
    Initialisation,
    InstanceRequest,
    Resizing,
    Setting,
    SlowLogDetail,
    StartTimeout,
    Version,
    format_since,
    innodb,
    overridden,
)
from redolab.servers.log_writer import LogWriter
from redolab.servers.redo_capacity import (
    RedoCapacity,
    RedoLayout,
    capacity_8_0,
    capacity_8_0_30,
    capacity_before_8_0,
    thirty_two_files,
    two_files,
)
from redolab.servers.redo_counters import Counters
from redolab.units import GIB, MIB

# Versions in which the redo log's format changed, newest first (storage/innobase/include/log0types.h, Log_format).
_REDO_FORMATS = [
    Version(8, 0, 30),
    Version(8, 0, 28),
    Version(8, 0, 19),
    Version(8, 0, 3),
    Version(8, 0, 1),
    Version(5, 7, 9),
    Version(5, 6, 0),
    Version(5, 5, 0),
]
# "combined size of log files must be < 4 GB" (5.5); 512 GB since 5.6.3.
_LARGEST_LOG_5_5 = 2 * (2 * GIB - MIB)

_NO_WAIT_SINCE = Version(9, 0, 0)
"""First version without the wait of buf_read_recv_pages() (buf0rea.cc) while many reads are pending.

The sources of 5.6, 8.0 and 8.4.8 have that wait, that of 9.7.2 does not. The sources of 9.0 to 9.6 were not read.
"""
_GOT_STUCK = Version(9, 7, 0)
"""The series in which recoveries got stuck."""
_READ_THREADS_BY_CPUS_SINCE = Version(8, 4, 0)
"""First version with CPUs / 2 read threads, at least 4, at most 64.

https://dev.mysql.com/doc/refman/8.4/en/innodb-performance-multiple_io_threads.html
"""

_RESIZES_ITSELF = Version(5, 6, 8)
"""First version that makes the log anew at a start if the configured size differs."""

STATUS = {
    "lsn": "Innodb_redo_log_current_lsn",
    "flushed_lsn": "Innodb_redo_log_flushed_to_disk_lsn",
    "checkpoint_lsn": "Innodb_redo_log_checkpoint_lsn",
}
"""Counter → its status variable, of 8.0.30 and later."""

# Counters that 5.5 shows only in the text of SHOW ENGINE INNODB STATUS.
_INNODB_STATUS = {
    "lsn": re.compile(r"Log sequence number\s+(\d+)"),
    "flushed_lsn": re.compile(r"Log flushed up to\s+(\d+)"),
    "checkpoint_lsn": re.compile(r"Last checkpoint at\s+(\d+)"),
    "log_writes": re.compile(r"(\d+) log i/o's done"),
    "dirty_pages": re.compile(r"Modified db pages\s+(\d+)"),
}


# scripts/systemd/mysqld.service.in of MySQL and Percona Server: "Disable service start and stop timeout logic of
# systemd"; mysql-server 9.7.4-2 of Debian sid; packaging/deb-in of MySQL 5.7 and build-ps/debian of Percona Server:
# TimeoutSec=600.
_START_TIMEOUT = StartTimeout(
    unit="mysqld",
    least_s=600,
    shipped="units of MySQL and of Percona's RPMs have no start timeout (TimeoutSec=0, Debian's infinity), those of Percona's .deb and of "
    "older .deb of MySQL 600 s (in a .deb the unit's name is mysql)",
)


_STATEMENTS_BESIDE_ROWS = (
    Setting(
        "binlog_rows_query_log_events", "1", "statements stand beside the rows: what the log holds is read from them"
    ),
)

_SLOW_LOG_DETAIL = SlowLogDetail("log_slow_extra", none="0", all="1")


class MySQL(Dialect):
    """MySQL: 5.5 without metrics, 5.6 and later with them, 8.0.30 and later with a redo log capacity."""

    family = "mysql"
    takes_audit_plugins = False
    start_timeout = _START_TIMEOUT
    ping = ("mysqladmin", "ping")

    def __init__(self, version: Version) -> None:
        self.version = version
        self._has_metrics = version >= Version(5, 6, 0)
        self._has_capacity = version >= Version(8, 0, 30)
        changed = format_since(version, _REDO_FORMATS)
        self.redo_format = self.recovery_code = f"MySQL {changed}"
        self.gets_stuck = GetsStuck.NO
        if version >= _NO_WAIT_SINCE:
            self.recovery_code = f"{self.redo_format}, without the wait for pending reads"
            is_seen = (version.major, version.minor) == (_GOT_STUCK.major, _GOT_STUCK.minor)
            self.gets_stuck = GetsStuck.YES if is_seen else GetsStuck.NOT_KNOWN
        self.redo_in_blocks = True
        self.recovery_log = f"MySQL {version.major}"
        self.old_log_files = () if self._has_metrics else ("ib_logfile0", "ib_logfile1")
        self.prepared_stay = version >= Version(5, 7, 7)
        self.buffers_changes = True
        # Release notes of 5.6.20: 5.5 keeps the bug, 5.6 refuses larger ones, 5.7.5 has neither.
        self.holds_ten_largest_rows = version < Version(5, 7, 5)
        self.doublewrite_files = version >= Version(8, 0, 20)
        self.chooses_page_size = version >= Version(5, 7, 6)
        # The manuals of 5.7 (since 5.7.6) and 8.4 (What Is New); asked of 5.5.9, 5.6.24, 5.7.22, 8.0.15 and 9.7.4.
        self.log_buffer = (64 if version >= Version(8, 4, 0) else 16 if version >= Version(5, 7, 6) else 8) * MIB
        self.has_io_ceiling = self._has_metrics
        self.dumps_pool = self._has_metrics
        self.ships_binary_log = version >= Version(8, 0, 3)
        self.compresses_binary_log = version >= Version(8, 0, 20)
        self.undoes_cut_off_first = True
        self.limits_pool_dump = version >= Version(5, 7, 2)
        self.caches_queries = version < Version(8, 0, 3)
        self.slow_log_detail = _SLOW_LOG_DETAIL if version >= Version(8, 0, 14) else None
        # File_query_log::open (sql/log.cc) takes regular files alone since then.
        self.logs_into_devices = version < Version(5, 7, 0)
        # WL#13689.
        self.flushes_logs_on_usr1 = version >= Version(8, 0, 19)
        self.counts_digests = self._has_metrics
        self.statements_in_binary_log = _STATEMENTS_BESIDE_ROWS if version >= Version(5, 6, 2) else ()
        self.largest_log = 512 * GIB if self._has_metrics else _LARGEST_LOG_5_5
        # Smallest size that a start does not raise (tried on 5.5.9, 5.6.24, 5.7.22, 8.0.15, 9.7.4).
        self.smallest_log = (8 if version >= Version(5, 7, 0) else 2) * MIB

    @override
    def initialisation(self) -> Initialisation:
        if self.version >= Version(5, 7, 6):
            return Initialisation(arguments=["--initialize-insecure"])
        if not self._has_metrics:
            return Initialisation(ready_folder="data")
        return Initialisation(
            arguments=["--bootstrap", "--max_allowed_packet=8M"],
            sql_before="CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @current_hostname='localhost';\n",
            sql_files=["mysql_system_tables.sql", "mysql_system_tables_data.sql"],
        )

    @override
    def layout(self, log_size: int) -> RedoLayout:
        return thirty_two_files(log_size) if self._has_capacity else two_files(log_size)

    @override
    def capacity(self, layout: RedoLayout) -> RedoCapacity:
        if self._has_capacity:
            return capacity_8_0_30(layout)
        if self.version >= Version(8, 0, 0):
            return capacity_8_0(layout)
        return capacity_before_8_0(layout, header=2048)

    @override
    def log_settings(self, log_size: int) -> Sequence[Setting]:
        if self._has_capacity:
            return [Setting("innodb_redo_log_capacity", str(log_size), "the redo log under test")]
        return innodb.two_log_files(self.layout(log_size).file_size)

    @override
    def default_read_threads(self, cpus: int) -> int:
        return min(64, max(4, cpus // 2)) if self.version >= _READ_THREADS_BY_CPUS_SINCE else 4

    @override
    def resizing(self, log_size: int) -> Resizing:
        if self._has_capacity:
            return Resizing(
                f"SET PERSIST innodb_redo_log_capacity = {log_size}",
                ["it takes effect at once and is kept; Innodb_redo_log_resize_status says when it is done"],
            )
        return innodb.resized_at_start(*(() if self.version >= _RESIZES_ITSELF else ("ib_logfile0", "ib_logfile1")))

    @override
    def settings(self, request: InstanceRequest) -> Sequence[Setting]:
        settings = [
            *self.log_settings(request.log_size),
            *innodb.baseline(request),
            *innodb.binary_log(request, synced=1 if self.version >= Version(5, 7, 7) else 0),
            *innodb.slow_log(request),
            *innodb.high_age(request, low_water_mark=self._has_metrics, idle_flush=self.version >= Version(8, 0, 18)),
            *innodb.measured(request, stored_statistics=self._has_metrics),
            *innodb.redo_apart(request),
        ]
        if self._has_metrics:
            settings += innodb.no_warm_up()
            settings.append(Setting("innodb_monitor_enable", "log_%", "the redo counters are metrics in this family"))
        if self.version >= Version(5, 7, 2):
            settings.append(Setting("log_error_verbosity", "3", "the lines of a recovery are notes"))
            settings.append(Setting("secure_file_priv", '""', "the default folder is not in the sandbox"))
        if self.version >= Version(8, 0, 11):
            settings.append(Setting("mysqlx", "0", "nobody else is to reach it"))
        return overridden(settings, request)

    @override
    def log_writer(self, variables: Mapping[str, str]) -> LogWriter:
        # Percona Server 5.5 and 5.6 have blocks of other sizes, 5.7 and later write ahead.
        return LogWriter(
            block=int(variables.get("innodb_log_block_size", 512)),
            write_ahead=int(variables.get("innodb_log_write_ahead_size", 0)),
            splits=self.version >= Version(8, 0, 11),
        )

    @override
    def counters_statement(self) -> str:
        if not self._has_metrics:
            return "SHOW ENGINE INNODB STATUS"
        in_performance_schema = self.version >= Version(5, 7, 6)
        return innodb.status_and_metrics(
            "performance_schema.global_status" if in_performance_schema else "information_schema.GLOBAL_STATUS"
        )

    @override
    def status_statement(self) -> str | None:
        return None if self._has_metrics else innodb.show_status(innodb.STATUS.values())

    @override
    def counters(self, rows: Sequence[Sequence[Any]]) -> Counters:
        if self._has_metrics or len(rows) > 1:
            return innodb.counters_of(rows, innodb.STATUS, innodb.METRICS)
        return counters_of_innodb_status(rows)

    @override
    def log_size(self, variables: Mapping[str, str]) -> int:
        if self._has_capacity:
            # By the manual innodb_log_file_size and innodb_log_files_in_group, which 9.7 has no more, can set another
            # size.
            return int(variables.get(CAPACITY_IN_FORCE.lower()) or variables["innodb_redo_log_capacity"])
        return innodb.size_of_files(variables)


def counters_of_innodb_status(rows: Sequence[Sequence[Any]]) -> Counters:
    """Return the counters in the single row of SHOW ENGINE INNODB STATUS."""
    text = str(rows[0][2])
    found = {name: int(match[1]) for name, each in _INNODB_STATUS.items() if (match := each.search(text))}
    return Counters(**found).with_age()
