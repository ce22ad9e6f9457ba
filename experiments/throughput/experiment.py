"""The experiment throughput: loads with redo logs of several sizes, each ended by a crash."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from msgspec import structs
from typing_extensions import override

from redolab.crash.bench.crash_experiment import CrashExperiment
from redolab.crash.bench.crash_plan import CrashConditions, PlannedCrash, PlannedRecovery
from redolab.crash.bench.factors import (
    CrashFactors,
    check_log_sizes,
    crash_factor,
    storages_factor,
    tables_size,
    workload_name,
)
from redolab.crash.records.kill_rule import KillRule, SteadyRule
from redolab.errors import InvalidInput
from redolab.results.rows import load_rows
from redolab.runs.experiment import Noun
from redolab.runs.factors import factor, keep_factor, on_or_off, repeat_factor, several, whole_number, words
from redolab.runs.plan import Blocks
from redolab.runs.schema import Rows
from redolab.runs.store import Run
from redolab.servers.catalogue import server_names
from redolab.servers.dialects import Purpose
from redolab.servers.extra_settings import NONE, asked_settings, settings_from
from redolab.servers.sizes import check_pool, fill_pool
from redolab.units import format_duration, parse_duration, parse_size

if TYPE_CHECKING:
    from redolab.crash.wanted import WantedCrash
    from redolab.lab import Lab

    _Crash: TypeAlias = tuple[WantedCrash, Sequence[PlannedRecovery]]

_SHORTEST_WINDOW = 5.0
_FIRST_REPORT = 3.0
_SHORTEST = 10.0


@dataclass(frozen=True, kw_only=True)
class Factors(CrashFactors):
    """Factors of the experiment; sizes in bytes, times in seconds."""

    log_size: tuple[int, ...] = factor("Redo log sizes, with commas.", several(parse_size), "256M,1G,2G,4G")
    server: tuple[str, ...] = factor("Servers, with commas.", server_names, "mariadb-11.8")
    storage: tuple[str, ...] = storages_factor("to be under load and to recover on")
    settings: tuple[str, ...] = factor(
        "Settings of the server beside those of production, as in innodb_adaptive_flushing=0: + between those that go "
        "together, commas to compare; none is production's own.",
        several(asked_settings),
        "none",
    )
    workload: str = factor("The load.", workload_name, "tpcc")
    dataset: int | None = factor("Size of the tables (default: a tenth more than the largest log).", parse_size)
    warehouses: int | None = factor("Warehouses of TPC-C, instead of DATASET.", whole_number(1, 30_000))
    connections: int = factor("Clients, each with a connection.", whole_number(1, 1024), "8")
    think_time: bool = factor("Whether TPC-C's clients wait as its terminals do.", on_or_off, "off")
    pool: int | None = factor(
        "Buffer pool, under load and in recovery (default: one that holds the tables and what is added to them).",
        parse_size,
    )
    window: float = factor(
        "The load is steady when the log was filled twice and two stretches of this length differ by 5 % at most; both "
        "together are what is measured.",
        parse_duration,
        "3m",
    )
    limit: float = factor("End a load that has not become steady after so long.", parse_duration, "30m")
    seconds: float | None = factor(
        "Let every load last so long instead, whatever the log, and measure its last two thirds.", parse_duration
    )
    worst_case: bool = factor(
        "Also crash each log filled up with flushing held back, and recover it: the worst case.", on_or_off, "on"
    )
    rto: float = factor("Recovery time objective, for the picture.", parse_duration, "1m")
    warmup: float = factor(
        "After ready, follow the clients until throughput is back at 90 %, for at most so long; 0s: not.",
        parse_duration,
        "1m",
    )
    trx_commit: int = factor("innodb_flush_log_at_trx_commit.", whole_number(0, 2), "1")
    binary_log: bool = factor("Whether the binary log is on.", on_or_off, "off")
    repeat: int = repeat_factor("How often each configuration is put under load, and crashed.", "1")
    crash: str = crash_factor()
    keep: bool = keep_factor("off")

    @override
    def check(self) -> None:
        from redolab.crash.bench.checks import check_lasts, check_load, check_warm_up

        check_log_sizes(self.server, self.log_size)
        if self.pool is not None:
            check_pool(self.pool)
        check_load(self.workload, warehouses=self.warehouses, dataset=self.dataset, think_time=self.think_time)
        if self.seconds is not None:
            check_lasts("a load", self.seconds, _SHORTEST)
        check_lasts("a window", self.window, _SHORTEST_WINDOW)
        # The windows consist of reports, and the first comes a second or two after the load began.
        soonest = SteadyRule(window=self.window).soonest + _FIRST_REPORT
        if self.limit < soonest:
            raise InvalidInput(
                f"a load cannot become steady within {format_duration(self.limit)}",
                f"that takes two windows and a third, and some seconds: choose {format_duration(soonest)} or more",
            )
        check_warm_up(self.warmup)

    def tables(self) -> int:
        """Return the bytes of the tables, equal for all configurations."""
        return tables_size(self.workload, self.warehouses, self.dataset, max(self.log_size))

    def rule(self) -> KillRule:
        """Return the rule for the end of a load."""
        if self.seconds is not None:
            return KillRule(after=self.seconds)
        return KillRule(steady=SteadyRule(window=self.window), after=self.limit)

    @override
    def in_words(self) -> dict[str, str]:
        """Return the factors as text; production's own settings have their name, so that the text can be read again."""
        return {**super().in_words(), "settings": words(tuple(each or NONE for each in self.settings))}


class Throughput(CrashExperiment[Factors, PlannedCrash, PlannedRecovery]):
    """Loads with redo logs of several sizes, and the recoveries of the crashes that end them."""

    question = "What throughput does a larger redo log gain, and what does it cost in recovery?"
    group_noun = Noun("load", "loads")
    new_loads = True

    @classmethod
    @override
    def blocks(cls, factors: Factors, lab: Lab) -> Blocks[PlannedCrash, PlannedRecovery]:
        """Return a block for each repeat, with every load of every server; the first has each log filled up, too.

        A drift of the host then affects all log sizes alike. All configurations share tables, pool and clients.
        """
        from redolab.crash.bench.planning import planned_crashes

        loads, filled_up = _loads(factors), _filled_up(factors) if factors.worst_case else []
        blocks = []
        for number in range(1, factors.repeat + 1):
            crashes = [*loads, *(filled_up if number == 1 else ())]
            wanted = [(server, replace(crash, number=number)) for server in factors.server for crash, _ in crashes]
            recoveries = [steps for _, steps in crashes] * len(factors.server)
            blocks.append(list(zip(planned_crashes(lab, wanted), recoveries, strict=True)))
        return blocks

    @classmethod
    @override
    def conditions_from(cls, factors: Factors, lab: Lab) -> CrashConditions:
        return structs.replace(super().conditions_from(factors, lab), warm_for=factors.warmup)

    @classmethod
    @override
    def rows(cls, run: Run) -> Rows:
        return load_rows(run)


def _loads(factors: Factors) -> list[_Crash]:
    """Return a load under production settings for each storage, log size and settings, recovered where it ran."""
    return [
        (
            replace(
                _filling(factors, size),
                think_time=factors.think_time,
                kill=factors.rule(),
                purpose=Purpose.PRODUCTION,
                overrides=settings_from(settings),
                storage=storage,
            ),
            [PlannedRecovery(storage=storage, pool=_pool(factors), settings=settings)],
        )
        for storage, size, settings in itertools.product(factors.storage, factors.log_size, factors.settings)
    ]


def _filled_up(factors: Factors) -> list[_Crash]:
    """Return each log filled up with flushing throttled, recovered on every storage."""
    recoveries = [PlannedRecovery(storage=storage, pool=_pool(factors)) for storage in factors.storage]
    return [(_filling(factors, size), recoveries) for size in factors.log_size]


def _filling(factors: Factors, size: int) -> WantedCrash:
    from redolab.crash.wanted import WantedCrash

    return WantedCrash(
        log_size=size,
        dataset=factors.tables(),
        workload=factors.workload,
        threads=factors.connections,
        # A transaction that stays open for half an hour would block purge.
        open_transaction_rows=0,
        trx_commit=factors.trx_commit,
        binary_log=factors.binary_log,
        fill_pool=_pool(factors),
        crash=factors.crash,
    )


def _pool(factors: Factors) -> int:
    return factors.pool or fill_pool(factors.tables(), max(factors.log_size))
