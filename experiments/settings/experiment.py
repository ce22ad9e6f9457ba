"""The experiment settings: settings changed one at a time under load, and at recovery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from typing_extensions import override

from redolab.crash.bench.crash_experiment import CrashExperiment
from redolab.crash.bench.crash_plan import PlannedCrash, PlannedRecovery
from redolab.crash.bench.factors import CrashFactors, check_log_sizes, crash_factor, tables_size
from redolab.crash.records.kill_rule import KillRule
from redolab.disks.catalogue import storage_name
from redolab.errors import InvalidInput
from redolab.results.rows import load_rows
from redolab.runs.experiment import Noun
from redolab.runs.factors import factor, keep_factor, one_of, repeat_factor, several, whole_number
from redolab.runs.plan import Blocks
from redolab.runs.schema import Rows
from redolab.runs.store import Run
from redolab.servers.catalogue import server_names
from redolab.servers.dialects import Dialect, Purpose
from redolab.servers.sizes import fill_pool
from redolab.units import GIB, MIB, parse_duration, parse_size

from .changes import BASELINE, LARGE_ROWS, SETTINGS, STORM, TPCC, Baselines, Change, changes, explicit, skipped

if TYPE_CHECKING:
    from redolab.lab import Lab
    from redolab.servers.install import InstalledServer

_SHORTEST = 10.0
_SMALL_TABLES = 64 * MIB
_LARGE_LOG = GIB
# With fewer clients it runs out of ports: each address has some 28,000, and a closed connection holds one for a minute.
_FEWEST_STORM = 16
_MOST_STORM = 1000
_BASELINES = 2
"""Loads of each baseline in a block: every level is compared with it, so each block measures it twice."""


@dataclass(frozen=True, kw_only=True)
class Factors(CrashFactors):
    """Factors of the experiment; sizes in bytes, times in seconds."""

    server: tuple[str, ...] = factor("Servers, with commas.", server_names, "mysql-9,mariadb-11.8")
    vary: tuple[str, ...] = factor(
        "Settings to change, with commas; all for all.", several(one_of("setting", lambda: ["all", *SETTINGS])), "all"
    )
    log_size: int = factor("Redo log of the baseline.", parse_size, "128M")
    warehouses: int = factor("Warehouses of TPC-C.", whole_number(1, 30_000), "10")
    pool: int | None = factor("Buffer pool of the baseline (default: one that holds the tables).", parse_size)
    connections: int = factor("Clients of TPC-C and of the large rows.", whole_number(1, 1024), "8")
    storm: int = factor("Clients that connect anew for each statement.", whole_number(_FEWEST_STORM, _MOST_STORM), "64")
    seconds: float = factor("How long each load lasts; its last two thirds are measured.", parse_duration, "60s")
    storage: str = factor("Storage profile to be under load and to recover on.", storage_name, "local")
    repeat: int = repeat_factor("Blocks: in each, every level once, and the baselines.", "3")
    crash: str = crash_factor()
    keep: bool = keep_factor("off")

    @override
    def check(self) -> None:
        from redolab.crash.bench.checks import check_lasts

        check_log_sizes(self.server, [self.log_size])
        check_lasts("a load", self.seconds, _SHORTEST)

    def varied(self) -> tuple[str, ...]:
        """Return the settings that are changed."""
        return tuple(SETTINGS) if "all" in self.vary else self.vary

    def baselines(self, number: int) -> Baselines:
        """Return the baselines of a block."""
        from redolab.crash.wanted import WantedCrash

        tables = tables_size(TPCC, self.warehouses)
        tpcc = WantedCrash(
            log_size=self.log_size,
            dataset=tables,
            workload=TPCC,
            threads=self.connections,
            kill=KillRule(after=self.seconds),
            open_transaction_rows=0,
            purpose=Purpose.PRODUCTION,
            fill_pool=self.pool or fill_pool(tables, self.log_size),
            number=number,
            storage=self.storage,
            crash=self.crash,
        )
        small = replace(tpcc, dataset=_SMALL_TABLES, fill_pool=fill_pool(_SMALL_TABLES, self.log_size))
        return Baselines(
            tpcc=tpcc,
            # Large rows fill a small log in seconds: clients would then wait for its end, and not for the log buffer.
            large_rows=replace(
                small, workload=LARGE_ROWS, log_size=_LARGE_LOG, fill_pool=fill_pool(_SMALL_TABLES, _LARGE_LOG)
            ),
            storm=replace(small, workload=STORM, threads=self.storm),
        )


class PlannedChange(PlannedCrash, frozen=True, kw_only=True):
    """A load with one changed setting."""

    setting: str
    baseline: str
    """Level of the setting in the baseline."""
    level: str

    @override
    def described(self) -> Mapping[str, str]:
        return {**super().described(), "load": self.spec.workload, "setting": self.setting, "level": self.level}

    @override
    def cost_keys(self) -> Sequence[str]:
        loaded = f"{self.spec.workload} for {self.spec.kill.after:g} s on {self.spec.storage}"
        return [f"{loaded}, {self.spec.dataset.server}", loaded]


class Settings(CrashExperiment[Factors, PlannedChange, PlannedRecovery]):
    """Loads and recoveries with one setting changed each."""

    question = "Which settings matter here, each changed alone?"
    group_noun = Noun("load", "loads")
    new_loads = True

    @classmethod
    @override
    def blocks(cls, factors: Factors, lab: Lab) -> Blocks[PlannedChange, PlannedRecovery]:
        """Return a block for each repeat, with every level of every server once, and the baselines."""
        from redolab.crash.bench.checks import check_memory
        from redolab.workloads.catalogue import workload_catalogue

        check_memory(factors.baselines(1), [])
        servers = [lab.server(name) for name in factors.server]
        blocks = [
            [
                _planned(server, change, factors.storage)
                for server in servers
                for change in _levels(factors, number, server.dialect)
            ]
            for number in range(1, factors.repeat + 1)
        ]
        if not any(blocks):
            reasons = [why for server in servers for why in skipped(factors.varied(), server.dialect).values()]
            raise InvalidInput("no setting is left to be changed", "; ".join(reasons))
        for workload in {group.spec.workload for block in blocks for group, _ in block}:
            workload_catalogue().get(workload).require(lab)
        return blocks

    @classmethod
    @override
    def rows(cls, run: Run) -> Rows:
        """Return the recoveries of a run, each with the setting changed in the load before it. Raises `LabError`."""
        groups: Sequence[PlannedChange] = run.plan(cls.plan_type).groups
        return [
            (record, {**columns, "setting": groups[record.group].setting, "level": groups[record.group].level})
            for record, columns in load_rows(run)
        ]


def _levels(factors: Factors, number: int, dialect: Dialect) -> list[Change]:
    """Return every level of every setting, and the baselines of the loads that they need."""
    baselines = factors.baselines(number)
    wanted = changes(factors.varied(), baselines, dialect)
    loads = {change.load.workload for change in wanted}
    needed = [each for each in explicit(baselines, dialect) if each.workload in loads]
    return [*(Change(BASELINE, BASELINE, BASELINE, each) for each in needed * _BASELINES), *wanted]


def _planned(server: InstalledServer, change: Change, storage: str) -> tuple[PlannedChange, list[PlannedRecovery]]:
    from redolab.crash.wanted import crash_spec

    spec = crash_spec(server, change.load)
    group = PlannedChange(
        server=server.name, spec=spec, setting=change.setting, baseline=change.baseline, level=change.level
    )
    settings = "+".join(f"{each.name}={each.value}" for each in change.load.overrides)
    return group, [PlannedRecovery(storage=storage, pool=spec.instance.buffer_pool, settings=settings)]
