"""What can be chosen of the inflation experiment."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from redolab.errors import InvalidInput
from redolab.runs.combinations import crossed, one_at_a_time
from redolab.runs.factors import CommonFactors, factor, on_or_off, several, whole_number
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.units import MIB, format_size, parse_size

from .trial import InflationCell

SMALLEST_LOG = 64 * MIB
"""Less would have to be flushed for while rows are inserted."""


@dataclass(frozen=True, kw_only=True)
class Factors(CommonFactors):
    """What can be chosen; sizes in bytes, times in seconds."""

    server: tuple[str, ...] = factor("Servers, with commas; all for every one.", server_names, "all")
    trx_commit: tuple[int, ...] = factor(
        "Values of innodb_flush_log_at_trx_commit, with commas.", several(whole_number(0, 2)), "1,2,0"
    )
    threads: tuple[int, ...] = factor("Numbers of clients, with commas.", several(whole_number(1, 64)), "1,4,16,64")
    row_bytes: tuple[int, ...] = factor(
        "Bytes of data in a row, with commas.", several(whole_number(1, 60_000)), "100,10,500,2000"
    )
    rows: tuple[int, ...] = factor("Rows of a transaction, with commas.", several(whole_number(1, 1000)), "1,10")
    binary_log: tuple[bool, ...] = factor(
        "The binary log: off, on, or both with a comma.", several(on_or_off), "off,on"
    )
    cross: bool = factor(
        "off: from the first value of every factor, one factor at a time is changed; on: every combination.",
        on_or_off,
        "off",
    )
    seconds: int = factor("For how many seconds rows are inserted for each.", whole_number(1, 3600), "1")
    log_size: int = factor("Redo log size.", parse_size, "512M")

    def check(self) -> None:
        """Refuse what makes no sense, before anything is started. Raises `InvalidInput`."""
        if self.log_size < SMALLEST_LOG:
            raise InvalidInput(
                f"a redo log of {format_size(self.log_size)} is too small",
                f"give it {format_size(SMALLEST_LOG)} or more",
            )
        for name in self.server:
            if self.log_size > server_catalogue().get(name).dialect().largest_log:
                raise InvalidInput(
                    f"a redo log of {format_size(self.log_size)} is too large for {name}", "choose a smaller one"
                )

    def cells(self) -> list[InflationCell]:
        """The cells of one server."""
        values: dict[str, tuple[int | bool, ...]] = {
            "trx_commit": self.trx_commit,
            "threads": self.threads,
            "row_bytes": self.row_bytes,
            "rows_per_transaction": self.rows,
            "binary_log": self.binary_log,
        }
        combinations = crossed(values) if self.cross else one_at_a_time(values)
        return [msgspec.convert(combination, InflationCell) for combination in combinations]
