"""Calibrations: rates of servers on the storages of a machine, fitted to measured crashes, in one small file."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from redolab.errors import InvalidInput
from redolab.machine import files
from redolab.machine.facts import Machine
from redolab.predict.recovery_time.fit import Fitted, Observation
from redolab.predict.recovery_time.held_out import (
    ENOUGH_CRASHES,
    OF_MACHINES,
    RECOVERIES_OF_A_DISK,
    HeldOut,
    HeldOutPrediction,
)
from redolab.predict.recovery_time.rollback import RollbackRate
from redolab.predict.recovery_time.spread import Spread, elementwise_max
from redolab.predict.recovery_time.spreads import Spreads, wider, without
from redolab.predict.recovery_time.stuck import StuckCounts
from redolab.predict.recovery_time.terms import DiskRates
from redolab.project import PROJECT
from redolab.servers.dialects import Dialect, Version, dialect_of

CALIBRATION_FORMAT = 8


class CalibratedWorkload(Fitted, frozen=True, kw_only=True):
    """Fit of a server to its recoveries of crashes under one workload, and their range; sizes in bytes."""

    recoveries: int
    crashes: int
    log_sizes: tuple[int, int]
    """Smallest and largest measured log, in bytes; `pools` likewise."""
    pools: tuple[int, int]
    storages: tuple[str, ...]
    scaled_by: int = 0
    """Number of recoveries on this machine that scaled the rates of another; 0 if the rates are this machine's own."""
    moments: Mapping[str, Mapping[int, tuple[float, ...]]] = {}
    """Storage → log size → checkpoint ages at random times of loads under production settings.

    Ages are shares of the hard limit, in ascending order. Sizes without such a load are missing.
    """
    known_up_to: int = 0
    """Bytes of the largest log with enough crashes, counting those of larger logs too; 0: the largest measured log."""

    @property
    def sure_up_to(self) -> int:
        """Bytes of the largest log whose predictions are as reliable as those of smaller logs."""
        return self.known_up_to or self.log_sizes[1]


class CalibratedServer(msgspec.Struct, frozen=True, kw_only=True):
    """Fits of one server."""

    family: str
    version: str
    workloads: Mapping[str, CalibratedWorkload]
    in_several_batches: StuckCounts = StuckCounts()
    """Number of recoveries in several batches that got stuck, with default settings except read threads."""
    rollback_on: Mapping[str, RollbackRate] = {}
    """Storage → rate of rollback."""
    prepared_on: Mapping[str, tuple[RollbackRate, ...]] = {}
    """Storage → rates at which transactions of so many rows are rolled back that a crash cut off in the binary log.

    By rows, the fewest first: where the pool does not hold what they changed, a row takes longer.
    """
    seconds_per_table_on: Mapping[str, float] = {}
    """Storage → seconds that each table adds to the time to ready."""
    binary_log_mb_s: float | None = None
    """Megabytes of the binary log's last file that a recovery reads in a second, as far as the disk does not limit it.

    None: not measured.
    """
    binary_log_again_mb_s: float | None = None
    """Megabytes of it a second when the server reads it once more, from memory; None: it does not, or not measured."""

    @property
    def dialect(self) -> Dialect:
        """Dialect of the measured version."""
        return dialect_of(self.family, Version.parse(self.version))


class CalibratedStorage(msgspec.Struct, frozen=True, kw_only=True):
    """A storage with fio's figures."""

    about: str
    disk: DiskRates


class OtherMachine(msgspec.Struct, frozen=True, kw_only=True):
    """A machine whose recoveries were predicted by the rates of other machines."""

    machine: str
    recoveries: int
    times: Mapping[HeldOut, float]
    """Geometric mean of measured over predicted, on its own disk and on limited ones."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """Rates and errors of one machine, or of several that are of one class and equally fast."""

    format: int
    made: datetime
    """Time of the last measured recovery."""
    commit: str
    machine: Machine
    storages: Mapping[str, CalibratedStorage]
    servers: Mapping[str, CalibratedServer]
    spreads: Spreads
    """Errors of predictions, by kind of held-out recovery."""
    runs: tuple[str, ...]
    rollback_spreads: Mapping[HeldOut, Spread] = {}
    """Errors of rollback rates: for another crash, for a server not measured there, on other machines."""
    tables_spread: Spread | None = None
    """Errors of the seconds that tables add, for another crash; None if no crash could be held out."""
    other_machines: tuple[OtherMachine, ...] = ()
    """Other machines with predictions; empty for a user's own calibration, which is not asked about other machines."""


def calibrated_workload(
    observations: Sequence[Observation],
    fitted: Fitted,
    moments: Mapping[str, Mapping[int, tuple[float, ...]]],
) -> CalibratedWorkload:
    """Return the calibration of one server under one workload, from its recoveries and the fit of its family.

    `moments` is as in `CalibratedWorkload`.
    """
    largest_first = sorted({each.crash_name: each.log_size for each in observations}.values(), reverse=True)
    return CalibratedWorkload(
        **msgspec.structs.asdict(fitted),
        recoveries=len(observations),
        crashes=len({each.crash_name for each in observations}),
        log_sizes=spanned(each.log_size for each in observations),
        pools=spanned(each.pool for each in observations),
        storages=measured_storages(observations),
        moments=moments,
        known_up_to=largest_first[ENOUGH_CRASHES - 1] if len(largest_first) >= ENOUGH_CRASHES else 0,
    )


def spanned(sizes: Iterable[int]) -> tuple[int, int]:
    """Return the smallest and the largest size."""
    known = set(sizes)
    return min(known), max(known)


def measured_storages(observations: Sequence[Observation]) -> tuple[str, ...]:
    """Return the storages with enough recoveries to rely on, or the one with the most if none has."""
    counts = Counter(each.storage for each in observations)
    enough = tuple(name for name, count in counts.items() if count >= RECOVERIES_OF_A_DISK)
    return enough or (counts.most_common(1)[0][0],)


def other_machines_of(judged: Sequence[HeldOutPrediction]) -> tuple[OtherMachine, ...]:
    """Return the machines whose recoveries were predicted by the rates of other machines."""
    found = []
    for machine in dict.fromkeys(each.machine for each in judged if each.held_out in OF_MACHINES):
        own = [each for each in judged if each.machine == machine]
        errors = {kind: [each.error for each in own if each.held_out is kind] for kind in OF_MACHINES}
        times = {kind: math.exp(statistics.fmean(of_kind)) for kind, of_kind in errors.items() if of_kind}
        found.append(OtherMachine(machine=machine, recoveries=len(own), times=times))
    return tuple(found)


def on_its_machine(calibration: Calibration) -> Calibration:
    """Return the calibration for predictions on its own machine."""
    return msgspec.structs.replace(
        calibration,
        spreads=calibration.spreads.without(OF_MACHINES),
        rollback_spreads=without(calibration.rollback_spreads, OF_MACHINES),
        other_machines=(),
    )


def read_calibration(path: Path) -> Calibration:
    """Return the calibration in a file. Raises `InvalidInput` if there is none, or none that this version can read."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"the calibration {path} cannot be read ({error.strerror})", _MAKE_ONE) from None
    try:
        known = msgspec.json.decode(content, type=dict[str, object]).get("format")
        if isinstance(known, int) and known != CALIBRATION_FORMAT:
            raise InvalidInput(
                f"the calibration {path} has format {known}, and this version of redolab reads {CALIBRATION_FORMAT}",
                "make it again: 'redolab fit RUN -o FILE' with the run of its calibration, or 'make experiment calibrate'",
            )
        return msgspec.json.decode(content, type=Calibration)
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"{path} is no calibration, or a damaged one ({error})", _MAKE_ONE) from None


def as_json(content: msgspec.Struct) -> bytes:
    """Return a calibration, or trades, as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write the calibration to a file."""
    files.write_whole(path, as_json(calibration))


def with_spreads_of(calibration: Calibration, other: Calibration) -> Calibration:
    """Return a calibration with the errors of another one where those are wider.

    A small calibration has too few recoveries to hold out every kind.
    """
    elsewhere = on_its_machine(other)
    one, another = calibration.tables_spread, elsewhere.tables_spread
    return msgspec.structs.replace(
        calibration,
        spreads=calibration.spreads.wider(elsewhere.spreads),
        rollback_spreads=wider(calibration.rollback_spreads, elsewhere.rollback_spreads),
        tables_spread=elementwise_max(one, another) if one and another else one or another,
    )


def shipped_calibration() -> Calibration:
    """Return the calibration that comes with redolab, of the project's machines.

    Raises `InvalidInput` if it is damaged.
    """
    return read_calibration(PROJECT.provision / "calibration.json")


_MAKE_ONE = "'make experiment calibrate' makes one, in its run's folder"
