"""The workload's clients after a recovery: restarted when the server is ready, followed until throughput is back."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from redolab.clock import now
from redolab.counters.sampler import CsvFile
from redolab.crash.image_store import ImageStore
from redolab.crash.records.crash import WORKLOAD, CrashImage, CrashSpec
from redolab.crash.records.recovery import BACK, WarmTime
from redolab.crash.recovery.warm import Throughput, mean_before, warm_time
from redolab.errors import LabError
from redolab.lab import Lab
from redolab.progress import Stage
from redolab.results.series import read_reports
from redolab.servers.instance import Instance
from redolab.workloads.catalogue import workload_catalogue
from redolab.workloads.contract import RunningWorkload
from redolab.workloads.data import WorkloadReport

_REPORT_EVERY = 0.1
"""Seconds between two reports, where the workload's program can report so often: the first commit is as exact."""
_LOOK_EVERY = 0.1
_LOG = "workload.log"


class FollowedClients(ExitStack):
    """Clients that start on request; leaving the context ends them. `series` receives all their reports."""

    def __init__(self, lab: Lab, spec: CrashSpec, before: Throughput, instance: Instance, series: Path) -> None:
        super().__init__()
        self._lab = lab
        self._spec = spec
        self._workload = workload_catalogue().get(spec.workload)
        self._before = before
        self._instance = instance
        self._series = series
        self._running: RunningWorkload | None = None
        self._started = 0.0
        self._reports: list[WorkloadReport] = []

    def start(self) -> None:
        """Start the clients. If they cannot be started, note it: that must not cost the recovery that is being timed."""
        self._started = now().monotonic
        clients = replace(self._spec.clients, report_every=_REPORT_EVERY)
        try:
            running = self._workload.run(
                self._lab.tools, self._instance, self._spec.dataset.data, clients, self._instance.folder / _LOG
            )
            self._running = self.enter_context(running)
        except LabError as error:
            self._lab.progress.note(f"the clients could not be started anew: {error}")

    @property
    def started(self) -> bool:
        """True if the clients have been started."""
        return self._running is not None

    def follow(self, seconds: float, stage: Stage) -> WarmTime:
        """Follow the clients until their throughput is back, for at most `seconds` after their start; then end them.

        Raises `ServerFailed` if the server ends, `WorkloadFailed` if the clients do.
        """
        assert self._running is not None
        while True:
            self._reports += self._running.reports()
            warm, followed = self._warm_time(), now().monotonic - self._started
            stage.advance(followed, seconds, f"{100 * warm.best_share:.0f} % of the throughput before the crash")
            if warm.back is not None or followed >= seconds:
                break
            # Clients end with their server: blame the server first.
            self._instance.check_running()
            self._running.check_running()
            time.sleep(_LOOK_EVERY)
        self.close()
        self._write()
        stage.outcome = _in_words(warm, self._instance)
        return warm

    def _warm_time(self) -> WarmTime:
        return warm_time(
            self._reports, self._before, server_started=self._instance.started.monotonic, clients_started=self._started
        )

    def _write(self) -> None:
        started = self._instance.started.monotonic
        file = CsvFile(self._series, WorkloadReport)
        for report in self._reports:
            file.append(replace(report, monotonic=report.monotonic - started))
        file.close()


def throughput_before(lab: Lab, image: CrashImage, images: ImageStore) -> Throughput | None:
    """Return the clients' mean throughput before a crash; None, with a note, if they wrote too briefly for a mean."""
    series = images.folder(image.name) / WORKLOAD
    before = mean_before(read_reports(series)) if series.exists() else None
    if before is None or not before.commits:
        lab.progress.note(
            f"clients are not followed: they wrote too briefly before {image.name} (KILLAFTER=1m is long enough)"
        )
        return None
    return before


def _in_words(warm: WarmTime, instance: Instance) -> str:
    if warm.back is not None:
        again = f"{100 * BACK:g} % of {warm.commits_before:.0f} commits/s again"
        return f"{again} {warm.back:.2f} s after the start of {instance.server.name}"
    return f"{100 * warm.best_share:.0f} % of {warm.commits_before:.0f} commits/s at best"
