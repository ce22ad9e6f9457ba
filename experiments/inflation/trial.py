"""What is measured in the inflation experiment: one stretch of inserts, with the layers read on either side of it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from redolab.models.counted import CounterGrowth
from redolab.models.inflation import Lengths, LogWriter
from redolab.samples.log_layers import LogLayers


class InflationCell(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of the factors that can be changed on one server."""

    trx_commit: int
    threads: int
    row_bytes: int
    rows_per_transaction: int
    binary_log: bool


class InflationTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch of inserts, with the layers read on either side of it."""

    server: str
    version: str
    cell: InflationCell
    repeat: int
    seconds: float
    commits: int
    """As the clients counted them."""
    before: LogLayers
    after: LogLayers
    log_writer: LogWriter
    why_blank: Mapping[str, str]
    """Layer → why it is not counted."""
    instance: str = ""
    """The hash under which the run keeps the server's settings and variables; empty in runs of format 1."""

    def grown(self, layer: str) -> int | None:
        """By how much a layer's count grew; None where it does not count."""
        before, after = getattr(self.before, layer), getattr(self.after, layer)
        return None if before is None or after is None else after - before

    @property
    def growth(self) -> CounterGrowth:
        """What the model works with."""
        return CounterGrowth(
            lsn=self.after.lsn - self.before.lsn,
            os_log_written=self.after.os_log_written - self.before.os_log_written,
            log_writes=max(1, self.after.log_writes - self.before.log_writes),
            lengths=Lengths.EQUAL if self.cell.threads == 1 else Lengths.RANDOM,
        )
