"""A server that is followed, in the words of `followed.txt`.

.venv/bin/python -m tests.watch.test_view

writes the words anew: read the difference before committing it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from redolab.watch.following.follow import experience
from redolab.watch.following.follow_view import rows
from redolab.watch.following.follower import Follower

WORDS = Path(__file__).with_name("followed.txt")
_STARTS = (
    "2026-11-26T19:24:14.099667Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld (mysqld 9.7.4) starting as process 2"
)
_LOGS = {
    "no line": [],
    "a start": [_STARTS],
    "a start that looks at 20,020 tablespace files": [
        _STARTS,
        "2026-11-26T19:24:14.714414Z 1 [Note] [MY-012207] [InnoDB] Using 3 threads to scan 20020 tablespace files",
        "2026-11-26T19:24:24.722445Z 0 [Note] [MY-012200] [InnoDB] Thread# 0 - Checked 406/10010 files",
        "2026-11-26T19:24:24.733556Z 0 [Note] [MY-012200] [InnoDB] Thread# 1 - Checked 406/10010 files",
    ],
    "a server that gives up": [
        _STARTS,
        "2026-11-26T19:24:15.000000Z 1 [ERROR] [MY-010334] [Server] Failed to initialize DD Storage Engine",
        "2026-11-26T19:24:16.000000Z 0 [ERROR] [MY-010119] [Server] Aborting",
    ],
    "a server that takes connections": [
        _STARTS,
        "2026-11-26T19:24:16.000000Z 0 [System] [MY-010931] [Server] /usr/sbin/mysqld: ready for connections. Version: '9.7.4'",
    ],
}
"""Lines, a second apart."""


def words() -> Iterator[str]:
    known = experience()
    for name, lines in _LOGS.items():
        follower = Follower(known, None, 0.0)
        for second, line in enumerate(lines):
            follower.hear_line(line, float(second))
        shown = rows(follower.state_at(float(len(lines))), wall=0.0)
        yield "\n    ".join([name, *(f"{label}: {value}" for label, value in shown)]) + "\n"


def test_a_state_has_the_words_of_its_file() -> None:
    assert "\n".join(words()) == WORDS.read_text()


if __name__ == "__main__":
    WORDS.write_text("\n".join(words()))
