"""Servers as a Prometheus knows them over some time. The number of queries does not depend on the number of servers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

from redolab.counters.series import HOUR
from redolab.errors import InvalidInput
from redolab.servers.dialects import LARGEST_BINARY_LOG, Version, family_of
from redolab.watch.monitoring.endpoint import Prometheus, Sample, Series
from redolab.watch.monitoring.promql import IDENTITY, NAME, Expressions, Stretch, matcher, variable_name

DAY = 24 * HOUR
MOMENTS = 101
"""Number of times at which checkpoint ages are read: a crash at a random time meets one of them."""
_PMM_SHARE = 0.94
"""Share of the hours: PMM's advisor warns if 6 % of them write more than the log holds."""
_AT_ONCE = 2
"""Queries: Prometheus answers each on one CPU, and others ask it too."""
_NAMED = 5
"""Servers that a message names."""
_COLLECTOR = "is prometheus-mysqld-exporter scraped, with --collect.global_variables and --collect.global_status (both on by default)?"

Identity: TypeAlias = tuple[str, str]
"""`instance` and `service_name`, which is empty without PMM."""


@dataclass(frozen=True, slots=True)
class Span:
    """The time that is looked at, in seconds."""

    end: float
    """Seconds since 1970."""
    length: float

    @property
    def window(self) -> float:
        """Return the seconds over which a rate is taken: an hour, or the whole span if that is shorter."""
        return min(HOUR, self.length)

    def days(self) -> list[tuple[float, float]]:
        """Return end and length of each day, the last first; a rest that holds no window is left out."""
        rests = [(self.end - begun * DAY, self.length - begun * DAY) for begun in range(math.ceil(self.length / DAY))]
        return [(end, min(rest, DAY)) for end, rest in rests if rest >= self.window]


@dataclass(frozen=True, slots=True)
class MonitoredDay:
    """A day of a server."""

    length: float
    """Seconds; less than a day where less was asked about."""
    covered: float
    """Seconds of it with samples."""
    redo_per_hour: float | None
    """Bytes of LSN in the busiest hour; None without an LSN over a whole hour in which the server did not restart."""
    os_log_written_per_hour: float | None = None
    """Bytes in the busiest hour by that counter; None where it was not asked for."""
    log_writes_per_hour: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredServer:
    """A server; sizes in bytes."""

    name: str
    """`service_name` of PMM, else `instance`."""
    labels: Mapping[str, str]
    version: str
    """Version as the server reports it."""
    variables: Mapping[str, str]
    """Settings and status variables at the end, by the server's names for them."""
    days: Sequence[MonitoredDay]
    ages: Sequence[int]
    """Checkpoint ages in order of time, at the times for which there was one."""
    dirty_pages: int | None
    """The most that were scraped within the last day."""
    tables: int | None
    is_resized: bool
    """True if the redo log was resized during that time."""

    @property
    def server(self) -> str:
        """Family and version, as in mariadb-10.11.19."""
        return f"{family_of(self.version)}-{Version.parse(self.version)}"

    @property
    def pool(self) -> int | None:
        """Size of the buffer pool."""
        return _whole(self.variables.get("innodb_buffer_pool_size"))

    @property
    def read_threads(self) -> int | None:
        """Setting of innodb_read_io_threads."""
        return _whole(self.variables.get("innodb_read_io_threads"))

    @property
    def binary_log(self) -> int | None:
        """Most bytes of a file of the binary log; 0 where it is off, None where no metric tells."""
        if (log_bin := self.variables.get("log_bin")) is None:
            return None
        return 0 if log_bin == "0" else _whole(self.variables.get("max_binlog_size")) or LARGEST_BINARY_LOG


def servers_of(
    prometheus: Prometheus, matchers: str, span: Span, *, by_os_log_written: bool = False
) -> list[MonitoredServer]:
    """Return the servers that the matchers choose, by name. Raise `InvalidInput` if there are none.

    `by_os_log_written`: look up that counter as well, for servers of which there is no LSN.
    """
    known = _chosen(prometheus, matchers, span.end)
    asked = Expressions(matchers)
    settings: dict[Identity, dict[str, str]] = {}
    for sample in prometheus.instant(asked.settings(), span.end):
        settings.setdefault(_identity(sample), {})[variable_name(sample.metric[NAME])] = _plain(sample.value[1])
    # Each query is of one day: so none takes longer, or more memory there, when more days are asked about.
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        days = list(pool.map(lambda day: _day(prometheus, asked, day[0], day[1], span, by_os_log_written), span.days()))
    start = span.end - span.length
    ages = prometheus.at_moments(asked.ages(), start, span.end, max(1.0, span.length / (MOMENTS - 1)))
    ages_of = {_identity(each): [round(float(age)) for _, age in each.values if float(age) >= 0] for each in ages}
    dirty = _values(prometheus.instant(asked.dirty_pages(min(span.length, DAY)), span.end))
    tables = _values(prometheus.instant(asked.tables(), span.end))
    resized = _values(prometheus.instant(asked.resized(span.length), span.end))
    return [
        MonitoredServer(
            name=identity[1] or identity[0],
            labels={name: value for name, value in labels.items() if name != NAME},
            version=labels["version"],
            variables=settings.get(identity, {}),
            days=[day(identity) for day in days],
            ages=ages_of.get(identity, []),
            dirty_pages=_whole(dirty.get(identity)),
            tables=_whole(tables.get(identity)),
            is_resized=resized.get(identity, 0) > 0,
        )
        for identity, labels in sorted(known.items(), key=lambda each: each[0][::-1])
    ]


def os_log_written_hours(prometheus: Prometheus, matchers: str, end: float) -> float | None:
    """Return the bytes of Innodb_os_log_written that 94 % of the hours of seven days of one server stay below."""
    found = prometheus.instant(Expressions(matchers).hours_of_os_log_written(_PMM_SHARE), end)
    return float(found[0].value[1]) if found else None


def matchers_of(prometheus: Prometheus, name: str, end: float) -> str:
    """Return the matchers of the one server of that name: its instance, with or without port, or PMM's service name.

    Raise `InvalidInput` if there is no such server, or more than one.
    """
    known = _chosen(prometheus, "", end)
    found = [each for each in known if name in (*each, each[0].rpartition(":")[0])]
    if len(found) == 1:
        return ",".join(matcher(label, value) for label, value in zip(IDENTITY, found[0], strict=True) if value)
    names = sorted(service or instance for instance, service in found or known)
    some = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    if found:
        raise InvalidInput(f"several servers of {prometheus.url} are called '{name}'", f"choose from {some}")
    raise InvalidInput(f"{prometheus.url} has no server '{name}'", f"choose from {some}")


def _chosen(prometheus: Prometheus, matchers: str, end: float) -> dict[Identity, dict[str, str]]:
    """Return the labels of each server that was scraped lately."""
    found = prometheus.instant(Expressions(matchers).versions(), end)
    if not found:
        of_these = f" of servers with {matchers}" if matchers else ""
        raise InvalidInput(f"{prometheus.url} has no mysql_version_info{of_these} within the last hour", _COLLECTOR)
    return {_identity(each): each.metric for each in found}


def _day(
    prometheus: Prometheus, asked: Expressions, end: float, length: float, span: Span, by_os_log_written: bool
) -> Callable[[Identity], MonitoredDay]:
    """Query one day of all servers. Return a function that gives the day of one of them."""
    per_hour = HOUR / span.window
    # An hour around midnight belongs to the day in which it ends.
    stretch = Stretch(min(length + span.window, end - (span.end - span.length)), span.window)
    redo = _values(prometheus.instant(asked.peak_redo(stretch), end))
    covered = _values(prometheus.instant(asked.covered(Stretch(length, span.window)), end))
    written, writes = (
        _values(prometheus.instant(expression, end)) if by_os_log_written else {}
        for expression in (asked.peak_os_log_written(stretch), asked.peak_log_writes(stretch))
    )

    def of(identity: Identity) -> MonitoredDay:
        def rate(known: Mapping[Identity, float]) -> float | None:
            return known[identity] * per_hour if identity in known else None

        return MonitoredDay(
            length=length,
            covered=min(length, covered.get(identity, 0.0)),
            redo_per_hour=rate(redo),
            os_log_written_per_hour=rate(written),
            log_writes_per_hour=rate(writes),
        )

    return of


def _values(samples: Sequence[Sample]) -> dict[Identity, float]:
    return {_identity(each): float(each.value[1]) for each in samples}


def _identity(found: Sample | Series) -> Identity:
    instance, service = (found.metric.get(label, "") for label in IDENTITY)
    return instance, service


def _plain(value: str) -> str:
    """Return a whole number as the server writes it; Prometheus has large ones as 1.37e+11."""
    return str(_whole(value))


def _whole(value: str | float | None) -> int | None:
    return None if value is None else round(float(value))
