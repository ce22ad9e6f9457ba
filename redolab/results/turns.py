"""Two sizes of the redo log interleaved within one load: what a block measured, and what the larger log gains."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from redolab.machine.facts import Disturbance
from redolab.report.intervals import RelativeChange, relative_changes
from redolab.report.quantities import Quantity, quantity
from redolab.runs.schema import Trial
from redolab.runs.store import Run
from redolab.units import KIB, MIB, format_size


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A window of the load with one log size; rates are of the measured seconds. None if unknown."""

    log_size_bytes: int = msgspec.field(name="log_size")
    turn_s: float = msgspec.field(name="seconds")
    rate: Annotated[float, Quantity("throughput", places=0)]
    """Throughput: NOTPM of TPC-C, commits a second of other workloads."""
    latency_95_ms: Annotated[float | None, Quantity("p95", "ms", places=1)]
    worst_second: Annotated[float, Quantity("worst second", "%", places=0, scale=100)]
    """Throughput of the slowest second, as a share of the median."""
    checkpoint_age_bytes: Annotated[float | None, Quantity("age", "M", places=0, scale=1 / MIB)] = msgspec.field(
        name="age"
    )
    """Mean checkpoint age."""
    redo_bytes_per_second: Annotated[float | None, Quantity("redo", "M/s", places=1, scale=1 / MIB)] = msgspec.field(
        name="redo_per_second"
    )
    pages_bytes_per_commit: Annotated[float | None, Quantity("pages", "KiB", places=1, scale=1 / KIB)] = msgspec.field(
        name="pages_per_commit"
    )
    """Bytes of flushed pages, without the doublewrite buffer."""
    device_bytes_per_commit: Annotated[float | None, Quantity("device", "KiB", places=1, scale=1 / KIB)] = (
        msgspec.field(name="device_per_commit")
    )
    """Bytes written to the device."""
    cpu_share: Annotated[float | None, Quantity("CPUs", "%", places=0, scale=100)]
    """Share of all CPUs in use by anything."""


class Resize(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the log's size under load."""

    before: int
    after: int
    answered_s: Annotated[float, Quantity("answered", "s", places=1)]
    """Seconds until the statement was answered."""
    in_force_s: Annotated[float, Quantity("in force", "s", places=1)]
    """Seconds until the log had its new size."""
    usual_rate: float
    """Throughput in the seconds before, in the unit of `Turn.rate`."""
    rates: tuple[tuple[float, float], ...]
    """Seconds since the statement was sent, and throughput in the second that ended then."""

    @property
    def grows(self) -> bool:
        """True if the log becomes larger."""
        return self.after > self.before

    def in_words(self) -> str:
        """Write the change, as in `256M to 4G`."""
        return f"{format_size(self.before)} to {format_size(self.after)}"

    @property
    @quantity("meanwhile", "%", places=0, scale=100)
    def meanwhile(self) -> float | None:
        """Throughput until the size was in force, as a share of the usual; None if that took less than a second."""
        # A second that ended before then includes time before the statement.
        rates = [rate for at, rate in self.rates if 1 <= at <= self.in_force_s]
        return statistics.fmean(rates) / self.usual_rate if rates else None

    @property
    @quantity("slowest second", "%", places=0, scale=100)
    def slowest(self) -> float:
        """Throughput of the slowest second from the statement on, as a share of the usual."""
        return min((rate for at, rate in self.rates if at > 0), default=0.0) / self.usual_rate


class ResizingTrial(Trial, frozen=True, kw_only=True):
    """A block: each log size twice, within one load."""

    version: str
    counts_new_orders: bool
    """True if rates are NOTPM."""
    turns: tuple[Turn, ...]
    resizes: tuple[Resize, ...]
    instance: str
    """Hash under which the run keeps the server's settings and variables."""
    disturbance: Disturbance | None = None
    """CPU time that others used meanwhile."""

    def rate_with(self, size: int) -> float:
        """Return the throughput with a log of `size` bytes."""
        return statistics.geometric_mean(turn.rate for turn in self.turns if turn.log_size_bytes == size)


@dataclass(frozen=True, slots=True)
class ResizedLoad:
    """The blocks of one load."""

    blocks: Sequence[ResizingTrial]

    @property
    def sizes(self) -> tuple[int, int]:
        """Bytes of the smaller log and of the larger one."""
        sizes = [turn.log_size_bytes for turn in self.blocks[0].turns]
        return min(sizes), max(sizes)

    @property
    def gain(self) -> RelativeChange:
        """Relative difference in throughput with the larger log. A block counts once: turns of a load are similar."""
        small, large = self.sizes
        measured = [
            (str(number), size, block.rate_with(size))
            for number, block in enumerate(self.blocks)
            for size in (small, large)
        ]
        return relative_changes(measured, small)[large]

    def resizes(self, *, grows: bool) -> list[Resize]:
        """Return the changes to the larger log, or back."""
        return [each for block in self.blocks for each in block.resizes if each.grows is grows]


def resized_loads(runs: Sequence[Run]) -> list[ResizedLoad]:
    """Return the loads of runs, in the order of measurement. Raises `LabError`."""
    loads: dict[tuple[str, int], list[ResizingTrial]] = defaultdict(list)
    for run in runs:
        for record in run.trials(ResizingTrial):
            loads[run.name, record.group].append(record.trial)
    return [ResizedLoad(blocks) for blocks in loads.values()]
