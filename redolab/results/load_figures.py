"""Figures of a server under load, from the series sampled during it: pure functions."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from redolab.machine.facts import MachineSample
from redolab.report.intervals import Estimate, batch_means
from redolab.report.quantities import Quantity
from redolab.servers.redo_capacity import RedoCapacity
from redolab.servers.redo_counters import Sample
from redolab.units import KIB
from redolab.workloads.data import WorkloadReport

STALLED = 0.1
"""Share of the median throughput below which a second is a stall."""
_SECOND = 1.0
_SILENT = 3.0
"""Seconds without a report before the end from which they count as seconds without commits."""
_LATE = 0.1
"""Seconds by which the report of the last whole second may come too early."""


@dataclass(frozen=True, slots=True)
class LoadSecond:
    """Clients' results in one second."""

    end: float
    """End of the second, in monotonic seconds."""
    commits: float
    new_orders: float | None
    latency_95_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFigures:
    """Figures of one window of load, named as in docs/run-data.md. None if server or machine do not report it."""

    load_measured_s: float
    load_fillings: float | None
    """Number of times the log was filled since the load began: redo over the age at which statements wait."""
    commits: Estimate
    """Commits a second."""
    new_orders: Estimate | None
    """New-Order transactions a second of TPC-C; 60 times that is NOTPM."""
    failed_per_s: Annotated[float, Quantity("failed/s", places=1)]
    """Transactions that failed, a second."""
    latency_95_ms: Annotated[float | None, Quantity("p95", "ms", 1)]
    """Median of the seconds' 95th percentiles."""
    worst_latency_ms: Annotated[float | None, Quantity("worst p95", "ms", 0)]
    """Highest of the seconds' 95th percentiles."""
    worst_second_share: Annotated[float, Quantity("slowest second", "%", 0, 100)]
    """Lowest throughput of a second, as a share of the median."""
    stalled_s: Annotated[int, Quantity("stalls", "s", 0)]
    """Number of seconds with less than `STALLED` of the median."""
    age_share: Annotated[float | None, Quantity("age", "%", 0, 100)]
    """Mean checkpoint age, as a share of the age at which statements wait."""
    highest_age_share: Annotated[float | None, Quantity("highest age", "%", 0, 100)]
    redo_per_second: float | None
    """Redo a second by LSN, in bytes."""
    pages_flushed_per_s: Annotated[float | None, Quantity("pages/s", places=0)]
    log_waits: Annotated[int | None, Quantity("log waits", places=0)]
    measured_fillings: float | None
    """Number of times the log was filled in the window."""
    redo_per_commit_bytes: Annotated[float | None, Quantity("redo", "KiB", 1, 1 / KIB)]
    os_log_written_per_commit_bytes: Annotated[float | None, Quantity("os_log_written", "KiB", 1, 1 / KIB)]
    pages_per_commit_bytes: Annotated[float | None, Quantity("pages", "KiB", 1, 1 / KIB)]
    """Bytes of flushed pages, without the doublewrite buffer."""
    device_per_commit_bytes: Annotated[float | None, Quantity("device", "KiB", 1, 1 / KIB)]
    """Bytes of all writes to the device."""
    load_device_busy_share: Annotated[float | None, Quantity("device busy", "%", 0, 100)]
    """Share of the time in which the device was busy."""
    load_cpu_share: Annotated[float | None, Quantity("CPUs busy", "%", 0, 100)]
    """Share of all CPUs that the server, its clients and everything else used."""

    @property
    def rate(self) -> Estimate:
        """Throughput to compare by: new orders a minute of TPC-C, commits a second of other workloads."""
        if self.new_orders is None:
            return self.commits
        return Estimate(*(60 * each for each in (self.new_orders.mean, self.new_orders.low, self.new_orders.high)))


def load_figures(
    reports: Sequence[WorkloadReport],
    samples: Sequence[Sample],
    machine: Sequence[MachineSample],
    capacity: RedoCapacity,
    seconds: float,
    killed: float,
) -> LoadFigures | None:
    """Return the figures of the last `seconds` before the last report; None without a report in them.

    `killed` is the end of the load in monotonic seconds. Some programs report nothing for seconds in which nothing
    ended, so the time after the last report may be such seconds.
    """
    if not reports:
        return None
    everything = [*per_second(reports), *_silence_at_end(reports, killed)]
    end = everything[-1].end if everything else reports[-1].monotonic
    begin = end - seconds
    by_second = [each for each in everything if begin < each.end <= end]
    if not by_second:
        return None
    within = [sample for sample in samples if begin <= sample.monotonic <= end]
    of_machine = [sample for sample in machine if begin <= sample.monotonic <= end]
    commits = [each.commits for each in by_second]
    orders = [each.new_orders for each in by_second if each.new_orders is not None]
    latencies = [each.latency_95_ms for each in by_second if each.latency_95_ms is not None]
    median = statistics.median(commits)
    shares = [share for _, share in age_shares(within, capacity)]
    rate = statistics.fmean(commits)

    def per_commit(grown: float | None) -> float | None:
        return None if grown is None or not rate else grown / rate

    pages = _grown(within, lambda sample: sample.pages_written)
    page_size = next((sample.page_size for sample in within if sample.page_size), None)
    failed = sum(
        (report.errors_per_second or 0.0) * (report.monotonic - before.monotonic)
        for before, report in itertools.pairwise(reports)
        if begin < report.monotonic <= end
    )
    first, last = (within[0], within[-1]) if within else (None, None)
    waits = None
    if first is not None and last is not None and first.log_waits is not None and last.log_waits is not None:
        waits = last.log_waits - first.log_waits
    return LoadFigures(
        load_measured_s=float(len(by_second)),
        load_fillings=_fillings(samples, capacity),
        commits=batch_means(commits),
        new_orders=batch_means(orders) if len(orders) == len(by_second) else None,
        failed_per_s=failed / (end - max(begin, reports[0].monotonic)),
        latency_95_ms=statistics.median(latencies) if latencies else None,
        worst_latency_ms=max(latencies, default=None),
        worst_second_share=min(commits) / median if median else 0.0,
        stalled_s=sum(each <= STALLED * median for each in commits),
        age_share=statistics.fmean(shares) if shares else None,
        highest_age_share=max(shares, default=None),
        redo_per_second=(redo := _grown(within, lambda sample: sample.lsn)),
        pages_flushed_per_s=pages,
        log_waits=waits,
        measured_fillings=_fillings(within, capacity),
        redo_per_commit_bytes=per_commit(redo),
        os_log_written_per_commit_bytes=per_commit(_grown(within, lambda sample: sample.os_log_written)),
        pages_per_commit_bytes=None if pages is None or page_size is None else per_commit(pages * page_size),
        device_per_commit_bytes=per_commit(_grown(of_machine, lambda sample: sample.written_bytes)),
        load_device_busy_share=_grown(of_machine, lambda sample: sample.busy),
        load_cpu_share=_cpu_share(of_machine),
    )


def per_second(reports: Sequence[WorkloadReport]) -> list[LoadSecond]:
    """Return the reports as seconds, or as near to seconds as they come.

    A program that reports no second in which nothing ended leaves a gap: a report after several seconds belongs to the
    last of them. More frequent reports are put together.
    """
    found: list[LoadSecond] = []
    parts: list[tuple[WorkloadReport, float]] = []
    for before, report in itertools.pairwise(reports):
        lasted = report.monotonic - before.monotonic
        parts.append((report, lasted))
        together = sum(each for _, each in parts)
        # Begin anew as soon as the next report would take the sum further from a second than it is.
        if together + lasted / 2 < _SECOND:
            continue
        # A report that is only late covers all the time since the last one.
        silent = max(0, int(lasted / _SECOND + _LATE) - 1) if len(parts) == 1 else 0
        none = None if report.new_orders_per_second is None else 0.0
        found += [LoadSecond(before.monotonic + _SECOND * each, 0.0, none, None) for each in range(1, silent + 1)]
        found.append(_joined(parts, together - silent * _SECOND))
        parts = []
    return found


def _silence_at_end(reports: Sequence[WorkloadReport], killed: float) -> list[LoadSecond]:
    """Return the seconds between the last report and the end of the load, if a late report does not explain them."""
    last = reports[-1]
    gap = killed - last.monotonic
    none = None if last.new_orders_per_second is None else 0.0
    seconds = int(gap / _SECOND) if gap > _SILENT else 0
    return [LoadSecond(last.monotonic + _SECOND * each, 0.0, none, None) for each in range(1, seconds + 1)]


def _joined(parts: Sequence[tuple[WorkloadReport, float]], seconds: float) -> LoadSecond:
    """Return reports, each with the seconds it covers, as one window of `seconds`."""
    last = parts[-1][0]
    orders = [(report.new_orders_per_second, lasted) for report, lasted in parts]
    known_orders = [rate * lasted for rate, lasted in orders if rate is not None]
    latencies = [report.latency_95_ms for report, _ in parts if report.latency_95_ms is not None]
    return LoadSecond(
        end=last.monotonic,
        commits=sum(report.commits_per_second * lasted for report, lasted in parts) / seconds,
        new_orders=sum(known_orders) / seconds if len(known_orders) == len(parts) else None,
        latency_95_ms=max(latencies, default=None),
    )


def age_shares(samples: Sequence[Sample], capacity: RedoCapacity) -> list[tuple[float, float]]:
    """Return (monotonic seconds, checkpoint age as a share of the age at which statements wait)."""
    return [
        (sample.monotonic, sample.checkpoint_age / (sample.hard_limit or capacity.hard_limit))
        for sample in samples
        if sample.checkpoint_age is not None
    ]


def _grown(samples: Sequence[Sample] | Sequence[MachineSample], counter: Callable[..., float | None]) -> float | None:
    """Return the growth of a counter a second."""
    known = [(sample.monotonic, value) for sample in samples if (value := counter(sample)) is not None]
    if len(known) < 2:
        return None
    (first_at, first), (last_at, last) = known[0], known[-1]
    return (last - first) / (last_at - first_at)


def _fillings(samples: Sequence[Sample], capacity: RedoCapacity) -> float | None:
    known = [sample for sample in samples if sample.lsn is not None]
    if len(known) < 2 or known[0].lsn is None or known[-1].lsn is None:
        return None
    return (known[-1].lsn - known[0].lsn) / (known[-1].hard_limit or capacity.hard_limit)


def _cpu_share(samples: Sequence[MachineSample]) -> float | None:
    if len(samples) < 2 or samples[-1].cpu_all == samples[0].cpu_all:
        return None
    return (samples[-1].cpu_busy - samples[0].cpu_busy) / (samples[-1].cpu_all - samples[0].cpu_all)
