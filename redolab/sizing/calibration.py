"""Calibrations: what measured crashes tell about servers on storages of a machine, in one small file."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from redolab.errors import InvalidInput
from redolab.machine import files
from redolab.machine.facts import Machine
from redolab.models.recovery_time.fit import Fitted, Observation
from redolab.models.recovery_time.held_out import (
    ENOUGH_CRASHES,
    OF_MACHINES,
    RECOVERIES_OF_A_DISK,
    HeldOut,
    HeldOutPrediction,
)
from redolab.models.recovery_time.rollback import RollbackRate
from redolab.models.recovery_time.spread import Spread, wider
from redolab.models.recovery_time.spreads import ByKind, Spreads, wider_of_both, wider_of_each
from redolab.models.recovery_time.stuck import StuckCounts
from redolab.models.recovery_time.terms import DiskRates
from redolab.models.recovery_time.work import DirtyPages, Memory
from redolab.project import PROJECT

CALIBRATION_FORMAT = 8


class CalibratedWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """What was learnt of a server from its recoveries of crashes under one workload; sizes in bytes."""

    memory: Memory
    rates: Mapping[str, float]
    """Term → rate (`redolab.models.recovery_time.terms`)."""
    dirty_pages: DirtyPages
    """At the crash, for the redo there was."""
    recoveries: int
    crashes: int
    log_sizes: tuple[int, int]
    """The smallest and the largest that were measured, as for `pools`."""
    pools: tuple[int, int]
    storages: tuple[str, ...]
    scaled_by: int = 0
    """By how many recoveries of this machine the rates, which are of another, were scaled; 0: they are of this one."""
    moments: Mapping[str, Mapping[int, tuple[float, ...]]] = {}
    """Storage → log size → checkpoint ages at random moments of loads under production's settings, as shares of the hard limit,
    from the least to the most; without those with which no such load was measured."""
    known_up_to: int = 0
    """Bytes of the largest log of which, with still larger ones, enough crashes were measured; 0: of the largest measured."""

    @property
    def fitted(self) -> Fitted:
        """As the model takes it."""
        return Fitted(self.memory, self.rates, self.dirty_pages)

    @property
    def sure_up_to(self) -> int:
        """Bytes of the largest log of which predictions are as sure as of others."""
        return self.known_up_to or self.log_sizes[1]


class CalibratedServer(msgspec.Struct, frozen=True, kw_only=True):
    """What was learnt of one server."""

    family: str
    version: str
    workloads: Mapping[str, CalibratedWorkload]
    in_several_batches: StuckCounts = StuckCounts()
    """How many recoveries with more than one batch got stuck, with the default settings but for read threads."""
    rollback_on: Mapping[str, RollbackRate] = {}
    """Storage → how fast it rolls back there."""
    seconds_per_table_on: Mapping[str, float] = {}
    """Storage → what a table adds to the time to ready there."""


class CalibratedStorage(msgspec.Struct, frozen=True, kw_only=True):
    """A storage as fio found it."""

    about: str
    disk: DiskRates


class OtherMachine(msgspec.Struct, frozen=True, kw_only=True):
    """A machine whose recoveries were predicted by what others taught."""

    machine: str
    recoveries: int
    times: Mapping[HeldOut, float]
    """On its own disk, and on limited ones: measured over predicted, the geometric mean."""


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """Of one machine, or of several that are of one class and as fast."""

    format: int
    made: datetime
    """When the last of its recoveries was measured."""
    commit: str
    machine: Machine
    storages: Mapping[str, CalibratedStorage]
    servers: Mapping[str, CalibratedServer]
    spreads: Spreads
    """How far predictions were off, by what they had not seen."""
    runs: tuple[str, ...]
    rollback_spreads: Mapping[HeldOut, Spread] = {}
    """How far rates of rollback were off: of another crash, of a server not measured there, on other machines."""
    tables_spread: Spread | None = None
    """How far what tables add was off, of another crash; None where no crash could be left out."""
    other_machines: tuple[OtherMachine, ...] = ()
    """None of one's own: only what comes with redolab is asked about machines that it has not seen."""


def calibrated_workload(
    observations: Sequence[Observation],
    fitted: Fitted,
    moments: Mapping[str, Mapping[int, tuple[float, ...]]] | None = None,
) -> CalibratedWorkload:
    """What these recoveries of one server under one workload tell, with what was learnt from them and from others of its family.

    `moments`: see `CalibratedWorkload`.
    """
    logs, pools = [each.log_size for each in observations], [each.pool for each in observations]
    largest_first = sorted({each.crash_name: each.log_size for each in observations}.values(), reverse=True)
    return CalibratedWorkload(
        memory=fitted.memory,
        rates=fitted.rates,
        dirty_pages=fitted.dirty_pages,
        recoveries=len(observations),
        crashes=len({each.crash_name for each in observations}),
        log_sizes=(min(logs), max(logs)),
        pools=(min(pools), max(pools)),
        storages=measured_storages(observations),
        moments=moments or {},
        known_up_to=largest_first[ENOUGH_CRASHES - 1] if len(largest_first) >= ENOUGH_CRASHES else 0,
    )


def measured_storages(observations: Sequence[Observation]) -> tuple[str, ...]:
    """Those with enough recoveries to tell something of them; where none has, the one with the most."""
    counts = Counter(each.storage for each in observations)
    enough = tuple(name for name, count in counts.items() if count >= RECOVERIES_OF_A_DISK)
    return enough or (counts.most_common(1)[0][0],)


def other_machines_of(judged: Sequence[HeldOutPrediction]) -> tuple[OtherMachine, ...]:
    """The machines whose recoveries were predicted by what others taught."""
    found = []
    for machine in dict.fromkeys(each.machine for each in judged if each.held_out in OF_MACHINES):
        own = [each for each in judged if each.machine == machine]
        errors = {kind: [each.error for each in own if each.held_out is kind] for kind in OF_MACHINES}
        times = {kind: math.exp(statistics.fmean(of_kind)) for kind, of_kind in errors.items() if of_kind}
        found.append(OtherMachine(machine=machine, recoveries=len(own), times=times))
    return tuple(found)


def on_its_machine(calibration: Calibration) -> Calibration:
    """It for predictions of the machine that it is of."""
    return msgspec.structs.replace(
        calibration,
        spreads=calibration.spreads.each(_of_one_machine),
        rollback_spreads=_of_one_machine(calibration.rollback_spreads),
        other_machines=(),
    )


def _of_one_machine(spreads: ByKind) -> ByKind:
    return {kind: spread for kind, spread in spreads.items() if kind not in OF_MACHINES}


def read_calibration(path: Path) -> Calibration:
    """The calibration in a file. Raises `InvalidInput` if there is none, or none that this version can read."""
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


def as_json(calibration: Calibration) -> bytes:
    """It as JSON that people can read."""
    return msgspec.json.format(msgspec.json.encode(calibration), indent=1) + b"\n"


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write it to a file."""
    files.write_whole(path, as_json(calibration))


def with_spreads_of(calibration: Calibration, other: Calibration) -> Calibration:
    """It with the errors that another one has for what a small calibration cannot hold out; of two the wider."""
    elsewhere = on_its_machine(other)
    one, another = calibration.tables_spread, elsewhere.tables_spread
    return msgspec.structs.replace(
        calibration,
        spreads=wider_of_each(calibration.spreads, elsewhere.spreads),
        rollback_spreads=wider_of_both(calibration.rollback_spreads, elsewhere.rollback_spreads),
        tables_spread=wider(one, another) if one and another else one or another,
    )


def shipped_calibration() -> Calibration:
    """The one that comes with redolab: of the project's own machines. Raises `InvalidInput` if it is damaged."""
    return read_calibration(PROJECT.provision / "calibration.json")


_MAKE_ONE = "'make experiment calibrate' makes one, in its run's folder"
