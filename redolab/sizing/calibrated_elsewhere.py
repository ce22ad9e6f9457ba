"""How well a few crashes on a machine that the fit has not learned from predict what else was measured there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from redolab.models.recovery_time.held_out import FITTED_UP_TO, HeldOut, HeldOutPrediction
from redolab.results.alike import keyed_recoveries, keys_of
from redolab.results.committed import committed_recoveries, recoveries_elsewhere
from redolab.results.observations import disks_of, observations_of
from redolab.runs.store import Run
from redolab.sizing.calibration import Calibration, spreads_of
from redolab.sizing.fitting import FittedRuns, by_identity, calibrations_among, fit_runs, name_elsewhere
from redolab.sizing.own_machine import on_own_machine


def fit_committed(machine: str | None = None) -> FittedRuns:
    """What the runs that are committed with redolab taught, judged on the other machines of its class too.

    Raises `LabError`, or `InvalidInput` if there is no such machine.
    """
    elsewhere = recoveries_elsewhere()
    return with_calibrated_machines(fit_runs(committed_recoveries(), machine, elsewhere=elsewhere), elsewhere)


def with_calibrated_machines(found: FittedRuns, elsewhere: Sequence[Run]) -> FittedRuns:
    """It with predictions of recoveries on those of these machines that were calibrated, by its rates as they were scaled there."""
    judged = list(found.judged)
    for number, runs in by_identity(elsewhere):
        calibrations = calibrations_among(runs)
        if calibrations:
            own = on_own_machine(fit_runs(calibrations), found.calibration)
            judged += _predictions(own, [run for run in runs if run not in calibrations], number)
    calibration = msgspec.structs.replace(found.calibration, spreads=spreads_of(judged))
    return replace(found, calibration=calibration, judged=judged)


def _predictions(own: Calibration, runs: Sequence[Run], number: int) -> list[HeldOutPrediction]:
    """Of what other runs measured there of the servers and storages that were calibrated."""
    recoveries = keyed_recoveries(runs)
    machines = {each.image.name: each.key.machine for each in recoveries}
    found = []
    for each in observations_of(recoveries, disks_of(keys_of(runs))):
        server = own.servers.get(each.server)
        learnt = None if server is None else server.workloads.get(each.workload)
        if learnt is not None and learnt.scaled_by and each.storage in learnt.storages:
            kind = HeldOut.CALIBRATED if each.log_size <= FITTED_UP_TO else HeldOut.CALIBRATED_LARGER
            predicted = learnt.fitted.ready(each.crash, each.pool, own.storages[each.storage].disk)
            named = name_elsewhere(number, machines[each.crash_name])
            found.append(HeldOutPrediction(kind, each, predicted, named))
    return found
