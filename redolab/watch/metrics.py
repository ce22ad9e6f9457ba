"""State of a server as Prometheus metrics: the same names for every server; values it does not report are left out."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from redolab.watch.crash_now import Expected
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

    def collect(self) -> Iterator[Metric]:
        """Yield the present metrics, for one scrape after another: the server has a single connection."""
        with self._alone:
            found = list(self._collected())
        yield from found

    def _collected(self) -> Iterator[Metric]:
        standing = self._server.look()
        yield GaugeMetricFamily("redolab_up", "Whether the server answers.", value=float(standing is not None))
        if standing is None or self._server.server is None:
            return
        yield from metrics_of(standing)
        known = self._server.server.expectations
        answered = GaugeMetricFamily(
            "redolab_recovery_known",
            "Whether recoveries of this server can be predicted; else the reason.",
            labels=["reason"],
        )
        answered.add_metric([str(known.unknown or "")], float(known.model is not None))
        yield answered


def metrics_of(standing: Standing) -> Iterator[Metric]:
    """Yield the metrics of a standing."""
    sample, limits = standing.sample, standing.limits
    yield from _counter("redolab_redo_bytes", "The LSN: bytes of redo written ever.", sample.lsn)
    yield from _counter(
        "redolab_os_log_written_bytes", "What the server says that it wrote to its log files.", sample.os_log_written
    )
    yield from _gauge("redolab_checkpoint_age_bytes", "Redo since the last checkpoint.", sample.checkpoint_age)
    points = GaugeMetricFamily(
        "redolab_checkpoint_age_limit_bytes",
        "The age at which flushing is forced, and at which statements wait.",
        labels=["at"],
    )
    for name, at in (("sync", limits.sync), ("wait", limits.hard)):
        if at is not None:
            points.add_metric([name], float(at))
    yield points
    yield from _gauge("redolab_checkpoint_age_ratio", "The age, of that at which statements wait.", standing.full)
    yield from _gauge("redolab_dirty_pages", "Pages that are to be written.", sample.dirty_pages)
    yield from _gauge(
        "redolab_until_writers_wait_seconds",
        "If the age goes on growing as since the scrape before; +Inf where it does not grow.",
        standing.seconds_until_waiting,
    )
    if standing.growth is not None:
        yield from _gauge(
            "redolab_os_log_written_ratio", "Bytes of os_log_written for each byte of LSN, since the scrape before.",
            standing.growth.ratio,
        )  # fmt: skip
    if standing.driver is not None:
        driven = GaugeMetricFamily("redolab_flushing_driven_by", "What has the server write pages.", labels=["limit"])
        for each in Driver:
            driven.add_metric([str(each)], float(each is standing.driver))
        yield driven
    yield from _recoveries(standing.expected)


def _recoveries(expected: Iterable[Expected]) -> Iterator[Metric]:
    seconds = GaugeMetricFamily(
        "redolab_recovery_seconds",
        "How long a recovery would take, after a crash now, at the highest age seen, and at the worst that the log allows.",
        labels=["crash", "percentile"],
    )
    redo = GaugeMetricFamily("redolab_recovery_redo_bytes", "The redo that such a crash leaves.", labels=["crash"])
    for each in expected:
        low, high = each.prediction.ninety
        for percentile, value in (("5", low), ("50", each.prediction.seconds), ("95", high)):
            seconds.add_metric([str(each.when), percentile], value)
        redo.add_metric([str(each.when)], float(each.redo))
    yield seconds
    yield redo


def _gauge(name: str, about: str, value: float | None) -> Iterator[Metric]:
    if value is not None:
        yield GaugeMetricFamily(name, about, value=float(value))


def _counter(name: str, about: str, value: int | None) -> Iterator[Metric]:
    if value is not None:
        yield CounterMetricFamily(name, about, value=float(value))
