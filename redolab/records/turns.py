"""Records of two redo log sizes, interleaved within one load: the plan, and the result of each block."""

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
    """Conditions that compared turns share; sizes in bytes."""

    server: str
    storage: str
    workload: str
    connections: int
    tables: int
    pool: int
    trx_commit: int
    small: int
    large: int
    """Bytes of the larger redo log, all files together; `small` likewise."""


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A window of the load with one log size; rates are of the measured seconds. None if unknown."""

    log_size: int
    seconds: float
    rate: float
    """Throughput: NOTPM of TPC-C, commits a second of other workloads."""
    latency_95_ms: float | None
    worst_second: float
    """Throughput of the slowest second, as a share of the median."""
    age: float | None
    """Mean checkpoint age in bytes."""
    redo_per_second: float | None
    pages_per_commit: float | None
    """Bytes of flushed pages, without the doublewrite buffer."""
    device_per_commit: float | None
    """Bytes written to the device."""
    cpu_share: float | None
    """Share of all CPUs in use by anything."""


class Resize(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the log's size under load."""

    before: int
    after: int
    answered_s: float
    """Seconds until the statement was answered."""
    in_force_s: float
    """Seconds until the log had its new size."""
    usual_rate: float
    """Throughput in the seconds before, in the unit of `Turn.rate`."""
    rates: tuple[tuple[float, float], ...]
    """Seconds since the statement was sent, and throughput in the second that ended then."""

    @property
    def grows(self) -> bool:
        """True if the log becomes larger."""
        return self.after > self.before

    @property
    def slowest(self) -> float:
        """Throughput of the slowest second from the statement on, as a share of the usual."""
        return min((rate for at, rate in self.rates if at > 0), default=0.0) / self.usual_rate

    @property
    def meanwhile(self) -> float | None:
        """Throughput until the size was in force, as a share of the usual; None if that took less than a second."""
        # A second that ended before then includes time before the statement.
        rates = [rate for at, rate in self.rates if 1 <= at <= self.in_force_s]
        return statistics.fmean(rates) / self.usual_rate if rates else None


class ResizingTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A block: each log size twice, within one load."""

    cell: ResizingCell
    version: str
    counts_new_orders: bool
    """True if rates are NOTPM."""
    turns: tuple[Turn, ...]
    resizes: tuple[Resize, ...]
    instance: str
    """Hash under which the run keeps the server's settings and variables."""
    disturbance: Disturbance | None = None
    """CPU time that others used meanwhile."""


class PlannedLoad(PlannedGroup, frozen=True, kw_only=True):
    """An instance under a load that continues until all its blocks are measured."""

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
    """Turns of log sizes, in order; in bytes and seconds."""

    block: int
    sizes: tuple[int, ...]
    seconds: float
    """Seconds of a turn, including the time to settle."""

    @override
    def described(self) -> dict[str, str]:
        sizes = ", ".join(format_size(size) for size in self.sizes)
        return {"block": str(self.block), "turns": f"{sizes} ({format_duration(self.seconds)} each)"}

    @override
    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """Return keys without the order of sizes: every order takes as long."""
        turns = f"{len(self.sizes)} turns of {self.seconds} s"
        return [f"{turns} of {group[0]}", turns]


class ResizingConditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of the whole run; seconds."""

    seconds: float
    settling: float
    warm_up: float


ResizingPlan: TypeAlias = Plan[PlannedLoad, PlannedBlock, ResizingConditions]
