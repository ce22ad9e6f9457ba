"""A load that is watched: reports of its clients, and the counters of server and machine each second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from redolab.clock import now
from redolab.counters.sampler import Sampler, machine_sample
from redolab.crash.bench.started_server import StartedServer
from redolab.disks.place import Place
from redolab.errors import ServerFailed, WorkloadFailed
from redolab.machine.facts import MachineSample
from redolab.progress import Stage
from redolab.results.load_figures import LoadFigures, load_figures
from redolab.servers.redo_counters import Sample
from redolab.units import format_duration
from redolab.workloads.contract import RunningWorkload
from redolab.workloads.data import WorkloadReport

_SAMPLE_EVERY = 1.0
_LOOK_EVERY = 0.2
_SEE_LOG = "see its log in the run's folder"


class WatchedLoad:
    """A server under load, with the reports of its clients and the samples of server and machine so far."""

    def __init__(self, started: StartedServer, place: Place, running: RunningWorkload) -> None:
        self.started = started
        self.place = place
        self.reports: list[WorkloadReport] = []
        self.samples: list[Sample] = []
        self._machine: list[MachineSample] = []
        self._running = running
        self._sampler: Sampler | None = None

    @contextmanager
    def sampled(self) -> Iterator[WatchedLoad]:
        """Read the counters of server and disk each second during the block."""
        instance, device = self.started.instance, self.place.device

        def record(sample: Sample) -> None:
            self.samples.append(sample)
            if device is not None:
                self._machine.append(machine_sample(device))

        with (
            instance.connections.connect() as connection,
            Sampler(lambda: instance.whole_sample(connection), _SAMPLE_EVERY, record) as self._sampler,
        ):
            yield self

    @property
    def counts_new_orders(self) -> bool:
        """True if its throughput is NOTPM."""
        return self.reports[-1].new_orders_per_second is not None

    def watch(self, seconds: float, stage: Stage, until: Callable[[], bool] | None = None) -> bool:
        """Let clients run for `seconds`, or until `until` holds. Return True if it did. Raises `LabError`."""
        began = now().monotonic
        while (passed := now().monotonic - began) < seconds:
            if until is not None and until():
                return True
            time.sleep(min(_LOOK_EVERY, seconds - passed))
            self._running.check_running()
            self.started.instance.check_running()
            if self._sampler is not None and self._sampler.failure is not None:
                name = self.started.instance.server.name
                raise ServerFailed(f"{name} did not say its counters: {self._sampler.failure}", _SEE_LOG)
            self.reports += self._running.reports()
            # The time until a condition holds is unknown: show no progress.
            if self.reports and until is None:
                last = self.reports[-1]
                rate, unit = (
                    (last.commits_per_second, "commits/s")
                    if last.new_orders_per_second is None
                    else (60 * last.new_orders_per_second, "NOTPM")
                )
                stage.advance(passed, seconds, f"{rate:,.0f} {unit}")
        return False

    def measured(self, log_size: int, seconds: float, stage: Stage) -> LoadFigures:
        """Watch the load for `seconds`, and return its figures with a log of `log_size` bytes. Raises `LabError`."""
        self.watch(seconds, stage)
        server = self.started.instance.server
        capacity = server.dialect.capacity(server.dialect.layout(log_size))
        samples, machine = list(self.samples), list(self._machine)
        figures = load_figures(self.reports, samples, machine, capacity, seconds, now().monotonic)
        if figures is None or not figures.rate.mean:
            raise WorkloadFailed(f"{server.name} ended no transaction within {format_duration(seconds)}", _SEE_LOG)
        return figures
