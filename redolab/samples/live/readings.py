"""How to read the redo counters of a server that is not the lab's: by what it offers to whoever may only connect.

The ways are tried in this order and the first that tells an LSN is kept; nothing is switched on in the server. LSN and
os_log_written come from one statement or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redolab.counters import Counters
from redolab.servers.dialects import innodb, mariadb, mysql

_EVERY_STATUS: Sequence[Mapping[str, str]] = (innodb.STATUS, mariadb.STATUS, mysql.STATUS)


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read the counters: one statement, and what its rows say."""

    where: str
    statement: str
    counters: Callable[[Sequence[Sequence[Any]]], Counters]


def readings() -> list[Reading]:
    """All ways, the best first; the last tells no LSN."""
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
    """What rows of (status variable, value) of any server say."""
    return innodb.counters_of(rows, *_EVERY_STATUS).with_age()


WITHOUT_LSN = (
    "this server tells no LSN to this user in one statement with os_log_written: grant PROCESS, and on MySQL 5.6 to 8.0.29 "
    "SET GLOBAL innodb_monitor_enable='log_%'"
)
"""What to do where only os_log_written is to be had."""

WITHOUT_OS_LOG_WRITTEN = (
    "os_log_written is not in the statement that tells the LSN: on MySQL 5.6 to 8.0.29 SET GLOBAL innodb_monitor_enable='log_%' "
    "has both in one"
)
"""What to do where only the LSN is to be had."""
