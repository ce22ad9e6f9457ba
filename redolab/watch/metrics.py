"""State of a server as Prometheus metrics: the same names for every server; values it does not report are left out."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from redolab.watch.standing import Driver
from redolab.watch.watched import ServerToCome, Standing


class ServerCollector(Collector):
    """Looks at a server whenever it is scraped; while the server is away there is `redolab_up 0` and nothing else."""

    def __init__(self, server: ServerToCome) -> None:
        self._server = server
        self._alone = threading.Lock()

    def describe(self) -> Iterable[Metric]:
        """Return no descriptions: otherwise a registry would query the server at registration."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """Return the present metrics, for one scrape after another: the server has a single connection."""
        with self._alone:
            return list(self._collected())

    def _collected(self) -> Iterator[Metric]:
        standing = self._server.look()
        yield from _gauge("redolab_up", "Whether the server answers.", standing is not None)
        if standing is None or self._server.server is None:
            return
        yield from metrics_of(standing)
        known = self._server.server.expectations
        yield _labelled(
            "redolab_recovery_known",
            "Whether recoveries of this server can be predicted; else the reason.",
            "reason",
            {known.unknown or "": known.model is not None},
        )


def metrics_of(standing: Standing) -> Iterator[Metric]:
    """Yield the metrics of a standing."""
    sample, limits = standing.sample, standing.limits
    yield from _counter("redolab_redo_bytes", "The LSN: bytes of redo written ever.", sample.lsn)
    yield from _counter(
        "redolab_os_log_written_bytes", "What the server says that it wrote to its log files.", sample.os_log_written
    )
    yield from _gauge("redolab_checkpoint_age_bytes", "Redo since the last checkpoint.", sample.checkpoint_age)
    yield _labelled(
        "redolab_checkpoint_age_limit_bytes",
        "The age at which flushing is forced, and at which statements wait.",
        "at",
        {name: limit for name, limit in (("sync", limits.sync), ("wait", limits.hard)) if limit is not None},
    )
    yield from _gauge("redolab_checkpoint_age_ratio", "The age, of that at which statements wait.", sample.fullness)
    yield from _gauge("redolab_dirty_pages", "Pages that are to be written.", sample.dirty_pages)
    yield from _gauge(
        "redolab_until_writers_wait_seconds",
        "If the age goes on growing as since the scrape before; +Inf where it does not grow.",
        standing.seconds_until_waiting,
    )
    yield from _gauge(
        "redolab_os_log_written_ratio",
        "Bytes of os_log_written for each byte of LSN, since the scrape before.",
        None if standing.growth is None else standing.growth.ratio,
    )
    if (driver := standing.driver) is not None:
        yield _labelled(
            "redolab_flushing_driven_by",
            "What has the server write pages.",
            "limit",
            {each: each is driver for each in Driver},
        )
    seconds = GaugeMetricFamily(
        "redolab_recovery_seconds",
        "How long a recovery would take, after a crash now, at the highest age seen, and at the worst that the log allows.",
        labels=["crash", "percentile"],
    )
    for each in standing.expected:
        low, high = each.prediction.ninety
        for percentile, value in (("5", low), ("50", each.prediction.seconds), ("95", high)):
            seconds.add_metric([each.when, percentile], value)
    yield seconds
    yield _labelled(
        "redolab_recovery_redo_bytes",
        "The redo that such a crash leaves.",
        "crash",
        {each.when: each.redo for each in standing.expected},
    )


def _gauge(name: str, about: str, value: float | None) -> Iterator[Metric]:
    if value is not None:
        yield GaugeMetricFamily(name, about, value=float(value))


def _counter(name: str, about: str, value: int | None) -> Iterator[Metric]:
    if value is not None:
        yield CounterMetricFamily(name, about, value=float(value))


def _labelled(name: str, about: str, label: str, values: Mapping[str, float]) -> Metric:
    """Return a gauge with a value for each value of its label."""
    gauge = GaugeMetricFamily(name, about, labels=[label])
    for each, value in values.items():
        gauge.add_metric([each], float(value))
    return gauge
