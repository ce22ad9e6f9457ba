"""What can be chosen of power cuts."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from redolab.bench.checks import check_pool
from redolab.bench.factors import check_log_sizes
from redolab.errors import InvalidInput
from redolab.runs.factors import CommonFactors, factor, on_or_off, one_of, several, whole_number
from redolab.servers.catalogue import server_names
from redolab.units import parse_duration, parse_size

from .cells import PLAIN, VARIATIONS, Cell

_OFF = "off"
_MADE = [name for name, each in VARIATIONS.items() if not each.is_past]


def _binary_log(text: str) -> int | None:
    """`off`, or a value of sync_binlog with which it is on. Raises `InvalidInput`."""
    if text.strip() == _OFF:
        return None
    if not text.strip().isdigit():
        raise InvalidInput(f"'{text}' is no state of the binary log", "off, or a value of sync_binlog as in off,0,1")
    return int(text)


@dataclass(frozen=True, kw_only=True)
class Factors(CommonFactors):
    """What can be chosen; sizes in bytes, times in seconds."""

    server: tuple[str, ...] = factor("Servers, with commas; all for every one.", server_names, "mariadb-11.8,mysql-9")
    trx_commit: tuple[int, ...] = factor(
        "Values of innodb_flush_log_at_trx_commit, with commas.", several(whole_number(0, 3)), "1,2,0"
    )
    binary_log: tuple[int | None, ...] = factor(
        "The binary log: off, or on with that value of sync_binlog, with commas.", several(_binary_log), "off,0,1"
    )
    variation: tuple[str, ...] = factor(
        "What is otherwise, one at a time, with the first of each of these two; plain: nothing, with all of them: "
        f"{', '.join(_MADE)}.",
        several(one_of("variation", lambda: _MADE)),
        # A replica needs a binary log, which is off at first.
        ",".join(name for name in _MADE if not VARIATIONS[name].replica),
    )
    states: int = factor("States of each cell.", whole_number(4, 1_000_000), "100")
    recordings: int = factor("Recordings of each cell, of which these are.", whole_number(1, 1000), "4")
    explain: int = factor(
        "Of a loss that is no setting's: how many states may be tried to find the fewest lost writes that do it.",
        whole_number(0, 10_000),
        "60",
    )
    keep_cuts: bool = factor(
        "Keep, as folders for 'redolab recover', also cuts that were explained and break no promise.", on_or_off, "off"
    )
    seconds: float = factor("For how long each is recorded.", parse_duration, "6s")
    clients: int = factor("Clients that write.", whole_number(1, 64), "4")
    log_size: int = factor("Redo log size.", parse_size, "64M")
    pool: int = factor("Buffer pool, under load and in recovery.", parse_size, "128M")
    jobs: int = factor("Recoveries at a time.", whole_number(1, 64), "3")

    def check(self) -> None:
        """Refuse what makes no sense, before anything is started. Raises `InvalidInput`."""
        check_log_sizes(self.server, [self.log_size])
        check_pool(self.pool)

    def cells(self) -> list[Cell]:
        """Every combination of the two settings, and what is varied beside the first of them."""
        settings = [
            Cell(server=server, trx_commit=commit, sync_binlog=sync)
            for server, commit, sync in itertools.product(self.server, self.trx_commit, self.binary_log)
            if PLAIN in self.variation
        ]
        varied = [
            Cell(server=server, trx_commit=self.trx_commit[0], sync_binlog=self.binary_log[0], variation=name)
            for server in self.server
            for name in self.variation
            if name != PLAIN
        ]
        return [*settings, *varied]
