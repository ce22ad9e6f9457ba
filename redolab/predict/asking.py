"""Selection of the model that answers a question: the calibrated server for the asked one, its disk, its workload."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from redolab.errors import InvalidInput
from redolab.predict.calibration import CalibratedServer, Calibration, read_calibration, shipped_calibration
from redolab.predict.extrapolation import machine_extrapolation, storage_extrapolation
from redolab.predict.question import Model, Question, Until
from redolab.predict.recovery import rollback_rate
from redolab.predict.recovery_time.held_out import HeldOut
from redolab.predict.recovery_time.terms import DiskRates
from redolab.predict.reservations import reservations_of
from redolab.predict.server_names import asked_dialect, nearest, recovers_equally
from redolab.servers.sizes import check_pool
from redolab.units import GIB

_REDO = (GIB, 4 * GIB, 16 * GIB)
"""Bytes of redo to compare workloads at: one can be the slowest at 1 GiB, and another from 4 GiB on."""
_POOL_SHARES = (0.5, 1, 4)
"""Buffer pools to compare workloads at, as shares of the redo."""


def model_for(question: Question) -> Model:
    """Return the model that answers a question. Raises `InvalidInput`, which lists the choices."""
    return model_of(question, *_calibration(question.storage))


def model_of(question: Question, calibration: Calibration, storage: str) -> Model:
    """Return the model that answers a question, from this calibration and a storage of it. Raises `InvalidInput`."""
    check_pool(question.pool)
    if question.until is Until.ROLLED_BACK and question.undo_rows is None:
        raise InvalidInput(
            "how long a rollback takes depends on its rows",
            "--undo-rows N: those that your largest transaction changes",
        )
    if question.prepared_rows and question.binary_log == 0:
        raise InvalidInput(
            "nothing is cut off in a binary log that is off", "leave out --prepared-rows, or --binary-log 0"
        )
    dialect = asked_dialect(question.server)
    measured_as, server = nearest(calibration, question.server, dialect)
    disk = _disk(calibration, storage)
    workload = question.workload or slowest_workload(server)
    if workload not in server.workloads:
        known = ", ".join(server.workloads)
        raise InvalidInput(f"the calibration knows no workload '{workload}' of {measured_as}", f"choose from {known}")
    fitted = server.workloads[workload]
    is_measured = measured_as == question.server or recovers_equally(dialect, server.dialect)
    by_storage = storage_extrapolation(calibration, server.family, fitted, storage)
    if by_storage is not None and by_storage not in calibration.spreads.kinds:
        raise InvalidInput(
            f"no recovery of {measured_as} on {storage} was measured under {workload}, and how far a prediction from another storage is "
            "off is not known yet",
            f"choose from {', '.join(fitted.storages)}, or 'make experiment calibrate SERVER={measured_as} STORAGE={storage}'",
        )
    ways = (None if is_measured else HeldOut.SERVER, by_storage, machine_extrapolation(calibration, storage))
    model = Model(
        question=question,
        calibration=calibration,
        dialect=dialect,
        server=server,
        measured_as=measured_as,
        disk=disk,
        storage=storage,
        workload=workload,
        fitted=fitted,
        extrapolations=tuple(each for each in ways if each is not None),
        warnings=(),
    )
    if question.until is Until.ROLLED_BACK and rollback_rate(model) is None:
        raise InvalidInput(f"no large rollback of {measured_as} on {storage} was measured", "ask --until ready")
    return replace(model, warnings=tuple(reservations_of(model)))


def slowest_workload(server: CalibratedServer) -> str:
    """Return the workload whose redo takes longest over several amounts and pools, so that few answers are too low."""
    usual = DiskRates(read_us=100, write_us=100, queued_reads_per_s=30_000, in_order_mb_s=500, sequential_mb_s=1000)

    def slowness(name: str) -> float:
        each = server.workloads[name]
        return math.fsum(
            math.log(each.ready_by_redo(redo, redo * share, usual)) for redo in _REDO for share in _POOL_SHARES
        )

    return max(server.workloads, key=slowness)


def _calibration(storage: str) -> tuple[Calibration, str]:
    """Return the calibration to use, and the storage in it, for `PROFILE`, `FILE` or `FILE:STORAGE`."""
    path, _, name = storage.partition(":")
    if not (path.endswith(".json") or Path(path).is_file()):
        return shipped_calibration(), storage
    calibration = read_calibration(Path(path))
    measured = list(calibration.storages)
    if name or len(measured) == 1:
        if name and name not in measured:
            raise InvalidInput(f"{path} has no storage '{name}'", f"choose from {', '.join(measured)}")
        return calibration, name or measured[0]
    raise InvalidInput(
        f"{path} has several storages", f"choose one, as in {path}:{measured[0]} (of {', '.join(measured)})"
    )


def _disk(calibration: Calibration, storage: str) -> DiskRates:
    """Return fio's figures of a storage. Raise `InvalidInput` if fio has not measured it."""
    if storage in calibration.storages:
        return calibration.storages[storage].disk
    known = ", ".join(calibration.storages)
    raise InvalidInput(
        f"nothing is known of recoveries on '{storage}'",
        f"choose from {known}, or measure it: 'make experiment calibrate STORAGE={storage}'",
    )
