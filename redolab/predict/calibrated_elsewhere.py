"""Accuracy of rates from other machines, scaled by a few crashes on one, for other recoveries on that machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from redolab.machine.machine_class import are_of_one_class
from redolab.predict.calibration import Calibration
from redolab.predict.fitting import FittedRuns, calibrations_among, fit_runs, named, rates_of, without_anatomies
from redolab.predict.observations import (
    binary_log_again_mb_s,
    binary_log_mb_s,
    known_disks,
    observations_of,
    prepared_rollbacks,
    stuck_counts,
)
from redolab.predict.own_machine import on_own_machine
from redolab.predict.recovery_time.held_out import FITTED_UP_TO, HeldOut, HeldOutPrediction, held_out_prediction
from redolab.predict.recovery_time.rollback import rates_by_rows
from redolab.predict.recovery_time.spreads import spreads_of
from redolab.results.alike import Keys, keyed_recoveries
from redolab.results.committed import (
    by_machine,
    committed_recoveries,
    other_committed_recoveries,
    recoveries_by_read_threads,
    recoveries_with_binary_logs,
)
from redolab.runs.store import Run


def fit_committed(machine: str | None = None) -> FittedRuns:
    """Fit the runs that are committed with redolab, and judge the fit on each machine by the rates of the others.

    Raises `LabError`, or `InvalidInput` if there is no such machine.
    """
    found = fit_of_machines(committed_recoveries(), other_committed_recoveries(), machine)
    calibration = with_counts_of(found.calibration, recoveries_by_read_threads())
    return replace(found, calibration=with_binary_logs_of(calibration, recoveries_with_binary_logs()))


def with_binary_logs_of(calibration: Calibration, runs: Sequence[Run]) -> Calibration:
    """Add how fast the servers of these runs read their binary log on a disk that is no model, and undo what is cut off."""
    known = keyed_recoveries(runs)
    undone = rates_by_rows(prepared_rollbacks(known))
    servers = {
        name: msgspec.structs.replace(
            server,
            binary_log_mb_s=binary_log_mb_s(known, name),
            binary_log_again_mb_s=binary_log_again_mb_s(known, name),
            prepared_on=undone.get(name, {}),
        )
        for name, server in calibration.servers.items()
    }
    return msgspec.structs.replace(calibration, servers=servers)


def with_counts_of(calibration: Calibration, runs: Sequence[Run]) -> Calibration:
    """Add the numbers of stuck recoveries in these runs, by servers of the same version on the same machine class."""
    comparable = [run for run in runs if are_of_one_class(run.record().sessions[0].machine, calibration.machine)]
    known, servers = keyed_recoveries(comparable), {}
    for name, server in calibration.servers.items():
        own = [each for each in known if each.trial.version.split("-")[0] == server.version]
        counts = server.in_several_batches + stuck_counts(own, name, list(server.workloads))
        servers[name] = msgspec.structs.replace(server, in_several_batches=counts)
    return msgspec.structs.replace(calibration, servers=servers)


def fit_of_machines(learned_from: Sequence[Run], others: Sequence[Run], machine: str | None = None) -> FittedRuns:
    """Fit these committed runs, and only predict the `others`.

    On machines that were calibrated (`make experiment calibrate` was run there), predict their other recoveries too, by
    the rates of other machines as the calibration scaled them.
    """
    machines = by_machine([*learned_from, *others])
    found = fit_runs(learned_from, machine, machines)
    judged = list(found.judged)
    for name, runs in machines.items():
        calibrations = calibrations_among(runs)
        rest = [run for run in learned_from if run.name in found.calibration.runs and run not in runs]
        if calibrations and rest:
            known = msgspec.structs.replace(rates_of(rest, machine), spreads=found.calibration.spreads)
            own = on_own_machine(fit_runs(calibrations), known)
            judged += _predictions(own, [run for run in without_anatomies(runs) if run not in calibrations], name)
    calibration = msgspec.structs.replace(found.calibration, spreads=spreads_of(judged))
    return replace(found, calibration=calibration, judged=judged)


def _predictions(own: Calibration, runs: Sequence[Run], name: str) -> list[HeldOutPrediction]:
    """Return predictions of other runs' recoveries on a machine, for the servers and storages calibrated there."""
    recoveries = keyed_recoveries(runs)
    machines = {each.image.name: each.key.machine for each in recoveries}
    found = []
    for each in observations_of(recoveries, known_disks(Keys(runs))):
        server = own.servers.get(each.server)
        fitted = None if server is None else server.workloads.get(each.workload)
        if each.is_judged and fitted is not None and fitted.scaled_by and each.storage in fitted.storages:
            kind = HeldOut.CALIBRATED if each.log_size <= FITTED_UP_TO else HeldOut.CALIBRATED_LARGER
            disk, machine = own.storages[each.storage].disk, named(name, machines[each.crash_name])
            found.append(held_out_prediction(kind, each, fitted, disk, machine))
    return found
