"""Demand of a monitored server on its redo log: busiest hour, checkpoint ages, and gaps in the metrics."""

from __future__ import annotations

from dataclasses import replace

from redolab.counters.busiest import Busiest
from redolab.counters.series import HOUR
from redolab.errors import InvalidInput
from redolab.predict.demand import Demand, demand_of, with_days
from redolab.servers.log_writer import redo_range
from redolab.units import format_duration, format_size
from redolab.watch.monitoring.servers import DAY, MonitoredServer, Span

_WHOLE_DAY = 0.9
_GAPS = 0.05
"""Share of the time without samples from which on there is a warning."""
_WITHOUT_LSN = (
    "run mysqld_exporter with --collect.info_schema.innodb_metrics and SET GLOBAL innodb_monitor_enable='log_%', or take an upper "
    "bound with --from-os-log-written"
)


def log_size_of(server: MonitoredServer) -> int | None:
    """Return the bytes of the redo log today; None where no metric tells them."""
    try:
        return server.dialect.log_size(server.variables)
    except KeyError:
        return None


def demand_of_monitored(server: MonitoredServer, span: Span, *, from_os_log_written: bool = False) -> Demand:
    """Return the demand of a server's busiest hour on the log. Raise `InvalidInput` if the metrics do not show it.

    `from_os_log_written`: without an LSN, take all of that counter for redo, which is an upper bound.
    """
    log_size, covered = log_size_of(server), sum(day.covered for day in server.days)
    limit = None
    if log_size is not None:
        limit = server.dialect.capacity(server.dialect.layout(log_size)).hard_limit
    peaks = [day.redo_per_hour for day in server.days if day.redo_per_hour is not None]
    whole_days = [
        day.redo_per_hour
        for day in server.days
        if day.length >= DAY and day.covered >= _WHOLE_DAY * DAY and day.redo_per_hour
    ]
    demand = _by_lsn(max(peaks), span, covered) if peaks else _upper_bound(server, is_wanted=from_os_log_written)
    written, uptime = (float(server.variables.get(name, 0)) for name in ("innodb_os_log_written", "uptime"))
    return replace(
        with_days(demand, whole_days),
        os_log_written_mean=written / uptime * HOUR if written and uptime else None,
        ages=tuple(sorted(server.ages)),
        age_limit=limit,
        sampled_s=covered,
        warnings=(*demand.warnings, *_warnings(server, span, covered, log_size)),
    )


def _by_lsn(peak: float, span: Span, covered: float) -> Demand:
    return demand_of(
        Busiest(
            redo_per_hour=peak,
            by_lsn=True,
            os_log_written_per_hour=None,
            seconds=span.window,
            sampled=max(covered, span.window),
            in_gaps=0.0,
            since_start_per_hour=None,
        ),
        "Prometheus",
    )


def _upper_bound(server: MonitoredServer, *, is_wanted: bool) -> Demand:
    """Return the demand if all of Innodb_os_log_written were redo. Raise `InvalidInput` unless wanted and known."""
    days = [day for day in server.days if day.os_log_written_per_hour]
    if not is_wanted or not days:
        raise InvalidInput(
            f"{server.name} has no LSN in its metrics, and Innodb_os_log_written is not redo: it can be several times as much",
            _WITHOUT_LSN,
        )
    busiest = max(days, key=lambda day: day.os_log_written_per_hour or 0.0)
    written = busiest.os_log_written_per_hour or 0.0
    least, most = redo_range(written, busiest.log_writes_per_hour)
    times = f"{most / least:.1f} times" if least > 0 else "many times"
    return Demand(
        redo_per_hour=most,
        os_log_written_per_hour=written,
        source="busiest hour in Prometheus, by Innodb_os_log_written",
        warnings=(
            f"the redo is between {format_size(least)} and {format_size(most)} an hour: Innodb_os_log_written may be {times} the redo "
            "of this server (docs/inflation.md), and all of it is taken for redo",
        ),
    )


def _warnings(server: MonitoredServer, span: Span, covered: float, log_size: int | None) -> list[str]:
    warnings = []
    if covered < (1 - _GAPS) * span.length:
        missing, whole = format_duration(span.length - covered), format_duration(span.length)
        warnings.append(f"{missing} of the {whole} have no samples: a peak in there is not seen")
    if server.is_resized:
        warnings.append("the redo log was given another size in this time: checkpoint ages are of both sizes")
    if log_size is None:
        warnings.append("no metric tells the size of the redo log: scrape it with --collect.global_variables")
    return warnings
