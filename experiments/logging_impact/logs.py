"""The query logs that are compared: what turns each on, where it writes, and which servers have it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from redolab.querylogs.plugin import why_no_slow_log_plugin
from redolab.servers.dialects import Dialect, Setting
from redolab.servers.sandbox import INSTANCE

NONE = "none"
_SLOW_FILE, _GENERAL_FILE, _AUDIT_FILE = (INSTANCE / f"query-{log}.log" for log in ("slow", "general", "audit"))
_ALL = "SET GLOBAL long_query_time = 0"
_ON = "SET GLOBAL slow_query_log = 1"


class Plugin(StrEnum):
    """A plugin that a log takes; the value is its library's name."""

    SERVER_AUDIT = "server_audit"
    SLOW_LOG = "redolab_slow_log"


class Counted(StrEnum):
    """Where what a log has written is counted."""

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
    """Statements that turn it on for connections that come after; `off` first, on every server."""
    counted: Counted = Counted.NOWHERE
    file: Path | None = None
    """As the server sees it, of one that writes a file."""
    at_start: tuple[Setting, ...] = ()
    """What only a start sets: those with equal settings share an instance."""
    plugin: Plugin | None = None

    def why_not(self, dialect: Dialect) -> str | None:
        """Why a server does not have it; None if it has."""
        if self.plugin is Plugin.SLOW_LOG:
            return why_no_slow_log_plugin(dialect)
        if self.plugin is not None and not dialect.takes_audit_plugins:
            return "a plugin of MariaDB"
        if self.name == VERBOSE and dialect.slow_log_detail is None:
            return "its slow query log has one form"
        if self.name == TO_NULL and not dialect.logs_into_devices:
            return "its log is a regular file or none"
        if self.counted is Counted.DIGESTS and not dialect.counts_digests:
            return "it counts no digests"
        return None

    def statements(self, dialect: Dialect) -> list[str]:
        """What turns it on, on that server."""
        detail = dialect.slow_log_detail
        if self.name != VERBOSE or detail is None:
            return list(self.on)
        return [*self.on, f"SET GLOBAL {detail.variable} = {detail.all}"]


def off(dialect: Dialect) -> list[str]:
    """What turns off every log that the experiment turns on by a statement."""
    plain = [
        "SET GLOBAL slow_query_log = 0",
        "SET GLOBAL general_log = 0",
        "SET GLOBAL log_output = 'FILE'",
        "SET GLOBAL long_query_time = 10",
    ]
    detail = dialect.slow_log_detail
    return plain if detail is None else [*plain, f"SET GLOBAL {detail.variable} = {detail.none}"]


def _slow(name: str, about: str, *on: str) -> QueryLog:
    into = f"SET GLOBAL slow_query_log_file = '{_SLOW_FILE}'"
    return QueryLog(name=name, about=about, on=(into, *on, _ON), counted=Counted.FILE, file=_SLOW_FILE)


VERBOSE, TO_NULL = "verbose", "all-to-null"
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
    # A server that runs takes no device for the file of its log.
    Setting("slow_query_log_file", "/dev/null", "what is logged goes nowhere"),
)

LOGS: Mapping[str, QueryLog] = {
    each.name: each
    for each in (
        QueryLog(name=NONE, about="no log", at_start=(_NO_DIGESTS,)),
        _slow("over-1s", "slow query log, long_query_time=1", "SET GLOBAL long_query_time = 1"),
        _slow("all", "slow query log, long_query_time=0", _ALL),
        QueryLog(name=TO_NULL, about="the same into /dev/null", on=(_ALL, _ON), at_start=_INTO_NULL),
        QueryLog(
            name="table",
            about="the same into the table mysql.slow_log",
            on=("SET GLOBAL log_output = 'TABLE'", _ALL, _ON),
            counted=Counted.TABLE,
        ),
        _slow(VERBOSE, "the same with plan and InnoDB's figures (log_slow_verbosity, log_slow_extra)", _ALL),
        QueryLog(
            name="general",
            about="general query log",
            on=(f"SET GLOBAL general_log_file = '{_GENERAL_FILE}'", "SET GLOBAL general_log = 1"),
            counted=Counted.FILE,
            file=_GENERAL_FILE,
        ),
        QueryLog(
            name="digests",
            about="no log, performance_schema with digests of statements",
            counted=Counted.DIGESTS,
            at_start=_WITH_DIGESTS,
        ),
        QueryLog(
            name="audit",
            about="server_audit, all queries",
            on=(
                f"SET GLOBAL server_audit_file_path = '{_AUDIT_FILE}'",
                "SET GLOBAL server_audit_file_rotate_size = 8000000000",
                "SET GLOBAL server_audit_events = 'QUERY'",
                "SET GLOBAL server_audit_logging = ON",
            ),
            counted=Counted.FILE,
            file=_AUDIT_FILE,
            plugin=Plugin.SERVER_AUDIT,
        ),
        QueryLog(
            name="plugin",
            about="the lab's slow log without a lock, long_query_time=0",
            on=(
                _ALL,
                f"SET GLOBAL redolab_slow_log_file = '{_SLOW_FILE}'",
                "SET GLOBAL redolab_slow_log_enabled = ON",
            ),
            counted=Counted.FILE,
            file=_SLOW_FILE,
            plugin=Plugin.SLOW_LOG,
        ),
    )
}
"""By their names; the first is what the others are compared with."""


def started_with(log: QueryLog) -> tuple[Setting, ...]:
    """The settings of the instance that it is measured on."""
    return log.at_start or (_NO_DIGESTS,)
