"""What a server does not take is refused before anything is loaded, in the server's words."""

from __future__ import annotations

import pytest

from redolab.lines import Line
from redolab.runs.store import RunStore
from redolab.servers.extra_settings import settings_from, what_was_refused
from tests.command import SMALL, nothing_is_left, redolab

pytestmark = pytest.mark.server


@pytest.mark.parametrize(
    ("server", "settings", "said"),
    [
        ("mariadb-10.11", "innodb_no_such=1", "unknown variable 'innodb_no_such=1'"),
        ("mariadb-10.11", "skip_name_resolve+innodb_flush_method=banana", "innodb_flush_method"),
    ],
)
def test_a_setting_that_a_server_refuses_is_bad_input(server: str, settings: str, said: str) -> None:
    before = len(RunStore().all())
    done = redolab("run", "recovery", *SMALL, "--server", server, "--settings", f"none,{settings}")
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert "loading" not in done.stdout
    assert len(RunStore().all()) == before
    assert nothing_is_left()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            [
                "2026-11-24 3:58:00 0 [ERROR] InnoDB: first",
                "2026-11-24 3:58:00 0 [ERROR] /mysqld: option 'a-b' is odd.",
            ],
            "/mysqld: option 'a-b' is odd",
        ),
        (["2026-11-24T03:58:00Z 0 [ERROR] [MY-000067] [Server] unknown variable 'x=1'."], "unknown variable 'x=1'"),
        (["2026-11-24 3:58:00 0 [Note] nothing"], "it ended without a word"),
    ],
)
def test_the_error_that_names_the_setting_is_what_was_said(lines: list[str], said: str) -> None:
    assert what_was_refused([Line(text) for text in lines], settings_from("a_b=1")) == said
