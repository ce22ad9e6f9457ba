"""The ways of logging to compare: switched on, counted, switched off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from redolab.errors import LabError
from redolab.machine import files

if TYPE_CHECKING:
    from redolab.crash.bench.started_server import StartedServer

_STATEMENT = "select ?"
"""Fingerprint of the statement that clients send."""
_PLUGIN = "redolab_slow_log"
_DROPPED = f"SHOW GLOBAL STATUS LIKE '{_PLUGIN}_dropped'"
_DIGESTS = "performance_schema.events_statements_summary_by_digest"


class Arm(StrEnum):
    """A way in which a server logs its statements; the value is its name in options."""

    NONE = "none"
    BUILT_IN = "built-in"
    """The server's slow query log, into a file."""
    PLUGIN = "plugin"
    """The plugin of `slowlogplugin/`, with one write for each statement."""
    BUFFERED = "buffered"
    """The same plugin, with a buffer of lines in each connection."""
    TABLE = "table"
    """The server's slow query log, into the table mysql.slow_log."""
    SCHEMA = "schema"
    """performance_schema on, its digests off: the base of `DIGESTS`."""
    DIGESTS = "digests"
    """Digests of performance_schema."""

    @property
    def has_file(self) -> bool:
        """True for a way that writes a file, which can lie on tmpfs or on a disk."""
        return self is Arm.BUILT_IN or self.is_plugin

    @property
    def is_plugin(self) -> bool:
        """True where the plugin logs."""
        return self in {Arm.PLUGIN, Arm.BUFFERED}

    @property
    def has_schema(self) -> bool:
        """True where the server is started with performance_schema=ON."""
        return self in {Arm.SCHEMA, Arm.DIGESTS}


class LogPlace(StrEnum):
    """Place of the log's file."""

    TMPFS = "tmpfs"
    DISK = "disk"
    NOWHERE = ""
    """No file."""

    @property
    def folder(self) -> str:
        """Name of the folder for logs, in the instance's."""
        return f"log-{self}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmStatements:
    """Statements of a way of logging; `{file}` is its log, `{buffer}` the bytes that a connection gathers."""

    on: Sequence[str] = ()
    anew: Sequence[str] = ()
    """Begin a new log, or empty the old one."""
    off: Sequence[str] = ()
    count: str = ""
    """Count the statements in a log without a file."""


_INTO_FILE = "SET GLOBAL slow_query_log_file = '{file}'"
_PLUGINS_FILE = f"SET GLOBAL {_PLUGIN}_file = '{{file}}'"
_EMPTY_TABLE = "TRUNCATE TABLE mysql.slow_log"
_WITH_PLUGIN = ArmStatements(
    on=(f"INSTALL SONAME '{_PLUGIN}'", _PLUGINS_FILE, f"SET GLOBAL {_PLUGIN}_buffer = {{buffer}}"),
    anew=(_PLUGINS_FILE,),
    off=(f"UNINSTALL SONAME '{_PLUGIN}'",),
)
_CONSUMER = "UPDATE performance_schema.setup_consumers SET ENABLED = '{}' WHERE NAME = 'statements_digest'"
STATEMENTS: Mapping[Arm, ArmStatements] = {
    Arm.NONE: ArmStatements(),
    Arm.BUILT_IN: ArmStatements(
        on=(_INTO_FILE, "SET GLOBAL log_output = 'FILE'", "SET GLOBAL slow_query_log = 1"),
        anew=(_INTO_FILE,),
        off=("SET GLOBAL slow_query_log = 0",),
    ),
    Arm.PLUGIN: _WITH_PLUGIN,
    Arm.BUFFERED: _WITH_PLUGIN,
    Arm.TABLE: ArmStatements(
        on=("SET GLOBAL log_output = 'TABLE'", "SET GLOBAL slow_query_log = 1"),
        anew=(_EMPTY_TABLE,),
        off=("SET GLOBAL slow_query_log = 0", _EMPTY_TABLE, "SET GLOBAL log_output = 'FILE'"),
        count="SELECT COUNT(*) FROM mysql.slow_log WHERE sql_text LIKE 'SELECT 1'",
    ),
    Arm.SCHEMA: ArmStatements(on=(_CONSUMER.format("NO"),), anew=(f"TRUNCATE TABLE {_DIGESTS}",)),
    Arm.DIGESTS: ArmStatements(
        on=(_CONSUMER.format("YES"),),
        anew=(f"TRUNCATE TABLE {_DIGESTS}",),
        count=f"SELECT COALESCE(SUM(COUNT_STAR), 0) FROM {_DIGESTS} WHERE TRIM(DIGEST_TEXT) = 'SELECT ?'",
    ),
}


@dataclass(frozen=True, slots=True)
class LogCounts:
    """Content of a log; as in `PluginTrial`."""

    lines: int | None = None
    cut_off: int = 0
    log_bytes: int | None = None
    dropped: int | None = None


@dataclass(frozen=True, slots=True)
class LogUnderTest:
    """One way of logging on a running server, whose connection is not logged itself."""

    arm: Arm
    place: LogPlace
    buffer: int
    server: StartedServer

    def begin(self) -> None:
        """Switch the log on."""
        self._execute(STATEMENTS[self.arm].on, "warm")

    def warmed(self) -> None:
        """Begin the measured log. The clients of the warm-up must have ended."""
        self.server.wait_clients_gone()
        self._execute(STATEMENTS[self.arm].anew, "measured")

    def counted(self) -> LogCounts:
        """Count the log since `warmed`; the clients must have ended. Raises `LabError`."""
        self.server.wait_clients_gone()
        if self.arm.is_plugin:
            self.server.execute(f"SET GLOBAL {_PLUGIN}_reopen = 1")
            return self.in_file(self.server.value(_DROPPED))
        if self.arm.has_file:
            return self.in_file()
        count = STATEMENTS[self.arm].count
        return LogCounts(self.server.value(count)) if count else LogCounts()

    def in_file(self, dropped: int | None = None) -> LogCounts:
        """Count the log's file, also after the server was killed."""
        from redolab.slowlog.digest.digesting import digest

        file = self._folder / "measured.log"
        size = file.stat().st_size if file.exists() else 0
        found = digest([file]) if size else None
        if found is None:
            return LogCounts(0, 0, size, dropped)
        lines = sum(each.count for each in found.classes if each.fingerprint == _STATEMENT)
        return LogCounts(lines, found.skipped.cut_off, size, dropped)

    def end(self) -> None:
        """Switch the log off, and remove its files. Raises `LabError`."""
        self._execute(STATEMENTS[self.arm].off, "measured")
        # The server unloads a plugin only when the last session that used it has ended.
        loaded = f"SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_LIBRARY = '{_PLUGIN}.so'"
        if self.arm.is_plugin and self.server.value(loaded):
            raise LabError("the plugin is still in use after its clients have gone")
        for name in ("warm", "measured"):
            files.remove(self._folder / f"{name}.log")

    @property
    def _folder(self) -> Path:
        return self.server.instance.folder / self.place.folder

    def _execute(self, statements: Sequence[str], log: str) -> None:
        from redolab.servers.sandbox import INSTANCE

        file = INSTANCE / self.place.folder / f"{log}.log"
        self.server.execute(*(each.format(file=file, buffer=self.buffer) for each in statements))
