"""MariaDB 10.2 and later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import override

from redolab.servers.dialects import (
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
from redolab.servers.redo_capacity import RedoCapacity, RedoLayout, capacity_before_8_0, one_file, two_files
from redolab.servers.redo_counters import Counters
from redolab.units import GIB, MIB

_RESIZES_ONLINE = Version(10, 9, 0)
"""MDEV-27812."""

STATUS = {
    **innodb.STATUS,
    "lsn": "Innodb_lsn_current",
    "flushed_lsn": "Innodb_lsn_flushed",
    "checkpoint_lsn": "Innodb_lsn_last_checkpoint",
    "checkpoint_age": "Innodb_checkpoint_age",
    "hard_limit": "Innodb_checkpoint_max_age",
}
# Versions in which the redo log's format changed, newest first (storage/innobase/include/log0log.h, log_t::FORMAT_*).
_REDO_FORMATS = [Version(10, 8, 0), Version(10, 5, 0), Version(10, 4, 0), Version(10, 3, 0), Version(10, 2, 0)]


# From when on support-files/mariadb.service.in has TimeoutStartSec=900 (MDEV-17571); before it is systemd's default.
_PATIENT_SINCE = {(10, 1): 44, (10, 2): 31, (10, 3): 22, (10, 4): 12, (10, 5): 1}
# mariadb-server 10.11.19 of Debian 12, 11.8.9 of 13; log0recv.cc asks for 30 s more with each report of its progress
# (INNODB_EXTEND_TIMEOUT_INTERVAL, service_manager_extend_timeout).
_PATIENT = StartTimeout(
    unit="mariadb",
    least_s=900,
    shipped="MariaDB's unit has TimeoutStartSec=900, and the server has it extended while InnoDB recovers (EXTEND_TIMEOUT_USEC, "
    "systemd 236 and later); not on a Galera node, which recovers in ExecStartPre (galera_recovery): there systemd takes no such "
    "request, and TimeoutStartSec has to cover the whole recovery (MDEV-17934)",
    is_extended=True,
)
_IMPATIENT = StartTimeout(
    unit="mariadb",
    least_s=90,
    shipped="MariaDB's unit of that version has no TimeoutStartSec, so systemd's default holds, 90 s, which has killed recoveries "
    "(MDEV-17934)",
)
_REWRITTEN_SINCE = Version(10, 11, 3)
_REWRITTEN_IN_10_6 = Version(10, 6, 13)
"""Recovery was rewritten in these (MDEV-29911), whatever the format of redo."""


class MariaDB(Dialect):
    """MariaDB; up to 10.4 with a number of log files, since 10.5 with one."""

    family = "mariadb"
    slow_log_detail = SlowLogDetail("log_slow_verbosity", none="''", all="'query_plan,innodb,explain'")
    logs_into_devices = True
    flushes_logs_on_usr1 = False
    counts_digests = True
    takes_audit_plugins = True
    gets_stuck = GetsStuck.NO
    log_buffer = 16 * MIB

    def __init__(self, version: Version) -> None:
        self.version = version
        self.prepared_stay = version >= Version(10, 5, 0)
        self.buffers_changes = version < Version(11, 0, 0)
        self.holds_ten_largest_rows = version < Version(10, 2, 0)
        self.doublewrite_files = False
        self.chooses_page_size = True
        self.has_io_ceiling = True
        self.dumps_pool = self.limits_pool_dump = True
        self.ships_binary_log = self.compresses_binary_log = False
        # MDEV-33853; 10.11 and 11.8 were measured, the versions between them are taken for the slower.
        self.undoes_cut_off_first = version < Version(11, 8, 0)
        self.caches_queries = True
        self.statements_in_binary_log = ()
        self._one_file = version >= Version(10, 5, 0)
        self._status_names = version >= Version(10, 5, 0)
        self._plain_header = version < Version(10, 8, 0)
        # The servers refuse to start with less (tried on 10.2.11, 10.5.23, 10.11.18, 11.4.5, 11.8.6).
        self.smallest_log = (4 if version >= Version(10, 8, 0) else 2) * MIB
        self.largest_log = 512 * GIB
        self.old_log_files: tuple[str, ...] = ()
        changed = format_since(version, _REDO_FORMATS)
        self.redo_format = f"MariaDB {changed.major}.{changed.minor}"
        rewritten = version >= _REWRITTEN_SINCE or _REWRITTEN_IN_10_6 <= version < Version(10, 7, 0)
        self.recovery_code = "MDEV-29911" if rewritten else self.redo_format
        self.redo_in_blocks = version < Version(10, 8, 0)
        self.recovery_log = "MariaDB 10.6" if version >= Version(10, 6, 0) else "MariaDB 10.2"
        # The names mariadb-* came with 10.4.6; the images of 11.0 and later have no others.
        self.ping = ("mariadb-admin" if version >= Version(10, 4, 6) else "mysqladmin", "ping")
        patient_since = _PATIENT_SINCE.get((version.major, version.minor), 0)
        self.start_timeout = _PATIENT if version.patch >= patient_since else _IMPATIENT

    @override
    def initialisation(self) -> Initialisation:
        prefix = "mariadb" if self.version >= Version(11, 0, 0) else "mysql"
        return Initialisation(
            arguments=["--bootstrap", "--skip-log-bin", "--max_allowed_packet=8M"],
            sql_before=(
                "CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\n"
                "SET @auth_root_socket=NULL, @current_hostname='localhost', @skip_auth_anonymous=1;\n"
            ),
            sql_files=[
                f"{prefix}_system_tables.sql",
                f"{prefix}_performance_tables.sql",
                f"{prefix}_system_tables_data.sql",
            ],
        )

    @override
    def layout(self, log_size: int) -> RedoLayout:
        return one_file(log_size) if self._one_file else two_files(log_size)

    @override
    def capacity(self, layout: RedoLayout) -> RedoCapacity:
        header = 2048 if self._plain_header else 12288
        return capacity_before_8_0(layout, header=header, forced_at_limit=self._one_file)

    @override
    def log_settings(self, log_size: int) -> Sequence[Setting]:
        layout = self.layout(log_size)
        if not self._one_file:
            return innodb.two_log_files(layout.file_size)
        return [Setting("innodb_log_file_size", str(layout.file_size), "the redo log under test")]

    @override
    def default_read_threads(self, cpus: int) -> int:
        return 4

    @override
    def resizing(self, log_size: int) -> Resizing:
        if self.version < _RESIZES_ONLINE:
            return innodb.resized_at_start()
        return Resizing(
            f"SET GLOBAL innodb_log_file_size = {log_size}",
            [
                "change the line above in the option file too, or the next start has the old size",
                "only with the fixes of MDEV-34750 and MDEV-35577 (10.11.11 has both): else set it in the option file and restart, as "
                "a server that is killed soon after the statement may not recover",
            ],
        )

    @override
    def settings(self, request: InstanceRequest) -> Sequence[Setting]:
        settings = [
            *self.log_settings(request.log_size),
            *innodb.baseline(request),
            *innodb.no_warm_up(),
            *innodb.binary_log(request, synced=0),
            *innodb.slow_log(request),
            *innodb.high_age(request, low_water_mark=True, idle_flush=not self._one_file),
            *innodb.measured(request, stored_statistics=True),
            *innodb.redo_apart(request),
        ]
        if not self._status_names:
            settings.append(Setting("innodb_monitor_enable", "log_%", "the redo counters are metrics in this version"))
        if self.version >= Version(11, 4, 0):
            settings.append(
                Setting("ssl", "OFF", "no client is on a network, and making a key takes seconds at each start")
            )
        return overridden(settings, request)

    @override
    def log_writer(self, variables: Mapping[str, str]) -> LogWriter:
        if self._plain_header:
            return LogWriter(write_ahead=int(variables["innodb_log_write_ahead_size"]))
        # Since 10.8 the log is a stream of bytes without block headers; what a write is aligned to depends on the disk.
        return LogWriter(header=0, trailer=0, opens_next=False)

    @override
    def log_size(self, variables: Mapping[str, str]) -> int:
        # With one file innodb_log_files_in_group, which an old option file may set, has no effect.
        return int(variables["innodb_log_file_size"]) if self._one_file else innodb.size_of_files(variables)

    @override
    def counters_statement(self) -> str:
        if self._status_names:
            return innodb.show_status(STATUS.values())
        return innodb.status_and_metrics("information_schema.GLOBAL_STATUS")

    @override
    def counters(self, rows: Sequence[Sequence[Any]]) -> Counters:
        if not self._status_names:
            return innodb.counters_of(rows, innodb.STATUS, innodb.METRICS)
        counters = innodb.counters_of(rows, STATUS)
        if counters.hard_limit is None:
            return counters
        # log_close() in mtr0mtr.cc: only there is flushing asked for regardless of the I/O capacity.
        return replace(counters, sync_flush_point=counters.hard_limit)
