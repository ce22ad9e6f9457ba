"""A calibration as if two servers had been measured on three storages, and models that answer from it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

import msgspec

from redolab.predict.advising import Sized, sized
from redolab.predict.asking import model_of
from redolab.predict.calibration import (
    CALIBRATION_FORMAT,
    CalibratedServer,
    CalibratedStorage,
    Calibration,
    calibrated_workload,
)
from redolab.predict.demand import Demand
from redolab.predict.log_size import Limits
from redolab.predict.predicting import Predicted, predicted
from redolab.predict.question import Model, Question
from redolab.predict.recovery_time.fit import Observation
from redolab.predict.recovery_time.held_out import HeldOut, judged
from redolab.predict.recovery_time.rollback import RollbackRate
from redolab.predict.recovery_time.spread import Spread
from redolab.predict.recovery_time.spreads import spreads_of
from redolab.predict.recovery_time.stuck import StuckCount, StuckCounts
from redolab.units import GIB
from tests.examples import MACHINE
from tests.predict.recovery_time.examples import DISKS, fit, observations

SERVERS = {"mariadb-10.11": ("mariadb", "10.11.19"), "mysql-9": ("mysql", "9.7.4")}


def _counted(of: Sequence[Observation], stuck: int) -> StuckCount:
    """Those that took several batches, and some more that got stuck, each of a crash of its own."""
    n = stuck + sum((each.batches or 0) > 1 for each in of)
    return StuckCount(stuck, n, n, float(stuck))


@cache
def calibration() -> Calibration:
    """Of logs up to 1 GiB, with errors of larger ones."""
    seen = {name: observations(name, noise=0.05) for name in SERVERS}
    small = {name: [each for each in of if each.log_size <= GIB] for name, of in seen.items()}
    return Calibration(
        format=CALIBRATION_FORMAT,
        made=datetime.now(UTC),
        commit="abc",
        machine=MACHINE,
        storages={name: CalibratedStorage(about=name, disk=disk) for name, disk in DISKS.items()},
        servers={
            name: CalibratedServer(
                family=family,
                version=version,
                workloads={"bulk-update": calibrated_workload(small[name], fit(small[name]), {})},
                in_several_batches=StuckCounts({"bulk-update": _counted(small[name], 7 * (family == "mysql"))}),
                rollback_on=dict.fromkeys(DISKS, RollbackRate(rows_per_s=300_000.0, most_rows=1_000_000)),
            )
            for name, (family, version) in SERVERS.items()
        },
        spreads=spreads_of(judged([each for of in seen.values() for each in of], {})),
        rollback_spreads={
            HeldOut.CRASH: Spread(deviation=0.2, count=30),
            HeldOut.SERVER: Spread(deviation=0.5, count=5),
        },
        tables_spread=Spread(deviation=0.3, count=8),
        runs=("a", "b"),
    )


def with_server(name: str, **changes: Any) -> Calibration:
    """Return the calibration with some fields of a server changed."""
    known = calibration()
    changed = msgspec.structs.replace(known.servers[name], **changes)
    return msgspec.structs.replace(known, servers={**known.servers, name: changed})


def with_load(server: str, **changes: Any) -> Calibration:
    """Return the calibration with some fields of a server's only workload changed."""
    ((workload, fitted),) = calibration().servers[server].workloads.items()
    return with_server(server, workloads={workload: msgspec.structs.replace(fitted, **changes)})


def model(
    server: str = "mariadb-10.11",
    storage: str = "local",
    *,
    pool: int = 2 * GIB,
    known: Calibration | None = None,
    **conditions: Any,
) -> Model:
    """Return the model of a server by the calibration, or by `known`; `conditions`: other fields of the question."""
    question = Question(server=server, storage=storage, pool=pool, **conditions)
    return model_of(question, known or calibration(), storage)


def recovery(asked: Model, log_size: int = GIB, age: int | None = None) -> Predicted:
    """Return the predicted recovery."""
    return predicted(asked, log_size, age)


def given(redo_per_hour: float) -> Demand:
    """Return a demand that somebody typed."""
    return Demand(redo_per_hour=redo_per_hour, source="as given")


def size_for(asked: Model, redo_per_hour: float, rto: float, **limits: float) -> Sized:
    """Return the answer of `redolab size`."""
    return sized(asked, given(redo_per_hour), Limits(rto=rto, **limits))
