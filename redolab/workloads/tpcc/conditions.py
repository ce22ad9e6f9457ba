"""TPC-C's consistency conditions (clause 3.3.2.1 to 3.3.2.12 of its standard specification, revision 5.11) as SQL.

Each statement counts what violates a condition in one warehouse. Sums that must be equal are added up with opposite
signs in one pass, because MySQL 5.5 joins derived tables row by row. All amounts are DECIMAL, so that equal is equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pymysql.connections import Connection
from pymysql.cursors import Cursor

from redolab.workloads.contract import Follow
from redolab.workloads.data import DATABASE, TableCheck

NONE_VIOLATED = "violations: 0"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition: its clause, what must hold, and the statement, with `{w}` for the warehouse."""

    clause: str
    holds: str
    statement: str

    @property
    def what(self) -> str:
        """Return the name of the condition in checks."""
        return f"TPC-C condition {self.clause}: {self.holds}"


def conditions(new_order: str) -> Sequence[Condition]:
    """Return all twelve conditions; `new_order` is the name of the table NEW-ORDER."""
    of_order = "ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id"
    delivered = (
        "SELECT o_d_id, o_c_id, -ol_amount FROM orders JOIN order_line ON "
        f"{of_order} WHERE o_w_id = {{w}} AND ol_delivery_d IS NOT NULL"
    )
    return (
        Condition(
            "3.3.2.1",
            "W_YTD = sum(D_YTD)",
            _unequal(
                "k",
                "SELECT w_id AS k, w_ytd AS amount FROM warehouse WHERE w_id = {w}",
                "SELECT d_w_id, -d_ytd FROM district WHERE d_w_id = {w}",
            ),
        ),
        Condition(
            "3.3.2.2",
            "D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)",
            "SELECT COUNT(*) FROM district WHERE d_w_id = {w} AND (d_next_o_id - 1 <> COALESCE((SELECT MAX(o_id) FROM "
            "orders WHERE o_w_id = d_w_id AND o_d_id = d_id), -1) OR d_next_o_id - 1 <> COALESCE((SELECT MAX(no_o_id) FROM "
            # The condition does not apply to districts without new orders.
            f"{new_order} WHERE no_w_id = d_w_id AND no_d_id = d_id), d_next_o_id - 1))",
        ),
        Condition(
            "3.3.2.3",
            "max(NO_O_ID) - min(NO_O_ID) + 1 = rows of NEW-ORDER",
            f"SELECT COUNT(*) FROM (SELECT no_d_id FROM {new_order} WHERE no_w_id = {{w}} GROUP BY no_d_id "
            "HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) violated",
        ),
        Condition(
            "3.3.2.4",
            "sum(O_OL_CNT) = rows of ORDER-LINE",
            _unequal(
                "k",
                "SELECT o_d_id AS k, o_ol_cnt AS amount FROM orders WHERE o_w_id = {w}",
                "SELECT ol_d_id, -COUNT(*) FROM order_line WHERE ol_w_id = {w} GROUP BY ol_d_id",
            ),
        ),
        Condition(
            "3.3.2.5",
            "O_CARRIER_ID is null exactly of orders in NEW-ORDER",
            f"SELECT COUNT(*) FROM orders LEFT JOIN {new_order} ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id "
            "WHERE o_w_id = {w} AND (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
        ),
        Condition(
            "3.3.2.6",
            "O_OL_CNT = rows of ORDER-LINE of the order",
            _unequal(
                "k, o",
                "SELECT o_d_id AS k, o_id AS o, o_ol_cnt AS amount FROM orders WHERE o_w_id = {w}",
                "SELECT ol_d_id, ol_o_id, -COUNT(*) FROM order_line WHERE ol_w_id = {w} GROUP BY ol_d_id, ol_o_id",
            ),
        ),
        Condition(
            "3.3.2.7",
            "OL_DELIVERY_D is null exactly where O_CARRIER_ID is",
            f"SELECT COUNT(*) FROM orders JOIN order_line ON {of_order} "
            "WHERE o_w_id = {w} AND (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
        ),
        Condition(
            "3.3.2.8",
            "W_YTD = sum(H_AMOUNT)",
            _unequal(
                "k",
                "SELECT w_id AS k, w_ytd AS amount FROM warehouse WHERE w_id = {w}",
                "SELECT h_w_id, -h_amount FROM history WHERE h_w_id = {w}",
            ),
        ),
        Condition(
            "3.3.2.9",
            "D_YTD = sum(H_AMOUNT)",
            _unequal(
                "k",
                "SELECT d_id AS k, d_ytd AS amount FROM district WHERE d_w_id = {w}",
                "SELECT h_d_id, -h_amount FROM history WHERE h_w_id = {w}",
            ),
        ),
        Condition(
            "3.3.2.10",
            "C_BALANCE = sum(OL_AMOUNT delivered) - sum(H_AMOUNT)",
            _unequal(
                "k, c",
                "SELECT c_d_id AS k, c_id AS c, c_balance AS amount FROM customer WHERE c_w_id = {w}",
                "SELECT h_c_d_id, h_c_id, h_amount FROM history WHERE h_c_w_id = {w}",
                delivered,
            ),
        ),
        Condition(
            "3.3.2.11",
            # The clause has 2,100 alone: of a database that has just been loaded, where nothing has been delivered.
            "rows of ORDER - rows of NEW-ORDER = 2,100 + sum(C_DELIVERY_CNT)",
            _unequal(
                "k",
                "SELECT d_id AS k, -2100 AS amount FROM district WHERE d_w_id = {w}",
                "SELECT o_d_id, COUNT(*) FROM orders WHERE o_w_id = {w} GROUP BY o_d_id",
                f"SELECT no_d_id, -COUNT(*) FROM {new_order} WHERE no_w_id = {{w}} GROUP BY no_d_id",
                "SELECT c_d_id, -c_delivery_cnt FROM customer WHERE c_w_id = {w}",
            ),
        ),
        Condition(
            "3.3.2.12",
            "C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT delivered)",
            _unequal(
                "k, c",
                "SELECT c_d_id AS k, c_id AS c, c_balance + c_ytd_payment AS amount FROM customer WHERE c_w_id = {w}",
                delivered,
            ),
        ),
    )


def check_conditions(
    connection: Connection, checked: Sequence[Condition], warehouses: int, follow: Follow
) -> list[TableCheck]:
    """Check these conditions in all warehouses, all at one instant, while clients may go on."""
    violations: dict[str, dict[int, int]] = {condition.clause: {} for condition in checked}
    done, total = 0, warehouses * len(checked)
    with connection.cursor() as cursor:
        cursor.execute(f"USE {DATABASE}")
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        for warehouse in range(1, warehouses + 1):
            for condition in checked:
                follow(done, total, f"condition {condition.clause} in warehouse {warehouse} of {warehouses}")
                if number := _count(cursor, condition.statement.format(w=warehouse)):
                    violations[condition.clause][warehouse] = number
                done += 1
        cursor.execute("ROLLBACK")
    return [
        TableCheck(what=condition.what, expected=NONE_VIOLATED, found=_in_words(violations[condition.clause]))
        for condition in checked
    ]


def _in_words(violations: Mapping[int, int]) -> str:
    """Return the number of violations of a condition, and the first warehouse with one."""
    if not violations:
        return NONE_VIOLATED
    return f"violations: {sum(violations.values())}, the first in warehouse {min(violations)}"


def _unequal(keys: str, *parts: str) -> str:
    """Return a query counting the groups by `keys` with a sum other than 0. The first part names the columns."""
    together = " UNION ALL ".join(parts)
    return (
        f"SELECT COUNT(*) FROM (SELECT {keys} FROM ({together}) parts GROUP BY {keys} HAVING SUM(amount) <> 0) violated"
    )


def _count(cursor: Cursor, statement: str) -> int:
    cursor.execute(statement)
    row = cursor.fetchone()
    assert row is not None
    return int(row[0])
