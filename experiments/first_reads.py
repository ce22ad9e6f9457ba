"""The experiment first-reads: random reads of a server that has just recovered, with its buffer pool loaded or not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated

import msgspec
from typing_extensions import override

from redolab.crash.records.kill_rule import KillRule
from redolab.report.quantities import Quantity
from redolab.runs.bench import GroupContext, StepContext
from redolab.runs.experiment import Experiment, Noun
from redolab.runs.factors import whole_number
from redolab.runs.needs import Needs
from redolab.runs.options import Option
from redolab.runs.plan import PlannedGroup, PlannedStep
from redolab.runs.schema import Trial
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.servers.dialects import Purpose
from redolab.servers.extra_settings import LOADS_POOL, settings_from
from redolab.units import parse_duration, parse_size
from redolab.workloads.data import DATABASE, SysbenchTables

if TYPE_CHECKING:
    from redolab.crash.records.crash import CrashImage
    from redolab.crash.wanted import WantedCrash

READS = 1000


class Crash(PlannedGroup, frozen=True, kw_only=True):
    """A crash of a server that dumped its buffer pool right before."""

    server: Annotated[str, Option("Servers, with commas; all for every one.", server_names, "mysql-9,mariadb-11.8")]
    dumped: Annotated[int, Option("innodb_buffer_pool_dump_pct, with commas.", whole_number(1, 100), "25,100")]


class Recovery(PlannedStep, frozen=True, kw_only=True):
    """A recovery of a copy of the crash image, and the reads after it."""

    loads: Annotated[bool, Option("Whether the recovering server loads the dump, with commas.", None, "off,on")]


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of the whole run."""

    log_size: Annotated[int, Option("Redo log size.", parse_size, "256M")]
    dataset: Annotated[int, Option("Size of the tables; the buffer pool holds them all.", parse_size, "1G")]
    kill_after: Annotated[float, Option("Length of the load, which warms the pool.", parse_duration, "1m")]


class Reads(Trial, frozen=True, kw_only=True):
    """The first reads of a server, from ready on."""

    version: str
    reads_s: Annotated[float, Quantity(f"{READS:,} reads", "s", places=3)]
    read_bytes: Annotated[int | None, Quantity("read from disk", "MB", places=0, scale=1e-6)]
    """Bytes that the server read from the disk meanwhile, pages of the dump included; None where that is unknown."""
    ready_s: Annotated[float, Quantity("recovery time", "s")]


class FirstReads(Experiment[Crash, Recovery, Conditions, "CrashImage", Reads]):
    """One client reads random rows as soon as a crashed server is ready: the same rows with and without the load."""

    question = f"How long does a recovered server take for its first {READS:,} reads, with and without a dumped pool?"
    step_noun = Noun("recovery", "recoveries")
    repeats_groups = True

    @classmethod
    @override
    def exists(cls, group: Crash, step: Recovery) -> bool:
        return server_catalogue().get(group.server).dialect().limits_pool_dump

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        from redolab.crash.bench.crashed_server import one_crash_needs

        return one_crash_needs(self.lab, self._wanted(self.plan.groups[0]))

    @override
    def group(self, group: Crash, at: GroupContext) -> AbstractContextManager[CrashImage]:
        from redolab.crash.bench.crashed_server import crashed

        return crashed(self.lab, at.run, self.lab.server(group.server), self._wanted(group))

    @override
    def measure(self, group: Crash, step: Recovery, made: CrashImage, at: StepContext[Reads]) -> Reads:
        from redolab.crash.bench.crashed_server import recovered

        tables, draw = made.spec.dataset.data, random.Random(f"{self.plan.seed} {at.group}")
        assert isinstance(tables, SysbenchTables)
        server = self.lab.server(group.server)
        with recovered(self.lab, at, server, made, settings=LOADS_POOL if step.loads else "") as ready:
            for _ in range(READS):
                table, row = draw.choice(tables.names()), draw.randint(1, tables.rows)
                ready.execute(f"SELECT c FROM {DATABASE}.{table} WHERE id = {row}")
            return Reads(
                version=server.version,
                reads_s=ready.since_ready(),
                read_bytes=ready.read_since_ready(),
                ready_s=ready.ready_s,
            )

    def _wanted(self, group: Crash) -> WantedCrash:
        from redolab.crash.wanted import WantedCrash

        return WantedCrash(
            log_size=self.conditions.log_size,
            dataset=self.conditions.dataset,
            kill=KillRule(after=self.conditions.kill_after),
            purpose=Purpose.PRODUCTION,
            open_transaction_rows=0,
            pool_dump=True,
            overrides=settings_from(f"innodb_buffer_pool_dump_pct={group.dumped}"),
        )
