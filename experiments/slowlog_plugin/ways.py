"""A way of logging on a running server: switched on, its log counted, switched off."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pymysql.connections import Connection

from redolab.clock import now
from redolab.errors import LabError
from redolab.querylogs.digest.digesting import digest
from redolab.servers.sandbox import INSTANCE

from .arms import Arm, Place

STATEMENT = "select ?"
"""The fingerprint of what is asked."""
_DIGEST = "SELECT ?"
_PLUGIN = "redolab_slow_log"
_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Counted:
    """What is in a log; as in `PluginTrial`."""

    lines: int | None
    cut_off: int
    log_bytes: int | None
    dropped: int | None


@dataclass(frozen=True, slots=True)
class Logging:
    """One way, by one connection of the lab's own, which is not logged."""

    arm: Arm
    place: Place
    buffer: int
    folder: Path
    """The instance's."""
    connection: Connection

    def begin(self) -> None:
        """Switch it on."""
        match self.arm:
            case Arm.BUILT_IN:
                self._ask(f"SET GLOBAL slow_query_log_file = '{self._seen('warm')}'", "SET GLOBAL log_output = 'FILE'")
                self._ask("SET GLOBAL slow_query_log = 1")
            case Arm.TABLE:
                self._ask("SET GLOBAL log_output = 'TABLE'", "SET GLOBAL slow_query_log = 1")
            case Arm.PLUGIN | Arm.BUFFERED:
                self._ask(f"INSTALL SONAME '{_PLUGIN}'", f"SET GLOBAL {_PLUGIN}_file = '{self._seen('warm')}'")
                self._ask(f"SET GLOBAL {_PLUGIN}_buffer = {self.buffer}")
            case Arm.SCHEMA | Arm.DIGESTS:
                on = "YES" if self.arm is Arm.DIGESTS else "NO"
                self._ask(
                    f"UPDATE performance_schema.setup_consumers SET ENABLED = '{on}' WHERE NAME = 'statements_digest'"
                )
            case Arm.NONE:
                pass

    def warmed(self) -> None:
        """From here on what is logged is counted; the clients that warmed it up must have ended."""
        self._gone()
        match self.arm:
            case Arm.BUILT_IN:
                self._ask(f"SET GLOBAL slow_query_log_file = '{self._seen('measured')}'")
            case Arm.TABLE:
                self._ask("TRUNCATE TABLE mysql.slow_log")
            case Arm.PLUGIN | Arm.BUFFERED:
                self._ask(f"SET GLOBAL {_PLUGIN}_file = '{self._seen('measured')}'")
            case Arm.SCHEMA | Arm.DIGESTS:
                self._ask("TRUNCATE TABLE performance_schema.events_statements_summary_by_digest")
            case Arm.NONE:
                pass

    def counted(self) -> Counted:
        """What has been logged since `warmed`; the clients must have ended. Raises `LabError`."""
        self._gone()
        match self.arm:
            case Arm.TABLE:
                said = self._value("SELECT COUNT(*) FROM mysql.slow_log WHERE sql_text LIKE 'SELECT 1'")
                return Counted(said, 0, None, None)
            case Arm.DIGESTS:
                said = self._value(
                    "SELECT COALESCE(SUM(COUNT_STAR), 0) FROM performance_schema.events_statements_summary_by_digest "
                    f"WHERE TRIM(DIGEST_TEXT) = '{_DIGEST}'"
                )
                return Counted(said, 0, None, None)
            case Arm.NONE | Arm.SCHEMA:
                return Counted(None, 0, None, None)
            case _:
                plugin = self.arm is not Arm.BUILT_IN
                if plugin:
                    self._ask(f"SET GLOBAL {_PLUGIN}_reopen = 1")
                return self.in_file(self._dropped() if plugin else None)

    def in_file(self, dropped: int | None = None) -> Counted:
        """What is in the log's file, whatever became of the server."""
        file = self._file("measured")
        size = file.stat().st_size if file.exists() else 0
        found = digest([file]) if size else None
        if found is None:
            return Counted(0, 0, size, dropped)
        lines = sum(each.count for each in found.classes if each.fingerprint == STATEMENT)
        return Counted(lines, found.skipped.cut_off, size, dropped)

    def end(self) -> None:
        """Switch it off, and remove its files."""
        match self.arm:
            case Arm.BUILT_IN:
                self._ask("SET GLOBAL slow_query_log = 0")
            case Arm.TABLE:
                self._ask("SET GLOBAL slow_query_log = 0", "TRUNCATE TABLE mysql.slow_log")
                self._ask("SET GLOBAL log_output = 'FILE'")
            case Arm.PLUGIN | Arm.BUFFERED:
                self._ask(f"UNINSTALL SONAME '{_PLUGIN}'")
                # Where a session used it to the end, it goes with that session.
                said = f"SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_LIBRARY = '{_PLUGIN}.so'"
                if self._value(said):
                    raise LabError("the plugin is still in use after its clients have gone")
            case _:
                pass
        self.remove()

    def remove(self) -> None:
        """Remove its files."""
        for name in ("warm", "measured"):
            with suppress(FileNotFoundError):
                self._file(name).unlink()

    def _file(self, name: str) -> Path:
        return self.folder / log_folder(self.place) / f"{name}.log"

    def _seen(self, name: str) -> Path:
        return INSTANCE / log_folder(self.place) / f"{name}.log"

    def _dropped(self) -> int:
        return self._value(
            f"SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = '{_PLUGIN}_dropped'"
        )

    def _gone(self) -> None:
        """Wait until the server is done with all clients: it logs a statement when its client has the answer already."""
        deadline = now().monotonic + _PATIENCE
        said = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'Threads_connected'"
        while self._value(said) > 1:
            if now().monotonic > deadline:
                raise LabError("the server still has connections of clients that have ended")
            time.sleep(0.01)

    def _ask(self, *statements: str) -> None:
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def _value(self, statement: str) -> int:
        with self.connection.cursor() as cursor:
            cursor.execute(statement)
            row: Any = cursor.fetchone()
            return int(row[0])


def log_folder(place: Place) -> str:
    """The folder of an instance for logs in that place."""
    return f"log-{place}"
