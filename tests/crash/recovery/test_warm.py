"""When throughput is back, on made-up series of what clients counted: pure functions of them."""

from __future__ import annotations

import pytest

from redolab.crash.records.recovery import WarmTime
from redolab.crash.recovery.warm import BEFORE, Throughput, mean_before, warm_time
from redolab.workloads.data import WorkloadReport

BEFORE_IT = Throughput(commits=100.0, new_orders=45.0)


def series(*rates: float, began: float = 20.0, every: float = 1.0) -> list[WorkloadReport]:
    return [
        WorkloadReport(monotonic=began + place * every, commits_per_second=rate, new_orders_per_second=0.45 * rate)
        for place, rate in enumerate(rates, start=1)
    ]


def warm(*reports: WorkloadReport) -> WarmTime:
    """Of a server that was started at 10 and ready at 20, when its clients were started."""
    return warm_time(reports, BEFORE_IT, server_started=10.0, clients_started=20.0)


def test_before_is_the_mean_of_the_last_minute() -> None:
    reports = series(*[10.0] * 100, *[100.0] * int(BEFORE), began=0.0)
    before = mean_before(reports)
    assert before is not None
    assert before.commits == pytest.approx(100.0)
    assert before.new_orders == pytest.approx(45.0)
    assert mean_before(reports[:1]) is None
    assert mean_before([]) is None


def test_reports_count_for_as_long_as_they_speak_of() -> None:
    reports = [WorkloadReport(monotonic=at, commits_per_second=rate) for at, rate in ((0, 0), (1, 100), (4, 20))]
    assert mean_before(reports) == Throughput(commits=40.0, new_orders=None)


@pytest.mark.parametrize(
    ("rates", "back", "first_commit", "best_share"),
    [
        # All at once: back from the first transaction on.
        ([95.0] * 6, 11.0, 11.0, 0.95),
        # From the fourth second on: (60 + 4 × 100) / 5.
        ([0.0, 0.0, 30.0, 60.0, *[100.0] * 6], 13.0, 13.0, 0.92),
        # One good second does not do.
        ([50.0, 50.0, 200.0, 50.0, 50.0, 50.0, 50.0], None, 11.0, 0.8),
    ],
)
def test_throughput_is_back_where_five_seconds_begin_that_have_ninety_percent_of_it(
    rates: list[float], back: float | None, first_commit: float, best_share: float
) -> None:
    found = warm(*series(*rates))
    assert (found.back, found.first_commit, found.clients_started) == (back, first_commit, 10.0)
    assert found.best_share == pytest.approx(best_share)
    assert found.followed == 10.0 + len(rates)


def test_before_five_seconds_are_over_nothing_is_said() -> None:
    assert warm(*series(100.0, 100.0, 100.0, 100.0)).back is None
    assert warm().first_commit is None
    assert warm().followed == 10.0


def test_fine_reports_find_the_moment_finely() -> None:
    found = warm(*series(*[0.0] * 12, *[100.0] * 80, every=0.1))
    assert found.first_commit == pytest.approx(11.3)
    # Half a second without any is what five with 90 % may have; but throughput is not back before there is some.
    assert found.back == pytest.approx(11.3)
