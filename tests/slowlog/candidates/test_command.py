"""`redolab slowlog candidates` as JSON, without a server; `tests/commands/printed` has what it prints."""

from __future__ import annotations

import json

from tests.command import redolab


def test_json_has_the_first_classes_alone() -> None:
    done = redolab("slowlog", "candidates", "tests/slowlog/candidates/small.log", "--json", "--top", "1")
    found = json.loads(done.stdout)
    assert (found["classes"], found["asked"], len(found["judged"])) == (3, None, 1)
    (only,) = found["judged"]
    assert only["judgement"]["verdict"] == "candidate"
    # By its slowest execution.
    assert only["query"]["example"]["text"] == "SELECT a FROM t WHERE b = 2"
