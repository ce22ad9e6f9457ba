"""The formulas against what servers report of their own limits (limits.csv: read from each server at each layout)."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import CAPACITY_IN_FORCE, Dialect, Version, dialect_of
from redolab.servers.redo_capacity import RedoCapacity, RedoLayout
from redolab.units import GIB, KIB, MIB

REPORTED = list(csv.DictReader(Path(__file__).with_name("limits.csv").open()))
REACHED = list(csv.DictReader(Path(__file__).with_name("reached.csv").open()))
AS_REPORTED: dict[str, Callable[[RedoCapacity], int]] = {
    "log_max_modified_age_async": lambda capacity: capacity.async_flush_point,
    "log_max_modified_age_sync": lambda capacity: capacity.sync_flush_point,
    "Innodb_checkpoint_max_age": lambda capacity: capacity.hard_limit,
    # soft limit = 8/7 of the asynchronous one, to the block that rounding takes; what is missing from it is the margin.
    "log_concurrency_margin": lambda capacity: _soft(capacity) - capacity.hard_limit,
}


def _soft(capacity: RedoCapacity) -> int:
    return 95 * capacity.usable // 100 // 512 * 512


def dialect(server: str) -> Dialect:
    return server_catalogue().get(server).dialect()


@pytest.mark.parametrize("server", sorted({row["server"] for row in REPORTED}))
def test_every_formula_gives_what_the_server_reports_to_the_byte(server: str) -> None:
    rows = [row for row in REPORTED if row["server"] == server]
    wrong = []
    for row in rows:
        layout = RedoLayout(
            int(row["file_size"]), int(row["files"]), int(row["page_size"]), int(row["thread_concurrency"])
        )
        given_by_formula = AS_REPORTED[row["name"]](dialect(server).capacity(layout))
        if given_by_formula != int(row["value"]):
            wrong.append((row, given_by_formula))
    assert wrong == []
    sizes = {int(row["file_size"]) * int(row["files"]) for row in rows}
    assert len(sizes) >= 5
    assert max(sizes) == 8 * GIB
    assert min(sizes) <= dialect(server).smallest_log


def test_all_servers_that_report_limits_are_there() -> None:
    assert Counter(row["server"] for row in REPORTED).keys() == set(server_catalogue().names()) - {"mysql-5.5"}


@pytest.mark.parametrize(
    ("server", "size", "forced", "wait"),
    [
        # Published or measured by hand, apart from the file above: one for each layout of the files.
        ("mysql-5.7", 512 * MIB, 407_019_688, 434_154_333),
        ("mysql-9", 8 * GIB, 7_148_178_432, 7_242_828_800),
        ("mariadb-10.11", 8 * GIB, 6_957_129_278, 6_957_129_278),
    ],
)
def test_known_limits(server: str, size: int, forced: int, wait: int) -> None:
    capacity = dialect(server).capacity(dialect(server).layout(size))
    assert (capacity.sync_flush_point, capacity.hard_limit) == (forced, wait)


@given(st.sampled_from(server_catalogue().names()), st.integers(min_value=8 * MIB, max_value=512 * GIB))
def test_ages_are_in_order_and_within_the_files(server: str, size: int) -> None:
    speaks = dialect(server)
    capacity = speaks.capacity(speaks.layout(size))
    # From MySQL 8.0 on, statements can have to wait before flushing is forced, on the smallest logs.
    assert 0 < capacity.async_flush_point <= capacity.sync_flush_point < capacity.usable <= capacity.layout.size <= size
    assert capacity.hard_limit < capacity.usable


@pytest.mark.parametrize("seen", REACHED, ids=lambda seen: f"{seen['server']}-{seen['flushing']}")
def test_loads_that_outran_flushing_came_to_the_highest_age_and_not_beyond_the_limit(seen: dict[str, str]) -> None:
    reached, speaks = int(seen["highest_seen"]), dialect(seen["server"])
    capacity = speaks.capacity(speaks.layout(int(seen["log_size"])))
    assert capacity.hard_limit == int(seen["hard_limit"])
    assert 0.99 * capacity.highest_age < reached < capacity.hard_limit + 64 * KIB
    assert capacity.highest_age <= capacity.hard_limit


def test_a_redo_log_is_as_large_as_the_server_says_that_it_is_and_not_as_its_variable() -> None:
    """Options of before 8.0.30 can have set it, and while it is resized it is still as large as it was."""
    dialect = dialect_of("mysql", Version(8, 0, 36))
    variables = {"innodb_redo_log_capacity": "104857600"}
    assert dialect.log_size(variables) == 100 * MIB
    assert dialect.log_size({**variables, CAPACITY_IN_FORCE.lower(): str(8 * GIB)}) == 8 * GIB
