"""Statements that the pages give to copy, asked of real servers: what an operator without redolab runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from redolab.lab import Lab
from redolab.project import PROJECT
from redolab.servers.initialise import initialise
from redolab.servers.instance import Instance
from tests.counters.live.watched import REQUEST

pytestmark = pytest.mark.server

ASKED = {
    "mysql-9": [
        ("docs/capacity.md", "SELECT MAX(IF(VARIABLE_NAME LIKE '%current_lsn'", ["age", "capacity"]),
        ("docs/sizes.md", "SELECT VARIABLE_VALUE FROM performance_schema.global_status", ["VARIABLE_VALUE"]),
        (
            "docs/query-logs/capture.md",
            "SELECT SCHEMA_NAME, LEFT(DIGEST_TEXT",
            ["SCHEMA_NAME", "query", "calls", "seconds", "rows_examined", "rows_sent"],
        ),
        (
            "docs/query-logs/capture.md",
            "SELECT @@GLOBAL.general_log",
            ["@@GLOBAL.general_log", "@@GLOBAL.log_output", "@@GLOBAL.slow_query_log_file"],
        ),
    ],
    "mariadb-10.11": [
        ("docs/capacity.md", "SHOW GLOBAL STATUS LIKE 'Innodb_checkpoint%age'", ["Variable_name", "Value"]),
        ("docs/sizes.md", "SHOW GLOBAL STATUS LIKE 'Innodb_lsn_current'", ["Variable_name", "Value"]),
    ],
}


def statement(page: str, beginning: str) -> str:
    """Return the statement of a page that begins so."""
    blocks = re.findall(r"```sql\n(.*?)```", (PROJECT.root / page).read_text(), re.DOTALL)
    # A comment may have a semicolon of its own.
    statements = [each.strip() for block in blocks for each in re.sub(r"--.*", "", block).split(";")]
    [found] = [each for each in statements if each.startswith(beginning)]
    return found


@pytest.mark.parametrize("name", ASKED)
def test_a_statement_to_copy_gives_the_columns_that_the_page_speaks_of(name: str, lab: Lab, tmp_path: Path) -> None:
    server, folder = lab.server(name), tmp_path / "i"
    initialise(server, folder, REQUEST)
    with Instance.start(server, folder, REQUEST, tmp_path / "error.log") as instance:
        instance.wait_ready(60)
        with instance.connections.connect() as connection, connection.cursor() as cursor:
            for page, beginning, columns in ASKED[name]:
                cursor.execute(statement(page, beginning))
                assert [column[0] for column in cursor.description] == columns
                assert cursor.fetchall()
