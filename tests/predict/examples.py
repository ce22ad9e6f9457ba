"""A calibration as if two servers had been measured on two storages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from redolab.predict.calibration import (
    CALIBRATION_FORMAT,
    CalibratedServer,
    CalibratedStorage,
    Calibration,
    calibrated_workload,
    write_calibration,
)
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


def calibration(made: datetime | None = None) -> Calibration:
    """Of logs up to 1 GiB, with errors of larger ones."""
    seen = {name: observations(name, noise=0.05) for name in SERVERS}
    small = {name: [each for each in of if each.log_size <= GIB] for name, of in seen.items()}
    return Calibration(
        format=CALIBRATION_FORMAT,
        made=made or datetime.now(UTC),
        commit="abc",
        machine=MACHINE,
        storages={name: CalibratedStorage(about=name, disk=disk) for name, disk in DISKS.items()},
        servers={
            name: CalibratedServer(
                family=family,
                version=version,
                workloads={
                    "bulk-update": calibrated_workload(
                        small[name],
                        fit(small[name]),
                    )
                },
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


def calibration_file(folder: Path, made: datetime | None = None) -> Path:
    """It in a file."""
    path = folder / "calibration.json"
    write_calibration(path, calibration(made))
    return path
