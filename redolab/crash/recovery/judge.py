"""Consistency check of a recovered server. If the check itself fails, only its result is lost."""

from __future__ import annotations

from datetime import UTC, datetime

import pymysql
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from redolab.crash.records.binary_log_end import BINARY_LOG_TABLE, EndKind
from redolab.crash.records.crash import CrashImage
from redolab.crash.records.dataset import OPEN_TRANSACTION_TABLE
from redolab.crash.records.recovery import Outcome
from redolab.crash.records.verdict import Judgement
from redolab.errors import LabError
from redolab.progress import Stage
from redolab.runs.schema import Ruling
from redolab.servers.instance import Instance
from redolab.workloads.catalogue import workload_catalogue
from redolab.workloads.contract import check_pages, check_value
from redolab.workloads.data import TableCheck

ANSWER = 3600.0
"""Seconds allowed for one statement: CHECK TABLE of a large table on a slow disk takes minutes."""
CONNECT = 10.0
"""Seconds allowed for the connection."""


def judge(instance: Instance, image: CrashImage, turn: int, stage: Stage, *, afresh: bool = False) -> Judgement:
    """Check the content of a recovered server.

    A server that refuses a statement or ends meanwhile is wrong; after any other problem the result is unknown.
    `turn`: number of the check of this crash state, from 1; a workload may check another part each turn.
    """
    checks: list[TableCheck] = []
    ruling, why = Ruling.UNKNOWN, ""
    try:
        with instance.connections.connect(CONNECT, ANSWER) as connection:
            checks = _checks(connection, image, turn, stage)
        ruling = Ruling.RIGHT if all(check.passed for check in checks) else Ruling.WRONG
    except TimeoutError as error:
        why = f"no answer within {ANSWER:.0f} s ({error})"
    except pymysql.MySQLError as error:
        if isinstance(error.__cause__ or error.__context__, TimeoutError):
            why = f"no answer within {ANSWER:.0f} s"
        else:
            ended = "" if instance.status is None else f"; it ended with status {instance.status}"
            checks = [TableCheck(what="the server answers", expected="yes", found=f"{error}{ended}")]
            ruling = Ruling.WRONG
    except LabError as error:
        why = error.problem
    except Exception as error:
        # A bug in the check must not lose the measurement: report it; the check can be repeated.
        why = f"the judge failed ({type(error).__name__}: {error})"
    return Judgement(
        image=image.name,
        server=instance.server.name,
        version=instance.server.version,
        judged=datetime.now(UTC),
        afresh=afresh,
        thorough=turn == 1,
        ruling=ruling,
        checks=tuple(checks),
        why=why,
    )


def not_ready(instance: Instance, image: CrashImage, outcome: Outcome) -> Judgement:
    """Return the result for a server whose recovery did not end with a server that is ready: wrong."""
    return Judgement(
        image=image.name,
        server=instance.server.name,
        version=instance.server.version,
        judged=datetime.now(UTC),
        afresh=True,
        thorough=False,
        ruling=Ruling.WRONG,
        checks=(TableCheck(what="the recovery", expected=str(Outcome.READY), found=str(outcome)),),
    )


def _checks(connection: Connection, image: CrashImage, turn: int, stage: Stage) -> list[TableCheck]:
    """Check the workload's data, another part each turn, and the transaction that was rolled back."""
    dataset = image.spec.dataset
    checks = workload_catalogue().get(image.spec.workload).verify(connection, dataset.data, turn, stage.advance)
    with connection.cursor() as cursor:
        changed = f"SELECT COUNT(*) FROM {OPEN_TRANSACTION_TABLE} WHERE changed <> 0"
        rows = f"SELECT COUNT(*) FROM {OPEN_TRANSACTION_TABLE}"
        return [
            *checks,
            check_value(cursor, "rows changed by the transaction that was open", changed, 0),
            check_value(cursor, "rows of it", rows, dataset.open_transaction_rows),
            check_pages(cursor, OPEN_TRANSACTION_TABLE),
            *_whole_transaction(cursor, image),
        ]


def _whole_transaction(cursor: Cursor, image: CrashImage) -> list[TableCheck]:
    """Check that a transaction which was complete in the binary log, and prepared in InnoDB, was committed."""
    end = image.spec.binary_log_end
    if end is None or end.kind is not EndKind.WHOLE:
        return []
    rows = f"SELECT COUNT(*) FROM {BINARY_LOG_TABLE}"
    return [check_value(cursor, "rows of the transaction in the binary log", rows, end.rows)]
