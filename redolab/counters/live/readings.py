"""Statements that read the redo counters of a server that is not the lab's, by the privileges of the user.

They are tried in order, and the first with an LSN is used; nothing is switched on in the server. LSN and os_log_written
come from one statement or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redolab.servers.dialects import innodb, mariadb, mysql
from redolab.servers.redo_counters import Counters

_EVERY_STATUS: Sequence[Mapping[str, str]] = (innodb.STATUS, mariadb.STATUS, mysql.STATUS)


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read the counters: a statement, and the function that reads its rows."""

    where: str
    statement: str
    counters: Callable[[Sequence[Sequence[Any]]], Counters]


def readings() -> list[Reading]:
    """Return all ways, the best first; the last has no LSN."""
    names = dict.fromkeys(name for source in _EVERY_STATUS for name in source.values())
    status = Reading("the status variables", innodb.show_status(names), counters_of_status)

    def of_both(rows: Sequence[Sequence[Any]]) -> Counters:
        return innodb.counters_of(rows, innodb.STATUS, innodb.METRICS).with_age()

    metrics = [
        Reading("the status variables and INNODB_METRICS", innodb.status_and_metrics(table), of_both)
        for table in ("performance_schema.global_status", "information_schema.GLOBAL_STATUS")
    ]
    text = Reading("SHOW ENGINE INNODB STATUS", "SHOW ENGINE INNODB STATUS", mysql.counters_of_innodb_status)
    return [status, *metrics, text, status]


def counters_of_status(rows: Sequence[Sequence[Any]]) -> Counters:
    """Return the counters in rows of (status variable, value) of any server."""
    return innodb.counters_of(rows, *_EVERY_STATUS).with_age()


WITHOUT_LSN = (
    "this server tells no LSN to this user in one statement with os_log_written: grant PROCESS, and on MySQL 5.6 to 8.0.29 "
    "SET GLOBAL innodb_monitor_enable='log_%'"
)
"""Advice if only os_log_written is available."""

WITHOUT_OS_LOG_WRITTEN = (
    "os_log_written is not in the statement that tells the LSN: on MySQL 5.6 to 8.0.29 SET GLOBAL innodb_monitor_enable='log_%' "
    "has both in one"
)
"""Advice if only the LSN is available."""
