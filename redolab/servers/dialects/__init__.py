"""Differences between server families and versions: the contract, and the dialect of a given server.

One module a family. Only this package, and `errorlog` for logs of servers that the lab cannot run, knows a server's
name or compares versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from redolab.errors import InvalidInput
from redolab.servers.log_writer import LogWriter
from redolab.servers.redo_capacity import RedoCapacity, RedoLayout
from redolab.servers.redo_counters import Counters
from redolab.units import GIB

_LAST = 99
"""A patch level that no series gets to."""
_FIRST_FOR_ALL = {("mysql", 5, 6): 10, ("mysql", 5, 7): 9}
"""Family, major, minor → the patch level of the first release for everybody, where earlier ones were previews."""
_FAMILIES = {"mysql": "mysql", "percona": "mysql", "mariadb": "mariadb"}
"""Product → family."""
SERVER_NAME = re.compile(r"(mysql|percona|mariadb)[- ]?(\d+(?:\.\d+){0,2})", re.IGNORECASE)
"""Product and version, as in `mysql-8.4.3`."""
_PROCESS = re.compile(r"mysqld(?:-debug)?|mariadbd")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A server's version, as in 10.11.19."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """Parse the first number of two or three parts in `text`. Raises `InvalidInput` if there is none."""
        match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
        if match is None:
            raise InvalidInput(f"'{text}' names no version")
        return cls(int(match[1]), int(match[2]), int(match[3] or 0))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


class Purpose(StrEnum):
    """Use of an instance, as far as its settings depend on it."""

    LOAD = "load"
    FILL = "fill"
    RECOVER = "recover"
    MEASURE = "measure"
    """Count the bytes written to the redo log, with as few background writes as possible."""
    PRODUCTION = "production-defaults"
    """Settings as the vendor ships them, except those named in docs/workloads.md."""
    PRODUCTION_1000 = "production"
    """`PRODUCTION` with `innodb_io_capacity` 1000 and a maximum of 2000. Only in runs made until 2026-11-28."""

    @property
    def is_production(self) -> bool:
        """Return True if the load flushed as in production: under either setting."""
        return self in (Purpose.PRODUCTION, Purpose.PRODUCTION_1000)


@dataclass(frozen=True, slots=True)
class Setting:
    """A line of an option file; `value` None stands for an option without one."""

    name: str
    value: str | None
    reason: str = field(compare=False)
    """Reason for the setting, in prose. Comparison of settings ignores it."""


@dataclass(frozen=True, slots=True)
class InstanceRequest:
    """Properties that an instance must have, in terms that every dialect can translate; sizes in bytes."""

    purpose: Purpose
    log_size: int
    buffer_pool: int
    flush_log_at_trx_commit: int = 1
    binary_log: bool = False
    redo_apart: bool = False
    """The redo log lies in the folder `REDO` of the instance, on a file system of its own."""
    sync_binlog: int | None = None
    """Value of `sync_binlog`. None: the version's default, which the option file states."""
    slow_log: bool = False
    """True if the instance logs every statement into its file `SLOW_LOG`."""
    network: bool = False
    """True if the instance also listens on TCP, in a network namespace of its own."""
    page_size: int | None = None
    """Size of InnoDB's pages in bytes, fixed when the data directory is made. None: the server's default."""
    overrides: tuple[Setting, ...] = ()
    """Settings that take the place of the lab's own, each with its reason."""
    without: tuple[str, ...] = ()
    """The lab's own settings that are left out: some cannot be turned off by a value."""


@dataclass(frozen=True, slots=True)
class Initialisation:
    """Steps that turn an empty data directory into one that a server starts on."""

    arguments: Sequence[str] = ()
    """Arguments of the single server run that makes the data directory; empty if no such run is needed."""
    sql_before: str = ""
    """SQL that the server run reads first."""
    sql_files: Sequence[str] = ()
    """Files of the server's share folder that the server run reads after `sql_before`."""
    ready_folder: str | None = None
    """A data directory that came with the server, beside its share folder, of which a copy is made first."""


class GetsStuck(StrEnum):
    """Knowledge about recoveries in more than one batch that never end (docs/results/stuck.md)."""

    NO = "no"
    """The source has the wait that prevents it, or other code recovers, and no recovery got stuck."""
    YES = "yes"
    """The wait is missing in the source, and recoveries got stuck."""
    NOT_KNOWN = "not known"
    """The release was neither tried nor read; the nearest known ones differ from each other, or get stuck."""


@dataclass(frozen=True, slots=True)
class Resizing:
    """Procedure that changes the size of the redo log on a server in production."""

    statement: str | None
    """Statement that resizes the log while the server runs. None: the change takes a restart."""
    steps: Sequence[str]
    """Steps of the restart, or remarks on the statement, in order. The same steps with the old size undo the change."""


@dataclass(frozen=True, slots=True)
class StartTimeout:
    """Time that the vendors' systemd units allow a start, and so a recovery, to take."""

    unit: str
    least_s: int
    """Shortest timeout of the vendors' units, in seconds."""
    shipped: str
    """Prose that names each unit and its timeout."""
    is_extended: bool = False
    """True if a recovery that progresses extends the timeout. Without effect on a Galera node (MDEV-17934)."""


@dataclass(frozen=True, slots=True)
class SlowLogDetail:
    """The variable that adds plan and InnoDB's figures to a statement in the slow query log."""

    variable: str
    none: str
    """Value of the variable that adds no figures."""
    all: str
    """Value of the variable that adds all figures."""


class Dialect(Protocol):
    """Contract of the code that talks to servers of one family; an object is made for one version."""

    family: str
    version: Version
    smallest_log: int
    """Smallest total size of all redo log files, in bytes."""
    largest_log: int
    old_log_files: Sequence[str]
    """Redo log files that must be removed after a clean shutdown before a log of another size can be had."""
    prepared_stay: bool
    """True if prepared XA transactions outlive the connection that prepared them."""
    buffers_changes: bool
    """True if InnoDB has a change buffer."""
    log_buffer: int
    """Bytes of `innodb_log_buffer_size` as shipped."""
    holds_ten_largest_rows: bool
    """True if the redo log must be ten times as large as the BLOBs of the largest row together (MySQL bug 69477)."""
    doublewrite_files: bool
    """True if the doublewrite buffer has files of its own, whose number and size are settings."""
    chooses_page_size: bool
    has_io_ceiling: bool
    """True if the server has `innodb_io_capacity_max`."""
    dumps_pool: bool
    """True if the server can dump its buffer pool and load the dump at a start."""
    ships_binary_log: bool
    """True if the binary log is on as shipped (MySQL 8.0.3)."""
    compresses_binary_log: bool
    """True if transactions in the binary log can be compressed (8.0.20)."""
    undoes_cut_off_first: bool
    """True if a transaction that a crash cuts off in the binary log is rolled back before the server is ready."""
    limits_pool_dump: bool
    """True if the server has `innodb_buffer_pool_dump_pct`; without it a dump has all pages."""
    caches_queries: bool
    """True if the server has a query cache."""
    slow_log_detail: SlowLogDetail | None
    """Detail of the slow query log. None: the log has only one form."""
    logs_into_devices: bool
    """True if the file of a query log may be a device such as /dev/null."""
    flushes_logs_on_usr1: bool
    """True if SIGUSR1 makes the server reopen its error, general and slow query logs, and does nothing else."""
    counts_digests: bool
    """True if performance_schema counts statements by digest."""
    takes_audit_plugins: bool
    """True if the server loads MariaDB's audit plugins."""
    statements_in_binary_log: Sequence[Setting]
    """Settings that put the text of every statement into the binary log; empty where the server always writes it."""
    redo_format: str
    """Servers with the same word here can recover each other's crash images."""
    recovery_code: str
    """Servers with the same word here recover by the same code, as far as known: their times are comparable."""
    gets_stuck: GetsStuck
    """Knowledge about recoveries in more than one batch that never end."""
    redo_in_blocks: bool
    """True if the redo log consists of numbered blocks, which show where the log ends."""
    recovery_log: str
    """Servers with the same word here write the same lines into their log while they recover."""
    start_timeout: StartTimeout
    ping: Sequence[str]
    """Command of the server's image that fails until the server takes connections."""

    def initialisation(self) -> Initialisation:
        """Return the steps that make a data directory."""

    def layout(self, log_size: int) -> RedoLayout:
        """Return the files of a redo log of `log_size` bytes in all, or of the nearest size that is possible."""

    def capacity(self, layout: RedoLayout) -> RedoCapacity:
        """Return the redo that a log of this layout can hold, by the formula in the source of this version."""

    def log_size(self, variables: Mapping[str, str]) -> int:
        """Return the size of all redo log files together in bytes, from the server's own variables."""

    def log_settings(self, log_size: int) -> Sequence[Setting]:
        """Return the lines of an option file that make a redo log of `log_size` bytes."""

    def default_read_threads(self, cpus: int) -> int:
        """Return the default of innodb_read_io_threads on a host with that many CPUs."""

    def resizing(self, log_size: int) -> Resizing:
        """Return the procedure that gives the redo log of a production server `log_size` bytes."""

    def settings(self, request: InstanceRequest) -> Sequence[Setting]:
        """Return every line of an instance's option file with its reason, the request's own settings included."""

    def log_writer(self, variables: Mapping[str, str]) -> LogWriter:
        """Return the model of how this version cuts redo into writes, for the variables that the server reports."""

    def counters_statement(self) -> str:
        """Return one statement that reads the redo counters at one instant."""

    def counters(self, rows: Sequence[Sequence[Any]]) -> Counters:
        """Return the counters in the rows that `counters_statement` or `status_statement` returned."""

    def status_statement(self) -> str | None:
        """Return a second statement for counters that the first one lacks. None: the first one reads them all.

        The two agree on the instant only if nothing is written in between.
        """
        return None


def dialect_of(family: str, version: Version) -> Dialect:
    """Return the dialect of servers of that family and version. Raises `InvalidInput` for an unknown family."""
    from redolab.servers.dialects.mariadb import MariaDB
    from redolab.servers.dialects.mysql import MySQL

    families: dict[str, type[MariaDB] | type[MySQL]] = {each.family: each for each in (MySQL, MariaDB)}
    if family not in families:
        raise InvalidInput(f"there is no server family '{family}'", f"choose from {', '.join(families)}")
    return families[family](version)


def dialect_of_version(version_text: str) -> Dialect:
    """Return the dialect of a server, from the version that it reports. Raises `InvalidInput` if there is none."""
    return dialect_of(family_of(version_text), Version.parse(version_text))


def dialect_named(name: str) -> Dialect:
    """Return the dialect of a product and version, as in percona-8.0.36; in mysql-9, of the first release.

    Raises `InvalidInput`.
    """
    # A build may follow, as in percona-8.0.36-28.
    match = SERVER_NAME.match(name)
    if match is None:
        raise InvalidInput(f"'{name}' names no server", "name product and version, as in mysql-9 or percona-8.0.36")
    product, version = match[1].lower(), match[2]
    return dialect_of(_FAMILIES[product], Version.parse(version if "." in version else f"{version}.0"))


def later_differ(family: str, version: Version) -> bool:
    """Return True if later releases of the series recover by other code or resize the redo log in another way."""
    first = replace(version, patch=max(version.patch, _FIRST_FOR_ALL.get((family, version.major, version.minor), 0)))
    here, last = (dialect_of(family, each) for each in (first, replace(version, patch=_LAST)))
    return here.recovery_code != last.recovery_code or here.resizing(GIB) != last.resizing(GIB)


def format_since(version: Version, changes: Sequence[Version]) -> Version:
    """Return the latest of `changes` (newest first) that a version has. Raises `InvalidInput` if it has none."""
    for change in changes:
        if version >= change:
            return change
    raise InvalidInput(f"version {version} is older than any that the lab knows", f"it begins with {changes[-1]}")


def other_than_expected(version: str, expected: str) -> bool:
    """Return True if the version of a server, whoever built it, differs from the one in its catalogue entry."""
    return Version.parse(version) != Version.parse(expected)


def family_of(version_text: str) -> str:
    """Return the family of a server, from the version that it reports or the text of its `--version`."""
    return "mariadb" if "MariaDB" in version_text else "mysql"


def server_name_of(version_text: str) -> str:
    """Return family and version, as in mariadb-10.11.19, from the version that a server reports.

    Raises `InvalidInput` if there is none.
    """
    return f"{family_of(version_text)}-{Version.parse(version_text)}"


def is_server_process(name: str) -> bool:
    """Return True if a process of that name is a server."""
    return _PROCESS.fullmatch(name) is not None


def overridden(settings: Sequence[Setting], request: InstanceRequest) -> list[Setting]:
    """Return the settings with a request's changes: some left out, some replaced, additional ones last."""
    replaced = {_option(override.name): override for override in request.overrides}
    left_out = {_option(name) for name in request.without}
    changed = [
        replaced.pop(_option(setting.name), setting) for setting in settings if _option(setting.name) not in left_out
    ]
    return [*changed, *replaced.values()]


def option_file(settings: Sequence[Setting], instance: Path, base: Path, share: Path, *, network: bool = False) -> str:
    """Return the text of an instance's option file; all paths as the server sees them.

    Raises `InvalidInput` for a setting that would take more than one line.
    """
    private = [
        Setting("datadir", str(instance / "data"), "the instance's own folder"),
        Setting("tmpdir", str(instance / "tmp"), "the instance's own folder"),
        Setting("socket", str(instance / SOCKET), "the only way in" if not network else "the lab's own way in"),
        Setting("pid_file", str(instance / "server.pid"), "the instance's own folder"),
        *(_on_the_network() if network else [Setting("skip_networking", None, "nobody else is to reach it")]),
        Setting("basedir", str(base), "the server does not lie where it was built to lie"),
        Setting("lc_messages_dir", str(share), "the server does not lie where it was built to lie"),
        Setting("character_sets_dir", str(share / "charsets"), "the server does not lie where it was built to lie"),
    ]
    return "[mysqld]\n" + "".join(f"{_line(setting)}\n" for setting in (*private, *settings))


def _line(setting: Setting) -> str:
    line = f"{setting.name}{'' if setting.value is None else f' = {setting.value}'}  # {setting.reason}"
    if not line.isprintable():
        raise InvalidInput(f"{line!r} cannot be a line of an option file", "use no control characters")
    return line


def _on_the_network() -> list[Setting]:
    reason = "clients that know no socket join the network namespace that it has to itself"
    return [Setting("bind_address", "127.0.0.1", reason), Setting("port", str(PORT), reason)]


def _option(name: str) -> str:
    """Return the name of a setting in the form in which servers compare it."""
    return name.replace("-", "_").lower()


CAPACITY_IN_FORCE = "Innodb_redo_log_capacity_resized"
"""The status variable of servers that have one: bytes of the redo log as it is, however its size was set."""
PORT = 3306
"""TCP port of an instance, in a network namespace of its own."""

SOCKET = "server.sock"
"""The socket's name in an instance's folder."""

LARGEST_BINARY_LOG = GIB
"""Default of max_binlog_size in bytes, of MySQL and MariaDB. A transaction is never split, so a file can be larger."""
REDO = "redo"
"""The folder in an instance's folder for a redo log that lies apart."""
SLOW_LOG = "slow.log"
"""The file in an instance's folder for a slow query log that was asked for."""
