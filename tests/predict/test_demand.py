"""The redo of the busiest hour, from samples in files, and what the busiest hour of a month may have."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from redolab.errors import InvalidInput
from redolab.predict.advising import sized
from redolab.predict.demand import Demand, demand_of_files, highest_expected, with_dirty_pages
from redolab.predict.log_size import Limits
from redolab.units import GIB
from tests.predict.examples import model

DAY = 86_400
MONDAY = 1_700_000_000


def _sampled(path: Path, start: int, lsn: int, rate: int = 1000) -> Path:
    """One sample a minute of a day."""
    rows = [f"{start + 60 * number},{lsn + rate * number}" for number in range(60 * 24 + 1)]
    path.write_text("\n".join(["time,lsn", *rows]))
    return path


def test_samples_give_the_busiest_hour_and_what_the_counter_would_have_said(tmp_path: Path) -> None:
    samples = tmp_path / "redo.csv"
    # The source documents' two rates: 2.70 GB an hour by LSN, 7.15 by os_log_written.
    rows = [f"{60 * minute},{minute * 45_000_000},{minute * 119_166_667}" for minute in range(121)]
    samples.write_text("time,lsn,os_log_written\n" + "\n".join(rows) + "\n")
    demand = demand_of_files([samples])
    assert demand.redo_per_hour == pytest.approx(2.7e9)
    assert demand.os_log_written_per_hour == pytest.approx(7.15e9)
    # Two hours need not have the peak of a week.
    assert len(demand.warnings) == 1
    found = sized(model(), demand, Limits(rto=600))
    assert (found.by_os_log_written or 0) > 2 * (found.advice.smallest_for_hour or 0)


@pytest.mark.parametrize("rows", [["time,os_log_written", "0,0", "60,1000000", "120,2000000"], ["time,lsn", "0,100"]])
def test_without_two_samples_of_the_lsn_there_is_no_demand(tmp_path: Path, rows: list[str]) -> None:
    samples = tmp_path / "redo.csv"
    samples.write_text("\n".join(rows) + "\n")
    with pytest.raises(InvalidInput):
        demand_of_files([samples])


def test_files_of_several_servers_are_no_days_of_one(tmp_path: Path) -> None:
    one = _sampled(tmp_path / "mon.csv", MONDAY, 10**9)
    next_day = _sampled(tmp_path / "tue.csv", MONDAY + DAY, 10**9 + 2 * 10**6)
    another = _sampled(tmp_path / "other.csv", MONDAY, 5 * 10**9, rate=7000)
    # Two days tell no month.
    found, mixed = demand_of_files([one, next_day]), demand_of_files([one, another])
    assert (found.days, found.month_per_hour, len(found.warnings)) == (2, None, 1)
    assert (mixed.days, mixed.redo_per_hour, len(mixed.warnings)) == (1, 7000 * 60, 2)


def test_collections_that_overlap_by_their_start_are_of_one_server(tmp_path: Path) -> None:
    """Samples as cron starts them, a day each."""
    one = _sampled(tmp_path / "mon.csv", MONDAY, 10**9)
    other = _sampled(tmp_path / "tue.csv", MONDAY + DAY - 30, 10**9 + 1440 * 1000 - 500)
    for files in ([one, other], [other, one]):
        assert demand_of_files(files).days == 2


def test_after_a_restart_the_time_before_it_counts_as_sampled_too(tmp_path: Path) -> None:
    """`mysqladmin extended-status -i 60`, whose clock is the uptime."""
    uptimes = [*range(7200, 10_800, 60), *range(5, 1805, 60)]
    samples = tmp_path / "mysqladmin.txt"
    samples.write_text(
        "".join(
            "| Variable_name | Value |\n"
            f"| Innodb_lsn_current | {lsn} |\n| Innodb_lsn_last_checkpoint | {lsn - 500} |\n| Uptime | {uptime} |\n"
            for lsn, uptime in zip(itertools.count(10**9, 1000), uptimes, strict=False)
        )
    )
    demand = demand_of_files([samples])
    assert demand.sampled_s == 59 * 60 + 29 * 60
    assert demand.ages[0] == demand.ages[-1] == 500


def test_more_dirty_pages_than_the_workload_leaves_are_said() -> None:
    demand = Demand(redo_per_hour=GIB, source="as given", ages=(GIB // 4, GIB // 2))
    assert with_dirty_pages(demand, model(), 1) == demand
    assert "pages were dirty" in with_dirty_pages(demand, model(), 100_000_000).warnings[-1]


def test_two_days_tell_no_month() -> None:
    assert highest_expected([1.0, 2.0], 30) is None


@pytest.mark.parametrize("days", [3, 7, 30])
def test_a_month_stays_below_it_as_often_as_it_says(days: int) -> None:
    draw = np.random.default_rng(days)
    below = 0
    worlds = 1000
    for _ in range(worlds):
        peaks = np.exp(draw.normal(0, 0.3, days))
        month = np.exp(draw.normal(0, 0.3, 30)).max()
        below += month <= (highest_expected(list(peaks), 30) or 0)
    # Bonferroni allows less than it says, never more: of 1,000 worlds 95 % are 929 or more.
    assert below / worlds >= 0.929
