"""Two sizes of the redo log by turns within one load: what is planned, and what a block of turns came to."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TypeAlias

import msgspec
from typing_extensions import override

from redolab.machine.facts import Disturbance
from redolab.runs.plan import Plan, PlannedGroup, PlannedStep
from redolab.units import format_duration, format_size


class ResizingCell(msgspec.Struct, frozen=True, kw_only=True):
    """What all turns share that are compared; sizes in bytes."""

    server: str
    storage: str
    workload: str
    connections: int
    tables: int
    pool: int
    trx_commit: int
    small: int
    large: int
    """Of the redo logs that are compared, all files together."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of the load with one size of the log; rates are of the measured stretch. None where it is not known."""

    log_size: int
    seconds: float
    rate: float
    """NOTPM of TPC-C, commits a second of other workloads."""
    latency_95_ms: float | None
    worst_second: float
    """Its slowest second, as a share of the median."""
    age: float | None
    """Mean checkpoint age in bytes."""
    redo_per_second: float | None
    pages_per_commit: float | None
    """Bytes of pages that were flushed, the doublewrite buffer not counted."""
    device_per_commit: float | None
    """Bytes written to the device."""
    cpu_share: float | None
    """Of all processors, whoever used them."""


class Resize(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the log's size under load."""

    before: int
    after: int
    answered_s: float
    """Seconds until the statement was answered."""
    in_force_s: float
    """Seconds until the log had its new size."""
    usual_rate: float
    """Throughput in the seconds before, as `Turn.rate`."""
    rates: tuple[tuple[float, float], ...]
    """Seconds since the statement was sent, and throughput in the second that ended then."""

    @property
    def grows(self) -> bool:
        """Whether the log becomes larger."""
        return self.after > self.before

    @property
    def slowest(self) -> float:
        """The slowest second from the statement on, as a share of the usual throughput."""
        return min((rate for at, rate in self.rates if at > 0), default=0.0) / self.usual_rate

    @property
    def meanwhile(self) -> float | None:
        """Throughput until the size was in force, as a share of the usual; None where that was within a second."""
        # A second that ended before then is of the time before the statement too.
        rates = [rate for at, rate in self.rates if 1 <= at <= self.in_force_s]
        return statistics.fmean(rates) / self.usual_rate if rates else None


class ResizingTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A block: both sizes of the log twice, within one load."""

    cell: ResizingCell
    version: str
    counts_new_orders: bool
    """Whether rates are NOTPM."""
    turns: tuple[Turn, ...]
    resizes: tuple[Resize, ...]
    instance: str
    """The hash under which the run keeps the server's settings and variables."""
    disturbance: Disturbance | None = None
    """What others took of the processors meanwhile."""


class PlannedLoad(PlannedGroup, frozen=True, kw_only=True):
    """An instance under a load that goes on until all its blocks are measured."""

    cell: ResizingCell

    @override
    def described(self) -> dict[str, str]:
        return {
            "server": self.cell.server,
            "storage": self.cell.storage,
            "workload": self.cell.workload,
            "tables": format_size(self.cell.tables),
            "pool": format_size(self.cell.pool),
        }


class PlannedBlock(PlannedStep, frozen=True, kw_only=True):
    """Turns of the log's sizes, in order; in bytes and seconds."""

    block: int
    sizes: tuple[int, ...]
    seconds: float
    """Of a turn, with what it takes to settle."""

    @override
    def described(self) -> dict[str, str]:
        sizes = ", ".join(format_size(size) for size in self.sizes)
        return {"block": str(self.block), "turns": f"{sizes} ({format_duration(self.seconds)} each)"}

    @override
    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """Turns are as long whichever comes first."""
        turns = f"{len(self.sizes)} turns of {self.seconds} s"
        return [f"{turns} of {group[0]}", turns]


class ResizingConditions(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for the whole run; seconds."""

    seconds: float
    settling: float
    warm_up: float


ResizingPlan: TypeAlias = Plan[PlannedLoad, PlannedBlock, ResizingConditions]
