"""What a load came to, from made-up series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from redolab.crash.records.kill_rule import KillRule, SteadyRule
from redolab.machine.facts import MachineSample
from redolab.results.load_figures import LoadFigures, load_figures, per_second
from redolab.results.loads import measured_seconds
from redolab.servers.redo_capacity import capacity_before_8_0, two_files
from redolab.servers.redo_counters import Sample
from redolab.units import KIB, MIB
from redolab.workloads.data import WorkloadReport

CAPACITY = capacity_before_8_0(two_files(512 * MIB), header=2048)
SECONDS = 120


def report(at: float, commits: float, latency: float | None = 8.0) -> WorkloadReport:
    return WorkloadReport(
        monotonic=at, commits_per_second=commits, new_orders_per_second=commits / 2, latency_95_ms=latency
    )


def sample(at: float) -> Sample:
    second = int(at)
    return Sample(
        monotonic=at,
        wall=at,
        lsn=second * 1000 * KIB,
        os_log_written=second * 1200 * KIB,
        checkpoint_age=200 * MIB,
        hard_limit=400 * MIB,
        pages_written=second * 50,
        page_size=16 * KIB,
        log_waits=3 + second // 60,
    )


def machine(at: float) -> MachineSample:
    return MachineSample(
        monotonic=at, reads=0, read_bytes=0, writes=0, written_bytes=int(at) * 4000 * KIB, busy=at / 4, waited=at,
        cpu_busy=1.5 * at, cpu_all=2 * at,
    )  # fmt: skip


def figures(
    reports: Sequence[WorkloadReport],
    seconds: float,
    killed: float,
    samples: Sequence[Sample] = (),
    of_machine: Sequence[MachineSample] = (),
) -> LoadFigures:
    """The figures of a load with these reports and samples."""
    found = load_figures(reports, samples, of_machine, CAPACITY, seconds, killed)
    assert found is not None
    return found


def test_all_figures_are_of_the_last_seconds() -> None:
    reports = [report(float(at), 1000.0 if at <= SECONDS else 100.0) for at in range(2 * SECONDS + 1)]
    times = [float(at) for at in range(2 * SECONDS + 1)]
    found = figures(reports, SECONDS, times[-1], [sample(at) for at in times], [machine(at) for at in times])
    assert found.load_measured_s == SECONDS
    assert found.commits.mean == pytest.approx(100)
    assert found.new_orders is not None
    assert found.rate.mean == pytest.approx(100 / 2 * 60)
    assert found.age_share == pytest.approx(0.5)
    assert found.redo_per_commit_bytes == pytest.approx(10 * KIB)
    assert found.os_log_written_per_commit_bytes == pytest.approx(12 * KIB)
    assert found.pages_flushed_per_s == pytest.approx(50)
    assert found.pages_per_commit_bytes == pytest.approx(8 * KIB)
    assert found.device_per_commit_bytes == pytest.approx(40 * KIB)
    assert found.load_device_busy_share == pytest.approx(0.25)
    assert found.load_cpu_share == pytest.approx(0.75)
    assert found.log_waits == 2
    assert found.latency_95_ms == 8.0


def test_seconds_of_which_nothing_was_reported_are_stalls() -> None:
    at = [*range(100), *range(104, 125)]
    found = figures([report(float(each), 100.0) for each in at], 120.0, 124.3)
    # Four seconds after the report at 99 s, and the fifth has all that was counted since.
    assert found.stalled_s == 4
    assert found.worst_second_share == 0.0
    assert found.age_share is None
    assert found.redo_per_commit_bytes is None


def test_reports_that_come_a_little_early_or_late_are_no_stalls() -> None:
    times = [0.0, 0.94, 1.96, 3.0, 3.9, 5.05, 6.0]
    seconds = per_second([report(at, 100.0) for at in times])
    assert [round(each.commits) for each in seconds] == [100] * 6


def test_a_load_that_hangs_at_its_end_is_told_from_one_that_ended() -> None:
    reports = [report(float(at), 100.0) for at in range(101)]
    hung = figures(reports, 50.0, killed=120.4)
    assert hung.stalled_s == 20
    assert hung.commits.mean == pytest.approx(60)
    ended = figures(reports, 50.0, killed=102.9)
    assert ended.stalled_s == 0


def test_the_start_of_a_load_is_not_measured() -> None:
    steady = KillRule(steady=SteadyRule(window=180.0), after=1800.0)
    assert measured_seconds(steady, 1000.0) == 360
    assert measured_seconds(steady, 362.0) == pytest.approx(302)
    assert measured_seconds(KillRule(after=60.0), 60.0) == pytest.approx(40)
    assert measured_seconds(KillRule(), 60.0) is None


def test_failures_are_of_all_the_time_that_is_measured() -> None:
    failing = [replace(report(float(at), 100.0), errors_per_second=3.0 if at % 2 else 1.0) for at in range(101)]
    found = figures(failing, 50.0, killed=100.0)
    assert found.failed_per_s == pytest.approx(2.0)


def test_reports_that_come_more_often_are_put_together() -> None:
    reports = [report(0.1 * tenth, 50.0 if tenth <= 10 else 150.0, latency=float(tenth)) for tenth in range(21)]
    seconds = per_second(reports)
    assert [round(each.commits) for each in seconds] == [50, 150]
    assert [each.latency_95_ms for each in seconds] == [10.0, 20.0]


def test_a_load_without_a_report_has_no_figures() -> None:
    assert load_figures([], [], [], CAPACITY, 10.0, 10.0) is None
    assert load_figures([report(5.0, 1.0)], [], [], CAPACITY, 10.0, 5.5) is None
