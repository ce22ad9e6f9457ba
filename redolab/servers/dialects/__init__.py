"""What differs between server families and versions: the contract, and the dialect of a given server.

One module a family. Nothing outside this folder knows a server's name or compares a version, but for `errorlog`, which
reads logs of servers that the lab cannot run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from redolab.counters import Counters
from redolab.errors import InvalidInput
from redolab.models.capacity import RedoCapacity, RedoLayout
from redolab.models.inflation import LogWriter
from redolab.units import GIB

_LAST = 99
"""A patch level that no series gets to."""
_FIRST_FOR_ALL = {("mysql", 5, 6): 10, ("mysql", 5, 7): 9}
"""Family, major, minor → the patch level of the first release for everybody, where earlier ones were previews."""


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A server's version, as in 10.11.19."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """The first number of two or three parts in `text`. Raises `InvalidInput` if there is none."""
        match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
        if match is None:
            raise InvalidInput(f"'{text}' names no version")
        return cls(int(match[1]), int(match[2]), int(match[3] or 0))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


class Purpose(StrEnum):
    """What an instance is for, as far as its settings differ."""

    LOAD = "load"
    FILL = "fill"
    RECOVER = "recover"
    MEASURE = "measure"
    """Counting what is written to the redo log, with as little written in the background as can be."""
    PRODUCTION = "production-defaults"
    """As its vendor ships it, but for what docs/workloads.md names."""
    PRODUCTION_1000 = "production"
    """The same with `innodb_io_capacity` 1000 and a maximum of 2000: in runs made until 2026-11-28, started no more."""

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
    """Why it is set: prose, which makes no setting another one."""


@dataclass(frozen=True, slots=True)
class InstanceRequest:
    """What an instance is to be like, in words that every dialect can translate; sizes in bytes."""

    purpose: Purpose
    log_size: int
    buffer_pool: int
    flush_log_at_trx_commit: int = 1
    binary_log: bool = False
    redo_apart: bool = False
    """The redo log lies in the folder `REDO` of the instance, on a file system of its own."""
    sync_binlog: int | None = None
    """None: the version's own default, which is written out."""
    slow_log: bool = False
    """Whether it logs every statement, into the file `SLOW_LOG` of the instance."""
    network: bool = False
    """Whether it listens on TCP too, in a network namespace of its own."""
    page_size: int | None = None
    """Of InnoDB's pages, which a data directory has for ever; None: the server's default."""
    overrides: tuple[Setting, ...] = ()
    """Settings that take the place of the lab's own, each with its reason."""
    without: tuple[str, ...] = ()
    """The lab's own settings that are left out: some cannot be turned off by a value."""


@dataclass(frozen=True, slots=True)
class Initialisation:
    """How an empty data directory becomes one that a server starts on."""

    arguments: Sequence[str] = ()
    """With which the server is run once to make it; none if it is not."""
    sql_before: str = ""
    """What that run is fed with: this,"""
    sql_files: Sequence[str] = ()
    """and then these files of the server's share folder."""
    ready_folder: str | None = None
    """A data directory that came with the server, beside its share folder, of which a copy is made first."""


class GetsStuck(StrEnum):
    """What is known of recoveries in more than one batch that never end (docs/results/stuck.md)."""

    NO = "no"
    """The source has the wait that prevents it, or other code recovers, and no recovery of it got stuck."""
    YES = "yes"
    """The wait is missing in the source, and recoveries got stuck."""
    NOT_KNOWN = "not known"
    """The release was not tried and its source was not read; the nearest ones with known source differ, or get stuck."""


@dataclass(frozen=True, slots=True)
class Resizing:
    """How a redo log is given another size on a server in production."""

    statement: str | None
    """What does it while the server runs; None where it takes a restart."""
    steps: Sequence[str]
    """With a restart, or what to know of the statement, in order; the way back is the same with the old size."""


@dataclass(frozen=True, slots=True)
class StartTimeout:
    """How long the systemd units that vendors ship let a start take, and with it a recovery."""

    unit: str
    least_s: int
    """Seconds: the shortest of them."""
    shipped: str
    """Which unit has which, in words."""
    is_extended: bool = False
    """True if the server asks for more time while its recovery makes progress: in vain on a Galera node (MDEV-17934)."""


@dataclass(frozen=True, slots=True)
class SlowLogDetail:
    """The variable that adds plan and InnoDB's figures to a statement in the slow query log."""

    variable: str
    none: str
    """Its value without them,"""
    all: str
    """and with all of them."""


class Dialect(Protocol):
    """How the lab talks to servers of one family; made for one version."""

    family: str
    version: Version
    smallest_log: int
    """Bytes of all redo log files together, as for `largest_log`."""
    largest_log: int
    old_log_files: Sequence[str]
    """Redo log files that must be removed after a clean shutdown before a log of another size can be had."""
    prepared_stay: bool
    """Whether prepared XA transactions outlive the connection that prepared them."""
    buffers_changes: bool
    """Whether it has a change buffer."""
    log_buffer: int
    """Bytes of `innodb_log_buffer_size` as shipped."""
    holds_ten_largest_rows: bool
    """Whether the redo log has to be ten times as large as the largest row's BLOBs together (MySQL bug 69477)."""
    doublewrite_files: bool
    """Whether the doublewrite buffer lies in files of its own, whose number and size are settings."""
    chooses_page_size: bool
    has_io_ceiling: bool
    """Whether it has `innodb_io_capacity_max`."""
    dumps_pool: bool
    """Whether it can dump its buffer pool, and load it at a start."""
    caches_queries: bool
    """Whether it has a query cache."""
    slow_log_detail: SlowLogDetail | None
    """None where the slow query log has one form."""
    logs_into_devices: bool
    """Whether the file of a query log may be a device, as /dev/null is one."""
    flushes_logs_on_usr1: bool
    """Whether SIGUSR1 has it open its error, general and slow query log anew, and does nothing else."""
    counts_digests: bool
    """Whether performance_schema counts statements by their digests."""
    takes_audit_plugins: bool
    """Whether it loads MariaDB's audit plugins."""
    statements_in_binary_log: Sequence[Setting]
    """What makes the text of every statement stand in its binary log; nothing where it stands there anyway."""
    redo_format: str
    """Servers with the same word here can recover each other's crash images."""
    recovery_code: str
    """Servers with the same word here recover by the same code, as far as a rewrite of it is known: their times are alike."""
    gets_stuck: GetsStuck
    """Whether a recovery in more than one batch may never end."""
    redo_in_blocks: bool
    """Whether its redo log is of numbered blocks, which show where it ends."""
    recovery_log: str
    """Servers with the same word here write the same lines into their log while they recover."""
    start_timeout: StartTimeout
    ping: Sequence[str]
    """Command of the server's image that fails until the server takes connections."""

    def initialisation(self) -> Initialisation:
        """How to make a data directory."""

    def layout(self, log_size: int) -> RedoLayout:
        """The files of a redo log of so many bytes in all, as far as they can be had."""

    def capacity(self, layout: RedoLayout) -> RedoCapacity:
        """What such a redo log can hold, by the formula of this version's source."""

    def log_size(self, variables: Mapping[str, str]) -> int:
        """Bytes of all redo log files together, by the settings that a server says it uses."""

    def log_settings(self, log_size: int) -> Sequence[Setting]:
        """The lines of an option file that give a redo log of so many bytes."""

    def default_read_threads(self, cpus: int) -> int:
        """Return the default of innodb_read_io_threads on a host with that many CPUs."""

    def resizing(self, log_size: int) -> Resizing:
        """How a server in production gets a redo log of so many bytes."""

    def settings(self, request: InstanceRequest) -> Sequence[Setting]:
        """The option file of an instance, the reason for every line included, the request's own settings among them."""

    def log_writer(self, variables: Mapping[str, str]) -> LogWriter:
        """How this version cuts its redo into writes, with the settings that it says it uses."""

    def counters_statement(self) -> str:
        """One statement that reads the redo counters at one instant."""

    def counters(self, rows: Sequence[Sequence[Any]]) -> Counters:
        """What those rows say."""

    def status_statement(self) -> str | None:
        """A statement for the counters that a version says only elsewhere; None where the first has all.

        What it tells belongs to the same instant as the first only when nothing is written in between.
        """


def dialect_of(family: str, version: Version) -> Dialect:
    """The dialect that a server of that family and version speaks. Raises `InvalidInput` for an unknown family."""
    from redolab.servers.dialects.mariadb import MariaDB
    from redolab.servers.dialects.mysql import MySQL

    families: dict[str, type[MariaDB] | type[MySQL]] = {each.family: each for each in (MySQL, MariaDB)}
    if family not in families:
        raise InvalidInput(f"there is no server family '{family}'", f"choose from {', '.join(families)}")
    return families[family](version)


def later_differ(family: str, version: Version) -> bool:
    """Whether later releases of its series recover by other code, or take another way to a redo log of another size."""
    first = replace(version, patch=max(version.patch, _FIRST_FOR_ALL.get((family, version.major, version.minor), 0)))
    here, last = (dialect_of(family, each) for each in (first, replace(version, patch=_LAST)))
    return here.recovery_code != last.recovery_code or here.resizing(GIB) != last.resizing(GIB)


def format_since(version: Version, changes: Sequence[Version]) -> Version:
    """The latest of `changes` (newest first) that a version has. Raises `InvalidInput` if it is older than all."""
    for change in changes:
        if version >= change:
            return change
    raise InvalidInput(f"version {version} is older than any that the lab knows", f"it begins with {changes[-1]}")


def other_than_expected(version: str, expected: str) -> bool:
    """Whether a server's version is another than its entry names, whoever built it."""
    return Version.parse(version) != Version.parse(expected)


def family_of(said: str) -> str:
    """Which family a binary belongs to, by what it says of its version."""
    return "mariadb" if "MariaDB" in said else "mysql"


def overridden(settings: Sequence[Setting], request: InstanceRequest) -> list[Setting]:
    """The settings as a request wants them: some left out, some in place of others; what its overrides add comes last."""
    replaced = {_option(override.name): override for override in request.overrides}
    left_out = {_option(name) for name in request.without}
    kept = [
        replaced.pop(_option(setting.name), setting) for setting in settings if _option(setting.name) not in left_out
    ]
    return [*kept, *replaced.values()]


def option_file(settings: Sequence[Setting], instance: Path, base: Path, share: Path, *, network: bool = False) -> str:
    """The text of an instance's option file; all places as the server sees them.

    Raises `InvalidInput` for a setting that would be more than one line of it.
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
    """A setting's name as the servers compare it."""
    return name.replace("-", "_").lower()


CAPACITY_IN_FORCE = "Innodb_redo_log_capacity_resized"
"""The status variable of servers that have one: bytes of the redo log as it is, however its size was set."""
PORT = 3306
"""Where an instance listens in its own network namespace."""

SOCKET = "server.sock"
"""The socket's name in an instance's folder."""

REDO = "redo"
"""The folder in an instance's folder for a redo log that lies apart."""
SLOW_LOG = "slow.log"
"""The file in an instance's folder for a slow query log that was asked for."""
