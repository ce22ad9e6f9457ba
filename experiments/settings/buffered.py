"""Reads and writes of recoveries whose pages go through the page cache, beside the baseline's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from redolab.errorlog import Phase
from redolab.models.intervals import median_of_known
from redolab.records.recovery import RecoveryTrial
from redolab.report.labels import server_label
from redolab.results.loads import Load, found_in
from redolab.runs.store import Run

from .changes import BASELINE
from .planned import SettingsPlan

_SETTING = "innodb_flush_method"


@dataclass(frozen=True, slots=True, kw_only=True)
class UntilReady:
    """Medians over recoveries of one level; bytes."""

    redo: float | None
    """Checkpoint age at the crash."""
    apply: float | None
    """Seconds of the apply phase."""
    read: float | None
    """Bytes read from the device until ready."""
    written: float | None
    """Bytes written to the device until ready."""


@dataclass(frozen=True, slots=True)
class Buffered:
    """Recoveries of one server with `innodb_flush_method=fsync`, and with the baseline of the same load."""

    server: str
    fsync: UntilReady
    baseline: UntilReady


def buffered_in(runs: Sequence[Run]) -> list[Buffered]:
    """Return the comparison for each server measured with it. Raises `LabError` if a run cannot be read."""
    plans: dict[str, SettingsPlan] = {run.name: run.plan(SettingsPlan) for run in runs}
    loads: dict[str, dict[tuple[str, str], list[Load]]] = defaultdict(lambda: defaultdict(list))
    labels: dict[str, str] = {}
    for load in found_in(runs).loads:
        setting = plans[load.run].groups[load.group].setting
        server = load.image.spec.dataset.server
        loads[server][setting, load.image.spec.workload].append(load)
        labels[server] = server_label(server, load.image.spec.dataset.version)
    found = []
    for server, own in loads.items():
        for (setting, workload), of_it in own.items():
            if setting == _SETTING:
                baseline = own[BASELINE, workload]
                found.append(Buffered(labels[server], _until_ready(of_it), _until_ready(baseline)))
    return found


def _until_ready(loads: Sequence[Load]) -> UntilReady:
    trials = [each.trial for load in loads for each in load.recoveries]
    return UntilReady(
        redo=median_of_known([load.image.last_sample.checkpoint_age for load in loads]),
        apply=median_of_known([_apply(trial) for trial in trials]),
        read=median_of_known([None if trial.device is None else trial.device.read_bytes for trial in trials]),
        written=median_of_known([None if trial.device is None else trial.device.written_bytes for trial in trials]),
    )


def _apply(trial: RecoveryTrial) -> float | None:
    phases = [] if trial.timeline is None else trial.timeline.phases
    return next((each.seconds for each in phases if each.phase is Phase.APPLY), None)
