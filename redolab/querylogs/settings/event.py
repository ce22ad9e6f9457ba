"""An event on the server that puts back at a deadline, where nothing of the lab is left that could."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.errors import InvalidInput
from redolab.querylogs.settings.changes import Change, same_value
from redolab.querylogs.settings.server import UserServer

_SCHEMA = "mysql"


def event_name(stamp: str) -> str:
    """What the event of a command that began at `stamp` is called."""
    return f"{_SCHEMA}.redolab_slowlog_{stamp}"


def event_statement(name: str, changes: Sequence[Change], seconds: float) -> str:
    """What makes the event: after so many seconds each variable that still has our value gets its own again.

    Whoever has set one meanwhile, and a server that was restarted, keep theirs. An event that is over is dropped by the
    server, in the event's own session, and that would go into the binary log (on MySQL 9.7 with a GTID of its own).
    """
    undo = "".join(f"IF {_holds(change)} THEN {change.to_undo}; END IF; " for change in reversed(changes))
    at = f"CURRENT_TIMESTAMP + INTERVAL {int(seconds)} SECOND"
    return f"CREATE EVENT {name} ON SCHEDULE AT {at} DO BEGIN SET SESSION sql_log_bin = 0; {undo}END"


def check_event(scheduler: str) -> None:
    """Raises `InvalidInput` unless the server's event scheduler is on: it is never switched on."""
    if not same_value(scheduler, "ON"):
        raise InvalidInput(
            f"event_scheduler is {scheduler or 'not there'}",
            "leave --event away; the event scheduler is not switched on",
        )


def make_event(server: UserServer, name: str, changes: Sequence[Change], seconds: float) -> None:
    """Make it, without a word in the binary log. Raises `LabError`."""
    _without_binary_log(server, event_statement(name, changes, seconds))


def drop_event(server: UserServer, name: str) -> None:
    """Remove it, if it is still there."""
    _without_binary_log(server, f"DROP EVENT IF EXISTS {name}")


def _without_binary_log(server: UserServer, statement: str) -> None:
    server.carry_out("SET SESSION sql_log_bin = 0")
    try:
        server.carry_out(statement)
    finally:
        server.carry_out("SET SESSION sql_log_bin = 1")


def _holds(change: Change) -> str:
    value = f"@@GLOBAL.{change.name}"
    if same_value(change.during, "ON"):
        return f"{value} = 1"
    parts = change.during.split(",")
    if len(parts) > 1 and not change.name.endswith("_file"):
        # A set: which order the server gives it is not known before it is set.
        found = "".join(f"FIND_IN_SET('{part}', {value}) AND " for part in parts)
        return f"{found}LENGTH({value}) = {len(change.during)}"
    return f"{value} = {change.to_do.partition(' = ')[2]}"
