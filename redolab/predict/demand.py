"""Redo that a server writes at its peak, as far as samples show it, and warnings about their limits."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import scipy

from redolab.counters.ages import checkpoint_ages, limit_in
from redolab.counters.busiest import Busiest, busiest_hour, busiest_hours_of_days
from redolab.counters.live.collected import read_collected
from redolab.counters.series import HOUR
from redolab.errors import InvalidInput
from redolab.predict.question import Model
from redolab.servers.redo_counters import Sample
from redolab.units import format_duration, format_size, noun

_DAY = 24 * HOUR
_FEWEST_DAYS = 3
"""Fewest days for an upper bound: two days hardly show by how much days differ."""
_MONTH = 30
"""Days in a month."""
_QUIET = 1.2
_OVERLAP = 60.0
"""Seconds by which a collection may begin before the one of the day before has ended."""
_MOSTLY = 0.05
_MANY = 2.0
"""Times the dirty pages of the workload from which on there is a warning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Redo of the peak hour; bytes an hour."""

    redo_per_hour: float
    os_log_written_per_hour: float | None = None
    os_log_written_mean: float | None = None
    """Mean since the server's start."""
    source: str
    """Origin of the demand, in words."""
    month_per_hour: float | None = None
    """95 % upper bound of the busiest hour of the coming month; None if too few days were sampled."""
    days: int = 0
    """Number of whole days that were sampled."""
    ages: tuple[int, ...] = ()
    """Quantiles of the checkpoint age in samples, in bytes; empty if no sample has it."""
    age_limit: int | None = None
    """Checkpoint age at which statements waited during the samples, in bytes; None if the server did not report it."""
    sampled_s: float = 0.0
    """Seconds that the samples cover, restarts left out."""
    warnings: tuple[str, ...] = ()


def demand_of_files(paths: Sequence[Path]) -> Demand:
    """Return the demand of the busiest hour of samples in files. Raises `InvalidInput`."""
    samples = {path: read_collected(path) for path in paths}
    found = [(path, _busiest(of_file, str(path))) for path, of_file in samples.items()]
    path, busiest = max(found, key=lambda each: each[1].redo_per_hour)
    where = path.name if len(samples) == 1 else f"{path.name}, the busiest of {len(samples)} files"
    demand = demand_of(busiest, where)
    files = list(samples.values())
    if not _are_of_one_server(files):
        files = [samples[path]]
        demand = replace(
            demand,
            warnings=(
                *demand.warnings,
                "the files do not follow one another, as those of one server do: only the busiest is gone by",
            ),
        )
    return _with_distributions(demand, files, of_peak=samples[path])


def demand_of_samples(samples: Sequence[Sample], where: str) -> Demand:
    """Return the demand of the busiest hour of samples, or of all if they cover less. Raises `InvalidInput`."""
    return _with_distributions(demand_of(_busiest(samples, where), where), [samples], of_peak=samples)


def _with_distributions(demand: Demand, files: Sequence[Sequence[Sample]], *, of_peak: Sequence[Sample]) -> Demand:
    """Return the demand with the differences between days and the distribution of the checkpoint age."""
    return replace(
        with_days(demand, [peak for samples in files for peak in busiest_hours_of_days(samples)]),
        ages=checkpoint_ages(of_peak),
        age_limit=limit_in(of_peak),
    )


def with_days(demand: Demand, peaks: Sequence[float]) -> Demand:
    """Return the demand with an upper bound for a month, from the busiest hours of whole days (bytes an hour)."""
    few = (
        [
            f"{noun(len(peaks), 'day was', 'days were')} sampled: how much more redo the busiest hour of a month "
            f"writes is told from {_FEWEST_DAYS} days on"
        ]
        if 0 < len(peaks) < _FEWEST_DAYS
        else []
    )
    return replace(
        demand,
        warnings=(*demand.warnings, *few),
        month_per_hour=highest_expected(peaks, _MONTH),
        days=len(peaks),
    )


def highest_expected(peaks: Sequence[float], days: int) -> float | None:
    """Return an upper bound of the highest of `days` coming daily peaks, at 95 % confidence.

    Returns None for fewer than three peaks. `peaks` has the busiest hour of each day, above 0; the result has
    the same unit. Logarithms are taken as normal and days as independent, so each coming day gets its share of the
    allowed error (Bonferroni): a simultaneous prediction interval (Hahn and Meeker, Statistical Intervals, section
    4.8). Growth from month to month is not considered.
    """
    if len(peaks) < _FEWEST_DAYS:
        return None
    logarithms = [math.log(peak) for peak in peaks]
    freedom = len(peaks) - 1
    reach = float(scipy.stats.t.ppf(1 - 0.05 / days, freedom)) * statistics.stdev(logarithms)
    return math.exp(statistics.fmean(logarithms) + reach * math.sqrt(1 + 1 / len(peaks)))


def with_dirty_pages(demand: Demand, model: Model, dirty_pages: int | None) -> Demand:
    """Return a demand that warns if more pages were dirty than the redo of the model's workload leaves."""
    most = max(demand.ages, default=0)
    if not most or dirty_pages is None or dirty_pages < _MANY * (typical := model.fitted.dirty_pages.at(most)):
        return demand
    warning = (
        f"up to {dirty_pages} pages were dirty, where redo like that of {model.workload} leaves about {typical:.0f} with the largest "
        f"checkpoint age seen, {format_size(most)}: recovery may read more pages than predicted"
    )
    return replace(demand, warnings=(*demand.warnings, warning))


def _are_of_one_server(files: Sequence[Sequence[Sample]]) -> bool:
    """Return True if files can be of one server: without overlap in time, and with an LSN that never decreases."""
    ends = [(each[0], each[-1]) for each in files]
    if all(first.wall is not None and last.wall is not None for first, last in ends):
        ends.sort(key=lambda each: each[0].wall or 0.0)
        if any(
            (after[0].wall or 0.0) < (before[1].wall or 0.0) - _OVERLAP for before, after in itertools.pairwise(ends)
        ):
            return False
    else:
        ends.sort(key=lambda each: each[0].lsn or 0)
    known = [(first.lsn, last.lsn) for first, last in ends if first.lsn is not None and last.lsn is not None]
    # The LSN may have grown in the minute in which they overlap.
    return all(before[0] <= after[0] and before[1] <= after[1] for before, after in itertools.pairwise(known))


def _busiest(samples: Sequence[Sample], where: str) -> Busiest:
    if len(samples) < 2:
        raise InvalidInput(
            f"{where} has {'one sample' if samples else 'no sample'}",
            "a rate takes two: 'redolab sample --for 1h -o FILE' collects them",
        )
    busiest = busiest_hour(samples)
    if busiest is None:
        raise InvalidInput(
            f"{where} has no two samples of the same life of a server", "sample it without a restart in between"
        )
    if not busiest.by_lsn:
        raise InvalidInput(
            f"{where} has no LSN, and os_log_written is not redo: it can be several times as much",
            "collect the LSN with it (docs/sample.md says how on your version)",
        )
    return busiest


def demand_of(busiest: Busiest, where: str) -> Demand:
    """Return the demand of the busiest hour."""
    sampled = format_duration(busiest.sampled)
    window = "the busiest hour" if busiest.seconds >= HOUR * (1 - _MOSTLY) else format_duration(busiest.seconds)
    what = sampled if window == sampled else f"{window} of {sampled}"
    return Demand(
        redo_per_hour=busiest.redo_per_hour,
        os_log_written_per_hour=busiest.os_log_written_per_hour,
        os_log_written_mean=busiest.since_start_per_hour,
        source=f"{what} in {where}, by LSN",
        sampled_s=busiest.sampled,
        warnings=tuple(_warnings(busiest)),
    )


def _warnings(busiest: Busiest) -> list[str]:
    found = []
    if busiest.sampled < HOUR * (1 - _MOSTLY):
        found.append(
            f"only {format_duration(busiest.sampled)} were sampled and taken as typical of an hour: sample a day that has your peak"
        )
    elif busiest.sampled < _DAY * (1 - _MOSTLY):
        found.append(
            f"{format_duration(busiest.sampled)} were sampled: your peak may be at another time of the day, week or month"
        )
    if busiest.in_gaps > _MOSTLY * busiest.seconds:
        gaps, window = format_duration(busiest.in_gaps), format_duration(busiest.seconds)
        found.append(f"{gaps} of the busiest {window} have no samples: a peak in there is not seen")
    since, now = busiest.since_start_per_hour, busiest.os_log_written_per_hour
    if since is not None and now is not None and since > _QUIET * now:
        found.append(
            f"sampled in a quiet time: since its start the server has written {format_size(since)} of os_log_written an hour on average, "
            f"in these samples {format_size(now)}"
        )
    return found
