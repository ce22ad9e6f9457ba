"""Event on the server that undoes the changes at a deadline, should both command and watchdog be gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redolab.errors import InvalidInput
from redolab.slowlog.settings.changes import FILE, Change, same_value
from redolab.slowlog.settings.user_server import UserServer

_SCHEMA = "mysql"
_WITHOUT_BINARY_LOG = "SET SESSION sql_log_bin = 0"
_WITH_BINARY_LOG = "SET SESSION sql_log_bin = 1"


def event_name(stamp: str, pid: int) -> str:
    """Return the name of the event of a command that began at `stamp`."""
    return f"{_SCHEMA}.redolab_slowlog_{stamp}_{pid}"


def event_statement(name: str, changes: Sequence[Change], seconds: float) -> str:
    """Return the statement that makes the event: after `seconds`, it resets each variable that has the temporary value.

    Values that others have set meanwhile stay, and a server that was restarted or has another log file is left alone.
    The server drops an event that is over in the event's own session. That would go into the binary log, on MySQL 9.7
    with a GTID of its own.
    """
    undo = "".join(f"IF {_holds(change)} THEN {change.to_undo}; END IF; " for change in reversed(changes))
    ours = next((change for change in changes if change.name == FILE), None)
    if ours is not None:
        undo = f"IF {_holds(ours)} THEN {undo}END IF; "
    at = f"CURRENT_TIMESTAMP + INTERVAL {int(seconds)} SECOND"
    body = f"BEGIN {_WITHOUT_BINARY_LOG}; {undo}END"
    return f"CREATE EVENT IF NOT EXISTS {name} ON SCHEDULE AT {at} DO {body}"


def check_event(variables: Mapping[str, str]) -> None:
    """Raise `InvalidInput` on a Galera cluster, or if the event scheduler is off: the lab never switches it on."""
    scheduler = variables.get("event_scheduler", "")
    if not same_value(scheduler, "ON"):
        raise InvalidInput(
            f"event_scheduler is {scheduler or 'not there'}",
            "leave --event away; the event scheduler is not switched on",
        )
    if same_value(variables.get("wsrep_on", "OFF"), "ON"):
        raise InvalidInput("a Galera cluster makes events on all its nodes", "leave --event away")


def make_event(server: UserServer, name: str, changes: Sequence[Change], seconds: float) -> None:
    """Make the event, without an entry in the binary log. Raises `LabError`."""
    server.carry_out(_WITHOUT_BINARY_LOG, event_statement(name, changes, seconds), _WITH_BINARY_LOG)


def drop_event(server: UserServer, name: str) -> None:
    """Drop the event, if there still is one. Raises `LabError`."""
    server.carry_out(_WITHOUT_BINARY_LOG, f"DROP EVENT IF EXISTS {name}", _WITH_BINARY_LOG)


def _holds(change: Change) -> str:
    value = f"@@GLOBAL.{change.name}"
    if same_value(change.during, "ON"):
        return f"{value} = 1"
    parts = change.during.split(",")
    if len(parts) > 1 and not change.name.endswith("_file"):
        # The order in which the server will show a set is unknown before it is set.
        found = "".join(f"FIND_IN_SET('{part}', {value}) AND " for part in parts)
        return f"{found}LENGTH({value}) = {len(change.during)}"
    return f"{value} = {change.to_do.partition(' = ')[2]}"
