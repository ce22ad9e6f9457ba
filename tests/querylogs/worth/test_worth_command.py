"""`redolab slowlog worth` as a person calls it, without a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import redolab


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "slow.log"
    path.write_text(
        "".join(
            f"# User@Host: a[a] @ localhost []  Id: {n}\n"
            f"# Query_time: {seconds}.000000  Lock_time: 0.000000 Rows_sent: {sent}  Rows_examined: {examined}\n"
            f"SET timestamp=17672256{n:02};\n{statement};\n"
            for n, (seconds, sent, examined, statement) in enumerate(
                (
                    (1, 1, 100_000, "SELECT a FROM t WHERE b = 1"),
                    (5, 0, 200_000, "SELECT a FROM t WHERE b = 2"),
                    (3, 1, 50_000, "SELECT COUNT(*) FROM u"),
                    (1, 1, 1, "SELECT a FROM u WHERE id = 1"),
                )
            )
        )
    )
    return path


def test_the_answer_then_the_table_then_what_is_not_known(log: Path) -> None:
    done = redolab("slowlog", "worth", str(log))
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first == "Worth optimising: #1, 60% of the query time. Of the time 10% is perfect, 30% is unknown."
    candidate = next(line for line in rest if "candidate" in line).split()
    # By its slowest execution.
    assert candidate[:9] == ["1", "60.0%", "2", "0", "200,000", "1", "200,000", "0", "log"]
    assert "#2: aggregates without GROUP BY" in done.stdout
    assert done.stderr == ""


def test_json_and_the_first_classes_alone(log: Path) -> None:
    done = redolab("slowlog", "worth", str(log), "--json", "--top", "1")
    found = json.loads(done.stdout)
    assert (found["classes"], found["asked"], len(found["judged"])) == (3, None, 1)
    (only,) = found["judged"]
    assert only["judgement"]["verdict"] == "candidate"
    assert only["query"]["execution"]["text"] == "SELECT a FROM t WHERE b = 2"


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("--measure",), 2, "no server was named"),
        (("--top", "0"), 2, "0 classes are none"),
        (("--at-most", "0s"), 2, "0 s"),
        (("--at-most", "soon"), 2, "soon"),
        (("--socket", "/nowhere/mysqld.sock", "--user", "u"), 1, "/nowhere/mysqld.sock cannot be asked"),
    ],
)
def test_nonsense_is_one_line(log: Path, arguments: tuple[str, ...], status: int, said: str) -> None:
    done = redolab("slowlog", "worth", str(log), *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    (line,) = done.stderr.splitlines()
    assert said in line


def test_a_log_that_is_not_there_and_one_that_is_none(tmp_path: Path) -> None:
    assert redolab("slowlog", "worth", str(tmp_path / "none.log")).returncode == 1
    other = tmp_path / "other.log"
    other.write_text("not a slow query log\n")
    assert redolab("slowlog", "worth", str(other)).returncode in {1, 2}
