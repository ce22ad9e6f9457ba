"""Changes of global variables that make a server log every statement, and their undoing: pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from redolab.errors import InvalidInput

FILE = "slow_query_log_file"
LOG = "slow_query_log"
TIME = "long_query_time"
OUTPUT = "log_output"
QUIET = "2000.000471"
"""Seconds of long_query_time that silence the log.

P. Boros's 2000 (data/published/query-logs.toml), with a fraction that nobody else sets.
"""
CAPTURED = re.compile(r"-full-\d{14}")
"""The part of a captured log's name that the usual log's lacks."""


class Change(msgspec.Struct, frozen=True):
    """Temporary change of a global variable: its value before and its value meanwhile."""

    name: str
    before: str
    during: str

    @property
    def is_nothing(self) -> bool:
        """Return True if the variable has the wanted value already."""
        return self._same(self.before, self.during)

    def is_in_force(self, now: str) -> bool:
        """Return True if the variable, which is `now`, still has the temporary value."""
        return self._same(now, self.during)

    def is_undone(self, now: str) -> bool:
        """Return True if the variable has its old value again."""
        return self._same(now, self.before)

    def _same(self, one: str, other: str) -> bool:
        # A file's name is compared as it is: case and commas are part of it.
        return one == other if self.name.endswith("_file") else same_value(one, other)

    @property
    def to_do(self) -> str:
        """Return the statement that makes the change."""
        return statement(self.name, self.during)

    @property
    def to_undo(self) -> str:
        """Return the statement that undoes the change."""
        return statement(self.name, self.before)


@dataclass(frozen=True, slots=True)
class Undoing:
    """Decision about the changes made on a server."""

    undo: Sequence[Change]
    """Changes still in force, in the order in which to undo them."""
    left: Sequence[tuple[Change, str]]
    """Changes that somebody else has overwritten, each with the current value."""


def statement(name: str, value: str) -> str:
    """Return the `SET GLOBAL` statement of a variable, its value quoted as its type requires."""
    quoted = value if name in _NUMBERS else "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
    return f"SET GLOBAL {name} = {quoted}"


def changes_to_log_all(variables: Mapping[str, str], file: str) -> list[Change]:
    """Return the changes that make a server log every statement into `file`, in the order to make them.

    The file comes first and is put back last, so that no such statement goes into the log in use. Raises
    `InvalidInput` if the server cannot do it, or if its general log would change too.
    """
    if LOG not in variables and "log_slow_query" not in variables:
        raise InvalidInput(
            "this server has no variable slow_query_log", "MySQL 5.0 and older cannot be asked while they run"
        )
    wanted = [
        *_set((FILE, "log_slow_query_file"), file, variables),
        *_to_widen(variables),
        *_output(variables),
        *_set((LOG, "log_slow_query"), "ON", variables),
        *_set(_TIMES, "0", variables),
    ]
    return [change for change in wanted if not change.is_nothing]


def changes_to_be_quiet(variables: Mapping[str, str]) -> list[Change]:
    """Return the changes that silence the slow log for new connections; empty if the log is off.

    Existing connections keep their own `long_query_time` and go on logging. `log_output` NONE silences them too, but
    the general log as well: it is set only if that log is off.
    """
    name = _first_of(_TIMES, variables)
    if name is None or not is_on(variables):
        return []
    wanted = list(_global_control(variables))
    if float(variables[name]) < float(QUIET):
        wanted.append(Change(name, variables[name], QUIET))
    if same_value(variables.get("general_log", "OFF"), "OFF") and OUTPUT in variables:
        wanted.append(Change(OUTPUT, variables[OUTPUT], "NONE"))
    return [change for change in wanted if not change.is_nothing]


def left_behind(variables: Mapping[str, str]) -> str:
    """Return the setting of a capture or a rotation that is still in force on a server; empty if there is none."""
    file = file_of(variables)
    if CAPTURED.search(file):
        return f"{FILE} = {file}"
    time = variables.get(TIME, "")
    return f"{TIME} = {time}" if same_value(time, QUIET) else ""


def is_on(variables: Mapping[str, str]) -> bool:
    """Return True if the server writes a slow query log."""
    name = _first_of((LOG, "log_slow_query"), variables)
    return name is not None and same_value(variables[name], "ON")


def writes_a_file(variables: Mapping[str, str]) -> bool:
    """Return True if the server writes its slow query log into a file."""
    return is_on(variables) and "FILE" in variables.get(OUTPUT, "FILE").upper().split(",")


def file_of(variables: Mapping[str, str]) -> str:
    """Return the slow query log's file in the server's own view; empty if it has none."""
    name = _first_of((FILE, "log_slow_query_file"), variables)
    return variables[name] if name is not None else ""


def undoing(changes: Iterable[Change], variables: Mapping[str, str]) -> Undoing:
    """Decide which of these changes to undo on a server with these global variables, the last first."""
    undo, left = [], []
    for change in reversed(list(changes)):
        now = variables.get(change.name, change.before)
        if change.is_undone(now):
            continue
        if change.is_in_force(now):
            undo.append(change)
        else:
            left.append((change, now))
    return Undoing(undo, left)


def same_value(one: str, other: str) -> bool:
    """Return True if two texts are one value of a variable: 10 and 10.000000, ON and 1, sets in any order."""
    return _canonical(one) == _canonical(other)


_TIMES = (TIME, "log_slow_query_time")
_NUMBERS = {
    TIME, "log_slow_query_time", "min_examined_row_limit", "log_slow_min_examined_row_limit", "log_slow_rate_limit",
    "log_throttle_queries_not_using_indexes",
}  # fmt: skip
# Each once, by the first name that the server has: MariaDB 10.11 has its own name beside the old one for several,
# MySQL 8.0.26 one without "slave", and setting either sets both.
_WIDEN: Sequence[tuple[Sequence[str], str]] = (
    (("min_examined_row_limit", "log_slow_min_examined_row_limit"), "0"),
    (("log_slow_filter",), ""),
    (("log_slow_disabled_statements",), ""),
    (("log_slow_sp_statements",), "ON"),
    (("log_slow_extra",), "ON"),
    (("log_throttle_queries_not_using_indexes",), "0"),
    (("log_slow_rate_limit",), "1"),
)
_CONTROLLED = "log_slow_filter,log_slow_rate_limit,log_slow_verbosity,long_query_time,min_examined_row_limit"
"""Names of all that Percona Server can take from the global values. How it displays `all` is unknown."""
_MARIADB_DETAIL = "query_plan,innodb"
_PERCONA_DETAIL = "microtime,query_plan,innodb"


def _to_widen(variables: Mapping[str, str]) -> Iterable[Change]:
    for names, value in _WIDEN:
        yield from _set(names, value, variables)
    if "log_slow_disabled_statements" not in variables:
        # On MariaDB they are bits of that one.
        yield from _set(("log_slow_admin_statements",), "ON", variables)
        yield from _set(("log_slow_replica_statements", "log_slow_slave_statements"), "ON", variables)
    if "log_slow_verbosity" in variables:
        detail = _PERCONA_DETAIL if "log_slow_rate_type" in variables else _MARIADB_DETAIL
        yield Change("log_slow_verbosity", variables["log_slow_verbosity"], detail)
    yield from _global_control(variables)


def _global_control(variables: Mapping[str, str]) -> Iterable[Change]:
    """Yield the change that makes existing connections of Percona Server follow the global values."""
    name = "slow_query_log_use_global_control"
    if name in variables:
        yield Change(name, variables[name], _CONTROLLED)


def _set(names: Iterable[str], value: str, variables: Mapping[str, str]) -> Iterable[Change]:
    name = _first_of(names, variables)
    if name is not None:
        yield Change(name, variables[name], value)


def _output(variables: Mapping[str, str]) -> Iterable[Change]:
    """Yield the change of `log_output` to FILE; where the general log is written must not change.

    The slow log must not go into a table as well: that is CSV, written by one thread at a time, on a disk that nobody
    watches.
    """
    before = variables.get(OUTPUT, "FILE")
    if same_value(before, "FILE"):
        return
    if same_value(variables.get("general_log", "OFF"), "ON"):
        raise InvalidInput(
            f"log_output is {before} and general_log is ON: the general log would go elsewhere too",
            "switch general_log off first",
        )
    yield Change(OUTPUT, before, "FILE")


def _first_of(names: Iterable[str], variables: Mapping[str, str]) -> str | None:
    return next((name for name in names if name in variables), None)


def _canonical(value: str) -> object:
    text = value.strip().lower()
    try:
        return float(text)
    except ValueError:
        pass
    if text in {"on", "off"}:
        return float(text == "on")
    return frozenset(part.strip() for part in text.split(","))
