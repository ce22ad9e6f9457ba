"""The workload's clients after a recovery: restarted when the server is ready, followed until throughput is back."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from redolab.clock import now
from redolab.counters.sampler import CsvFile
from redolab.crash.records.recovery import BACK, WarmTime
from redolab.crash.recovery.warm import Throughput, mean_before, warm_time
from redolab.lab import Lab
from redolab.progress import Stage
from redolab.results.series import read_moments
from redolab.servers.instance import Instance
from redolab.workloads.contract import RunningWorkload, Workload
from redolab.workloads.data import Clients, WorkloadData, WorkloadMoment

_REPORT_EVERY = 0.1
"""Seconds: as finely as the first transaction is to be seen, where the workload's program can."""
_LOOK_EVERY = 0.1
_LOG = "workload.log"


class FollowedClients(ExitStack):
    """Clients that start on request; leaving the context ends them. `series` receives all their reports."""

    def __init__(
        self,
        lab: Lab,
        workload: Workload,
        data: WorkloadData,
        clients: Clients,
        before: Throughput,
        instance: Instance,
        series: Path,
    ) -> None:
        super().__init__()
        self._lab = lab
        self._workload = workload
        self._data = data
        self._clients = replace(clients, report_every=_REPORT_EVERY)
        self._before = before
        self._instance = instance
        self._series = series
        self._running: RunningWorkload | None = None
        self._started = 0.0
        self._moments: list[WorkloadMoment] = []

    def start(self) -> None:
        """Start the clients."""
        self._started = now().monotonic
        running = self._workload.run(
            self._lab.tools, self._instance, self._data, self._clients, self._instance.folder / _LOG
        )
        self._running = self.enter_context(running)

    @property
    def started(self) -> bool:
        """Return True if the clients have been started."""
        return self._running is not None

    def follow(self, seconds: float, stage: Stage) -> WarmTime:
        """Follow the clients until their throughput is back, for at most `seconds` after their start; then end them.

        Raises `ServerFailed` if the server ends, `WorkloadFailed` if the clients do.
        """
        assert self._running is not None
        while True:
            self._moments += self._running.moments()
            found, followed = self._warm_time(), now().monotonic - self._started
            stage.advance(followed, seconds, f"{100 * found.best_share:.0f} % of the throughput before the crash")
            if found.back is not None or followed >= seconds:
                break
            # With the server end its clients: it is the one to blame.
            self._instance.check_running()
            self._running.check_running()
            time.sleep(_LOOK_EVERY)
        self.close()
        self._write()
        stage.outcome = _in_words(found, self._instance)
        return found

    def _warm_time(self) -> WarmTime:
        return warm_time(
            self._moments, self._before, server_started=self._instance.started.monotonic, clients_started=self._started
        )

    def _write(self) -> None:
        started = self._instance.started.monotonic
        file = CsvFile(self._series, WorkloadMoment)
        for moment in self._moments:
            file.append(replace(moment, monotonic=moment.monotonic - started))
        file.close()


def throughput_before(series: Path) -> Throughput | None:
    """Return the mean throughput before a crash, from the clients' reports; None if there are too few."""
    return mean_before(read_moments(series)) if series.exists() else None


def _in_words(found: WarmTime, instance: Instance) -> str:
    if found.back is not None:
        again = f"{100 * BACK:g} % of {found.commits_before:.0f} commits/s again"
        return f"{again} {found.back:.2f} s after the start of {instance.server.name}"
    return f"{100 * found.best_share:.0f} % of {found.commits_before:.0f} commits/s at best"
