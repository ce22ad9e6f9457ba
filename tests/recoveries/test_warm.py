"""When throughput is back, on made-up series of what clients counted: pure functions of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.records.recovery import WarmTime
from redolab.recoveries.warm import BEFORE, Throughput, mean_before, warm_time
from redolab.results.series import read_moments
from redolab.samples.sampler import CsvFile
from redolab.workloads.data import WorkloadMoment

BEFORE_IT = Throughput(commits=100.0, new_orders=45.0)


def series(*rates: float, began: float = 20.0, every: float = 1.0) -> list[WorkloadMoment]:
    return [
        WorkloadMoment(monotonic=began + place * every, commits_per_second=rate, new_orders_per_second=0.45 * rate)
        for place, rate in enumerate(rates, start=1)
    ]


def warm(*moments: WorkloadMoment) -> WarmTime:
    """Of a server that was started at 10 and ready at 20, when its clients were started."""
    return warm_time(moments, BEFORE_IT, server_started=10.0, clients_started=20.0)


def test_before_is_the_mean_of_the_last_minute() -> None:
    moments = series(*[10.0] * 100, *[100.0] * int(BEFORE), began=0.0)
    before = mean_before(moments)
    assert before is not None
    assert before.commits == pytest.approx(100.0)
    assert before.new_orders == pytest.approx(45.0)
    assert mean_before(moments[:1]) is None
    assert mean_before([]) is None


def test_reports_count_for_as_long_as_they_speak_of() -> None:
    moments = [WorkloadMoment(monotonic=at, commits_per_second=rate) for at, rate in ((0, 0), (1, 100), (4, 20))]
    assert mean_before(moments) == Throughput(commits=40.0, new_orders=None)


def test_clients_that_have_it_all_at_once_have_it_from_their_first_transaction_on() -> None:
    found = warm(*series(*[95.0] * 6))
    assert found.back == 11.0
    assert found.first_commit == 11.0
    assert found.clients_started == 10.0
    assert found.best_share == pytest.approx(0.95)


def test_throughput_is_back_where_five_seconds_begin_that_have_ninety_percent_of_it() -> None:
    found = warm(*series(0.0, 0.0, 30.0, 60.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0))
    # From the fourth second on: (60 + 4 × 100) / 5.
    assert found.back == 13.0
    assert found.first_commit == 13.0
    assert found.best_share == pytest.approx(0.92)


def test_one_good_second_does_not_do() -> None:
    found = warm(*series(50.0, 50.0, 200.0, 50.0, 50.0, 50.0, 50.0))
    assert found.back is None
    assert found.best_share == pytest.approx(0.8)
    assert found.followed == 17.0


def test_before_five_seconds_are_over_nothing_is_said() -> None:
    assert warm(*series(100.0, 100.0, 100.0, 100.0)).back is None
    assert warm().first_commit is None
    assert warm().followed == 10.0


def test_a_silent_stretch_counts_as_it_was() -> None:
    # Nothing was reported for ten seconds, then what was counted since.
    moments = [WorkloadMoment(monotonic=30.0, commits_per_second=1.0), *series(*[100.0] * 6, began=30.0)]
    found = warm(*moments)
    assert found.back == 20.0


def test_fine_reports_find_the_moment_finely() -> None:
    found = warm(*series(*[0.0] * 12, *[100.0] * 80, every=0.1))
    assert found.first_commit == pytest.approx(11.3)
    # Half a second without any is what five with 90 % may have; but throughput is not back before there is some.
    assert found.back == pytest.approx(11.3)


def test_reports_are_read_as_they_were_written(tmp_path: Path) -> None:
    moments = [*series(1.0, 2.0), WorkloadMoment(monotonic=23.0, commits_per_second=3.0, errors_per_second=0.5)]
    file = CsvFile(tmp_path / "clients.csv", WorkloadMoment)
    for moment in moments:
        file.append(moment)
    file.close()
    assert read_moments(tmp_path / "clients.csv") == moments
