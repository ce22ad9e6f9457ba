"""Recoveries in words and bars: the wording of `redolab timeline` stands in pictures.txt alone.

`.venv/bin/python -m tests.errorlog.test_picture` writes it: read the difference before committing it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.errorlog import Timeline, timelines
from redolab.errorlog.files import read_log
from redolab.errorlog.picture import picture

LOGS = Path(__file__).parent.parent / "logs"
GOLDEN = Path(__file__).with_name("pictures.txt")
SHOWN = (
    "real/mysql-5.7-small-pool",
    "real/mariadb-10.11-two-batches-8G",
    "real/mysql-9-verbosity2-rollback",
    "forms/mariadb-10.11-begins-in-the-apply",
    "forms/mysql-5.7-gives-up-on-a-page",
    "forms/percona-5.7",
    "forms/xtrabackup-8.0.35-fails",
)
BAR = "█"


def recoveries(name: str) -> list[Timeline]:
    return list(timelines(read_log(LOGS / f"{name}.log")))


def pictures() -> str:
    return "".join(
        f"{name}\n" + "".join(f"  {line}".rstrip() + "\n" for line in picture(timeline))
        for name in SHOWN
        for timeline in recoveries(name)
    )


def test_recoveries_are_told_as_the_golden_file_has_them() -> None:
    assert pictures() == GOLDEN.read_text()


@pytest.mark.parametrize("name", SHOWN)
def test_bars_are_to_scale_and_follow_each_other(name: str) -> None:
    for timeline in recoveries(name):
        bars = [line for line in picture(timeline) if BAR in line]
        timed = [time.seconds for time in timeline.phases if time.seconds]
        assert len(bars) == len(timed)
        ends = [bar.rindex(BAR) for bar in bars]
        assert ends == sorted(ends)
        longest = max(timed)
        assert max(bar.count(BAR) for bar in bars) == bars[timed.index(longest)].count(BAR)
        assert all(len(bar) <= 80 for bar in bars)


if __name__ == "__main__":
    GOLDEN.write_text(pictures())
