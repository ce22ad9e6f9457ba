"""Servers as a Prometheus knows them over some time. The number of queries does not depend on the number of servers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

from redolab.counters.series import HOUR
from redolab.errors import InvalidInput
from redolab.servers.dialects import LARGEST_BINARY_LOG, Dialect, dialect_of_version, server_name_of
from redolab.watch.monitoring.endpoint import Prometheus, PrometheusSample, PrometheusSeries
from redolab.watch.monitoring.promql import IDENTITY, NAME, Expressions, matcher, variable_name

DAY = 24 * HOUR
AGES = 101
"""Number of checkpoint ages that are read, evenly over time: a crash at a random time meets one of them."""
_PMM_SHARE = 0.94
"""Share of the hours: PMM's advisor warns if 6 % of them write more than the log holds."""
_AT_ONCE = 2
"""Queries at the same time: Prometheus answers each on one CPU, and has other users."""
_NAMED = 5
"""Servers that a message names."""
_COLLECTOR = "is prometheus-mysqld-exporter scraped, with --collect.global_variables and --collect.global_status (both on by default)?"

Identity: TypeAlias = tuple[str, str]
"""`instance` and `service_name`, which is empty without PMM."""


@dataclass(frozen=True, slots=True)
class Span:
    """A period of time, in seconds."""

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
    """Seconds; less than a day at the beginning of a span."""
    covered: float
    """Seconds of the day with samples."""
    redo_per_hour: float | None
    """Bytes of LSN in the busiest hour; None without an LSN over a whole hour in which the server did not restart."""
    os_log_written_per_hour: float | None = None
    """Bytes in the busiest hour by that counter; None if it was not queried."""
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
    """Largest number of dirty pages scraped within the last day."""
    tables: int | None
    is_resized: bool
    """True if the redo log was resized during that time."""

    @property
    def server(self) -> str:
        """Family and version, as in mariadb-10.11.19."""
        return server_name_of(self.version)

    @property
    def dialect(self) -> Dialect:
        """Return the dialect that the server speaks. Raise `InvalidInput` for a version that the lab does not know."""
        return dialect_of_version(self.version)

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

    `by_os_log_written`: look up that counter as well, for servers without an LSN.
    """
    labels = _labels(prometheus, matchers, span.end)
    expressions = Expressions(matchers)
    settings: dict[Identity, dict[str, str]] = {identity: {} for identity in labels}
    for sample in prometheus.instant(expressions.settings(), span.end):
        settings.setdefault(_identity(sample), {})[variable_name(sample.metric[NAME])] = _plain(sample.value[1])
    # A query is of one day: more days make none slower, nor larger in Prometheus' memory.
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        days = list(
            pool.map(lambda day: _day(prometheus, expressions, labels, day, span, by_os_log_written), span.days())
        )
    start = span.end - span.length
    ages = prometheus.series(expressions.ages(), start, span.end, max(1.0, span.length / (AGES - 1)))
    ages_of = {_identity(each): [round(float(age)) for _, age in each.values if float(age) >= 0] for each in ages}
    dirty = _values(prometheus, expressions.dirty_pages(min(span.length, DAY)), span.end)
    tables = _values(prometheus, expressions.tables(), span.end)
    resized = _values(prometheus, expressions.resized(span.length), span.end)
    return [
        MonitoredServer(
            name=identity[1] or identity[0],
            labels={name: value for name, value in labels[identity].items() if name != NAME},
            version=labels[identity]["version"],
            variables=settings[identity],
            days=[day[identity] for day in days],
            ages=ages_of.get(identity, []),
            dirty_pages=_whole(dirty.get(identity)),
            tables=_whole(tables.get(identity)),
            is_resized=resized.get(identity, 0) > 0,
        )
        for identity in sorted(labels, key=lambda identity: identity[::-1])
    ]


def os_log_written_hours(prometheus: Prometheus, matchers: str, end: float) -> float | None:
    """Return the bytes of Innodb_os_log_written that 94 % of the hours of seven days of one server stay below."""
    hours = _values(prometheus, Expressions(matchers).hours_of_os_log_written(_PMM_SHARE), end)
    return next(iter(hours.values()), None)


def matchers_of(prometheus: Prometheus, name: str, end: float) -> str:
    """Return the matchers of the one server of that name: its instance, with or without port, or PMM's service name.

    Raise `InvalidInput` if there is no such server, or more than one.
    """
    all_servers = _labels(prometheus, "", end)
    named = [each for each in all_servers if name in (*each, each[0].rpartition(":")[0])]
    if len(named) == 1:
        return ",".join(matcher(label, value) for label, value in zip(IDENTITY, named[0], strict=True) if value)
    names = sorted(service or instance for instance, service in named or all_servers)
    some = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    if named:
        raise InvalidInput(f"several servers of {prometheus.url} are called '{name}'", f"choose from {some}")
    raise InvalidInput(f"{prometheus.url} has no server '{name}'", f"choose from {some}")


def _labels(prometheus: Prometheus, matchers: str, end: float) -> dict[Identity, dict[str, str]]:
    """Return the labels of each server that was scraped lately."""
    versions = prometheus.instant(Expressions(matchers).versions(), end)
    if not versions:
        of_these = f" of servers with {matchers}" if matchers else ""
        raise InvalidInput(f"{prometheus.url} has no mysql_version_info{of_these} within the last hour", _COLLECTOR)
    return {_identity(each): each.metric for each in versions}


def _day(
    prometheus: Prometheus,
    expressions: Expressions,
    servers: Iterable[Identity],
    day: tuple[float, float],
    span: Span,
    by_os_log_written: bool,
) -> dict[Identity, MonitoredDay]:
    """Query one day of these servers, given by its end and length."""
    end, length = day
    # An hour around midnight belongs to the day in which it ends.
    searched = min(length + span.window, end - (span.end - span.length))
    redo = _values(prometheus, expressions.peak_redo(searched, span.window), end)
    covered = _values(prometheus, expressions.covered(length, span.window), end)
    written, writes = (
        _values(prometheus, peak(searched, span.window), end) if by_os_log_written else {}
        for peak in (expressions.peak_os_log_written, expressions.peak_log_writes)
    )

    def per_hour(peaks: Mapping[Identity, float], server: Identity) -> float | None:
        return peaks[server] * HOUR / span.window if server in peaks else None

    return {
        each: MonitoredDay(
            length=length,
            covered=min(length, covered.get(each, 0.0)),
            redo_per_hour=per_hour(redo, each),
            os_log_written_per_hour=per_hour(written, each),
            log_writes_per_hour=per_hour(writes, each),
        )
        for each in servers
    }


def _values(prometheus: Prometheus, expression: str, at: float) -> dict[Identity, float]:
    return {_identity(each): float(each.value[1]) for each in prometheus.instant(expression, at)}


def _identity(values: PrometheusSample | PrometheusSeries) -> Identity:
    instance, service = (values.metric.get(label, "") for label in IDENTITY)
    return instance, service


def _plain(value: str) -> str:
    """Return a whole number as the server writes it; Prometheus has large ones as 1.37e+11."""
    return str(_whole(value))


def _whole(value: str | float | None) -> int | None:
    return None if value is None else round(float(value))
