"""The query logs to compare: their statements, the servers that have them, and their output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from redolab.servers.dialects import Dialect, Setting
from redolab.slowlog.plugin import why_no_slow_log_plugin

if TYPE_CHECKING:
    from redolab.crash.bench.started_server import StartedServer
    from redolab.lab import Lab
    from redolab.servers.install import InstalledServer

NONE, VERBOSE, TO_NULL = "none", "verbose", "all-to-null"
_ALL = "SET GLOBAL long_query_time = 0"
_ON = "SET GLOBAL slow_query_log = 1"
_EMPTY_TABLE = "TRUNCATE TABLE mysql.slow_log"
_TABLE = Path("mysql/slow_log.CSV")
_DIGESTED = "SELECT COALESCE(SUM(COUNT_STAR), 0) FROM performance_schema.events_statements_summary_by_digest"
_PIECE = 1 << 20
_NO_DIGESTS = Setting("performance_schema", "0", "compared with a server without it")
_WITH_DIGESTS = (
    Setting("performance_schema", "1", "digests of statements are counted"),
    *(
        Setting(f"performance_schema_consumer_{name}", "ON", "digests of statements are counted")
        for name in ("global_instrumentation", "thread_instrumentation", "statements_digest")
    ),
    Setting("performance_schema_instrument", "'statement/%=ON'", "digests of statements are counted"),
)
_INTO_NULL = (
    _NO_DIGESTS,
    # A running server refuses a device as its log file.
    Setting("slow_query_log_file", "/dev/null", "the log goes nowhere"),
)


class Plugin(StrEnum):
    """A plugin that a log needs; the value is its library's name."""

    SERVER_AUDIT = "server_audit"
    SLOW_LOG = "redolab_slow_log"

    def library(self, lab: Lab, server: InstalledServer) -> Path:
        """Return the library for a server; fetch or build it if it is missing. Raises `LabError`."""
        from redolab.servers.packaged import server_audit_plugin
        from redolab.slowlog.plugin.plugin_build import built_slow_log_plugin

        return (server_audit_plugin if self is Plugin.SERVER_AUDIT else built_slow_log_plugin)(lab, server)


class CountedIn(StrEnum):
    """Place where the output of a log is counted."""

    NOWHERE = "nowhere"
    FILE = "file"
    TABLE = "table"
    DIGESTS = "digests"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLog:
    """One way to log queries, or none."""

    name: str
    about: str
    on: Sequence[str] = ()
    """Statements that turn the log on for new connections, on a server whose logs are off; `{file}`: its file."""
    counted: CountedIn = CountedIn.NOWHERE
    file: str = ""
    """Name in the instance's folder; empty for a log without a file."""
    at_start: tuple[Setting, ...] = (_NO_DIGESTS,)
    """Settings that need a start. Logs with the same settings share an instance."""
    plugin: Plugin | None = None

    def why_not(self, dialect: Dialect) -> str | None:
        """Return the reason why a server does not have this log; None if it has."""
        if self.plugin is Plugin.SLOW_LOG:
            return why_no_slow_log_plugin(dialect)
        if self.plugin is not None and not dialect.takes_audit_plugins:
            return "a plugin of MariaDB"
        if self.name == VERBOSE and dialect.slow_log_detail is None:
            return "its slow query log has one form"
        if self.name == TO_NULL and not dialect.logs_into_devices:
            return "its log is a regular file or none"
        if self.counted is CountedIn.DIGESTS and not dialect.counts_digests:
            return "it counts no digests"
        return None

    def turned_on(self, dialect: Dialect, folder: Path) -> list[str]:
        """Return the statements that turn the log on. `folder`: the instance's folder, as the server sees it."""
        load = [f"INSTALL SONAME '{self.plugin}'"] if self.plugin is not None else []
        statements = [*load, *(each.format(file=folder / self.file) for each in self.on)]
        detail = dialect.slow_log_detail
        if self.name == VERBOSE and detail is not None:
            statements.append(f"SET GLOBAL {detail.variable} = {detail.all}")
        return statements

    def turned_off(self, dialect: Dialect) -> list[str]:
        """Return the statements that turn off this and any other log, and empty its table."""
        unload = [f"UNINSTALL SONAME '{self.plugin}'"] if self.plugin is not None else []
        return [*off(dialect), *unload, *([_EMPTY_TABLE] if self.counted is CountedIn.TABLE else [])]

    def written(self, server: StartedServer) -> tuple[int | None, int | None]:
        """Return the log's bytes, and its lines, rows or statements in digests; None for a number that it lacks."""
        match self.counted:
            case CountedIn.FILE:
                return _bytes_and_lines(server.instance.folder / self.file)
            case CountedIn.TABLE:
                # A row is a line of the table's file, in which a newline within a value is written as `\n`.
                return _bytes_and_lines(server.data / _TABLE)
            case CountedIn.DIGESTS:
                return None, server.value(_DIGESTED)
            case CountedIn.NOWHERE:
                return None, None


def off(dialect: Dialect) -> list[str]:
    """Return the statements that turn off every log that a statement can turn on."""
    detail = dialect.slow_log_detail
    return [
        "SET GLOBAL slow_query_log = 0",
        "SET GLOBAL general_log = 0",
        "SET GLOBAL log_output = 'FILE'",
        "SET GLOBAL long_query_time = 10",
        *([] if detail is None else [f"SET GLOBAL {detail.variable} = {detail.none}"]),
    ]


def _bytes_and_lines(file: Path) -> tuple[int, int]:
    """Return the bytes and lines of a file, which may grow meanwhile; none if it does not exist yet."""
    if not file.exists():
        return 0, 0
    size = lines = 0
    left = file.stat().st_size
    with file.open("rb") as opened:
        while left > 0 and (piece := opened.read(min(_PIECE, left))):
            size += len(piece)
            lines += piece.count(b"\n")
            left -= len(piece)
    return size, lines


def _slow(name: str, about: str, *on: str) -> QueryLog:
    into = "SET GLOBAL slow_query_log_file = '{file}'"
    return QueryLog(name=name, about=about, on=(into, *on, _ON), counted=CountedIn.FILE, file="query-slow.log")


LOGS: Mapping[str, QueryLog] = {
    each.name: each
    for each in (
        QueryLog(name=NONE, about="no log"),
        _slow("over-1s", "slow query log, long_query_time=1", "SET GLOBAL long_query_time = 1"),
        _slow("all", "slow query log, long_query_time=0", _ALL),
        QueryLog(name=TO_NULL, about="the same into /dev/null", on=(_ALL, _ON), at_start=_INTO_NULL),
        QueryLog(
            name="table",
            about="the same into the table mysql.slow_log",
            on=("SET GLOBAL log_output = 'TABLE'", _ALL, _ON),
            counted=CountedIn.TABLE,
        ),
        _slow(VERBOSE, "the same with plan and InnoDB's figures (log_slow_verbosity, log_slow_extra)", _ALL),
        QueryLog(
            name="general",
            about="general query log",
            on=("SET GLOBAL general_log_file = '{file}'", "SET GLOBAL general_log = 1"),
            counted=CountedIn.FILE,
            file="query-general.log",
        ),
        QueryLog(
            name="digests",
            about="no log, performance_schema with digests of statements",
            counted=CountedIn.DIGESTS,
            at_start=_WITH_DIGESTS,
        ),
        QueryLog(
            name="audit",
            about="server_audit, all queries",
            on=(
                "SET GLOBAL server_audit_file_path = '{file}'",
                "SET GLOBAL server_audit_file_rotate_size = 8000000000",
                "SET GLOBAL server_audit_events = 'QUERY'",
                "SET GLOBAL server_audit_logging = ON",
            ),
            counted=CountedIn.FILE,
            file="query-audit.log",
            plugin=Plugin.SERVER_AUDIT,
        ),
        QueryLog(
            name="plugin",
            about="the lab's slow log without a lock, long_query_time=0",
            on=(
                _ALL,
                "SET GLOBAL redolab_slow_log_file = '{file}'",
                "SET GLOBAL redolab_slow_log_enabled = ON",
            ),
            counted=CountedIn.FILE,
            file="query-plugin.log",
            plugin=Plugin.SLOW_LOG,
        ),
    )
}
"""Name → log. The first is the baseline of the others."""
