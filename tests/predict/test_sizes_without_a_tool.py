"""The tables of docs/sizes.md: the largest redo log that recovers in time, by recovery time, version and disk; and what a size costs.

.venv/bin/python -m tests.predict.test_sizes_without_a_tool

prints them as `redolab size --crash worst` computes them, with the calibration that comes with redolab.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from redolab.predict.advising import CrashTime, sized
from redolab.predict.asking import model_of
from redolab.predict.calibration import Calibration, shipped_calibration
from redolab.predict.demand import Demand
from redolab.predict.log_size import Limits
from redolab.predict.question import Question
from redolab.predict.recovery import Prediction, recovery_at
from redolab.project import PROJECT
from redolab.units import GIB, MIB, format_duration, format_size

_POOL = 8 * GIB
_TIMES = {"1 minute": 60, "5 minutes": 300, "10 minutes": 600, "15 minutes": 900}
_LARGE_POOL = 64 * GIB
_LOGS = (256 * MIB, 512 * MIB, *(size * GIB for size in (1, 2, 4, 8, 16)))
_GRID = (*range(64 * MIB, GIB, 64 * MIB), *range(GIB, 32 * GIB, 256 * MIB))
"""Sizes to choose from."""
_FIVE = 300.0
_PAGES = (50_000, 300_000)
"""Dirty pages for each GB of redo: those of the lab's loads, and those of random writes over large tables."""
_COSTS = {"MySQL 8.0.30 to 8.4": "mysql-8.4.3", "MariaDB 10.11": "mariadb-10.11"}
_SERVERS: dict[str, tuple[str, int | None]] = {
    "MySQL 5.7": ("mysql-5.7", None),
    "MySQL 8.0 before 8.0.30": ("mysql-8.0", None),
    "MySQL 8.0.30 to 8.4": ("mysql-8.4.3", None),
    "MySQL 9.7, 4 read threads": ("mysql-9", 4),
    "MySQL 9.7, 16 read threads": ("mysql-9", 16),
    "MariaDB 10.5": ("mariadb-10.5", None),
    "MariaDB 10.11": ("mariadb-10.11", None),
    "MariaDB 11.4": ("mariadb-11.4", None),
    "MariaDB 11.8": ("mariadb-11.8", None),
}
"""Server and innodb_read_io_threads of each row."""
_DISKS = {
    "fast virtual disk": "local",
    "gp3, 3,000 IOPS": "gp3-3000",
    "gp3, 6,000 IOPS": "gp3-6000",
    "hard disk": "hdd",
}


def tables() -> list[str]:
    """A table in Markdown for each recovery time."""
    calibration = shipped_calibration()
    sizes = [f"### Ready within {name}\n\n{_table(calibration, seconds)}" for name, seconds in _TIMES.items()]
    costs = [
        f"### {name}, {disk}\n\n{_costs(calibration, server, _DISKS[disk])}"
        for name, server in _COSTS.items()
        for disk in ("fast virtual disk", "gp3, 3,000 IOPS")
    ]
    by_pages = f"### Within five minutes, by dirty pages\n\n{_by_pages(calibration)}"
    return [*sizes, by_pages, *costs]


def _table(calibration: Calibration, rto: float) -> str:
    lines = [f"| server | {' | '.join(_DISKS)} |", f"| --- |{' ---: |' * len(_DISKS)}"]
    for name, (server, threads) in _SERVERS.items():
        questions = (Question(server=server, storage=at, pool=_POOL, read_threads=threads) for at in _DISKS.values())
        cells = (_largest(calibration, question, rto) for question in questions)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _largest(calibration: Calibration, question: Question, rto: float) -> str:
    model = model_of(question, calibration, question.storage)
    found = sized(model, Demand(redo_per_hour=GIB, source=""), Limits(rto=rto), crash_time=CrashTime.WORST)
    return "–" if found.advice.largest_within_rto is None else format_size(found.advice.largest_within_rto)


def _by_pages(calibration: Calibration) -> str:
    """Return the largest log that recovers within five minutes with a large pool, by the dirty pages of the redo."""
    columns = [(disk, pages) for disk in ("fast virtual disk", "gp3, 3,000 IOPS") for pages in _PAGES]
    lines = [
        f"| server | {' | '.join(f'{disk}, {pages:,} pages/GB' for disk, pages in columns)} |",
        f"| --- |{' ---: |' * len(columns)}",
    ]
    for name, server in _COSTS.items():
        cells = []
        for disk, pages in columns:
            within = [
                size for size in _GRID if _full(calibration, server, _DISKS[disk], size, pages).ninety[1] <= _FIVE
            ]
            cells.append(format_size(max(within)) if within else "–")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _full(calibration: Calibration, server: str, storage: str, size: int, pages: int) -> Prediction:
    """Return the recovery with a log full of redo that has so many dirty pages a GB."""
    question = Question(server=server, storage=storage, pool=_LARGE_POOL)
    worst = model_of(question, calibration, storage).worst_age(size)
    question = replace(question, dirty_pages=round(pages * worst / GIB))
    return recovery_at(model_of(question, calibration, storage), size)


def _costs(calibration: Calibration, server: str, storage: str) -> str:
    """Return the recovery times with each log full on a storage: typical and 95 % upper bound."""
    head = " | ".join(f"{pages:,} pages/GB: typical | 95 % sure less than" for pages in _PAGES)
    lines = [f"| redo log | {head} |", f"| ---: |{' ---: |' * 2 * len(_PAGES)}"]
    for size in _LOGS:
        cells = []
        for pages in _PAGES:
            found = _full(calibration, server, storage, size, pages)
            cells += [format_duration(found.seconds), format_duration(found.ninety[1])]
        lines.append(f"| {format_size(size)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def test_the_documentation_has_the_sizes_that_recover_in_time() -> None:
    shown = (PROJECT.root / "docs/sizes.md").read_text()
    assert all(table in shown for table in tables())


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(tables()) + "\n")
