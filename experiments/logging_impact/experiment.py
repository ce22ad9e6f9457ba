"""The experiment logging-impact: one load under every kind of query log."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from typing_extensions import override

from redolab.crash.bench.factors import check_log_sizes
from redolab.disks.profiles import HOME
from redolab.errors import InvalidInput, WorkloadFailed
from redolab.machine import files
from redolab.machine.facts import Disturbance
from redolab.report.intervals import median_of_known
from redolab.report.quantities import Quantity, quantity
from redolab.runs.bench import GroupContext, StepContext
from redolab.runs.experiment import Experiment, Noun
from redolab.runs.factors import one_of, whole_number
from redolab.runs.needs import Needs
from redolab.runs.options import Option
from redolab.runs.plan import PlannedGroup, PlannedStep
from redolab.runs.schema import Trial
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.units import GIB, MIB, format_duration, parse_duration, parse_size

from .logs import LOGS, NONE, QueryLog, off

if TYPE_CHECKING:
    from redolab.crash.bench.started_server import StartedServer
    from redolab.crash.bench.watched_load import WatchedLoad
    from redolab.crash.dataset_store import Dataset
    from redolab.workloads.contract import Workload

_ALL = "all-logs"
_SHORTEST = 5.0
_LOGGED_A_SECOND = 40_000_000
"""Bytes a second: faster than any log was seen to grow."""
_ALLOWED, _THE_LABS_OWN = 151, 10
"""Connections: the default max_connections of all these servers, and those of the lab itself."""
_STATEMENTS = "SHOW GLOBAL STATUS LIKE 'Questions'"


def _logs(text: str) -> str | tuple[str, ...]:
    return tuple(LOGS) if text == _ALL else one_of("log", lambda: [_ALL, *LOGS])(text)


class Server(PlannedGroup, frozen=True, kw_only=True):
    """A server on a fresh copy of the tables."""

    server: Annotated[str, Option("Servers, with commas.", server_names, "mysql-9,mariadb-11.8")]
    connections: Annotated[int, Option("Numbers of clients, with commas.", whole_number(1, 1024), "20")]
    pool_bytes: Annotated[
        int, Option("Buffer pools, with commas (default: one that holds the tables).", parse_size, None, name="pool")
    ] = msgspec.field(name="pool")
    started_for: str
    """Name of a log that takes the same settings at its start."""

    @override
    def described(self) -> Mapping[str, str]:
        """Return the factors without `started_for`, which follows from the logs."""
        return {name: value for name, value in super().described().items() if name != "started_for"}


class Logging(PlannedStep, frozen=True, kw_only=True):
    """A window of load under one log."""

    log: Annotated[
        str,
        Option(
            f"Logs to compare, with commas; none is always among them, {_ALL} are all that a server has.",
            _logs,
            _ALL,
            name="logs",
        ),
    ]

    @override
    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """Return keys that all logs share: their windows take the same time."""
        return [f"a window under {self.log} on {group[0]}", f"a window on {group[0]}", "a window"]


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of the whole run; times in seconds."""

    warehouses: Annotated[int, Option("Warehouses of TPC-C, about 100M each.", whole_number(1, 1000), "10")]
    log_size: Annotated[int, Option("Redo log.", parse_size, "2G")]
    seconds: Annotated[float, Option("How long each window is measured.", parse_duration, "30s")]
    settling: Annotated[
        float, Option("How long clients run before each window, with the log on.", parse_duration, "4s")
    ]
    warm_up: Annotated[
        float, Option("How long clients run after a start, without a log, to fill the pool.", parse_duration, "20s")
    ]

    @property
    def tables(self) -> int:
        """Bytes of the tables."""
        return self.warehouses * (_tpcc().bytes_per_warehouse or 0)


class LoggingTrial(Trial, frozen=True, kw_only=True):
    """One window of load under one log."""

    version: str
    load_s: float = msgspec.field(name="seconds")
    """Measured seconds."""
    new_orders_per_minute: Annotated[float, Quantity("NOTPM", places=0)]
    """Completed New-Order transactions a minute."""
    latency_99_ms: Annotated[float | None, Quantity("p99", "ms", places=0)]
    """Median over the seconds of a New-Order's 99th percentile; one significant digit (go-tpc)."""
    failed_per_second: float = msgspec.field(name="failed")
    """Transactions a second that ended in an error."""
    statements: int
    """Statements of clients, as the server counts them (`Questions`)."""
    logged_bytes: int | None
    """Growth of the log in bytes; None if it writes no file."""
    logged_lines: int | None
    """Lines of a file, rows of a table, or statements in digests; None if nothing can be counted."""
    server_cpu_s: float | None = msgspec.field(name="server_seconds")
    """CPU time of the server in seconds."""
    instance: str
    """Hash under which the run keeps the server's settings and variables."""
    disturbance: Disturbance | None = None
    """CPU time that others used meanwhile."""

    @property
    @quantity("logged", "MB/s", places=1, scale=1e-6)
    def logged_bytes_per_second(self) -> float | None:
        """Growth of the log in bytes a second."""
        return None if self.logged_bytes is None else self.logged_bytes / self.load_s

    @property
    @quantity("CPU", "µs", places=0, scale=1e6)
    def cpu_s_per_statement(self) -> float | None:
        """CPU time of the server for each statement, in seconds."""
        return None if self.server_cpu_s is None else self.server_cpu_s / self.statements

    @override
    def details(self) -> Mapping[str, object]:
        used = self.disturbance
        return {"others_cpu_s": None if used is None else used.others, "steal_s": None if used is None else used.steal}


@dataclass(frozen=True, slots=True)
class LoadedServer:
    """A server with the tables of TPC-C."""

    started: StartedServer
    tables: Dataset

    @contextmanager
    def logging(self, log: QueryLog) -> Iterator[None]:
        """Turn the log on for new connections during the block; then turn it off, and remove its file or rows."""
        from redolab.servers.sandbox import INSTANCE

        instance = self.started.instance
        self.started.execute(*log.turned_on(instance.server.dialect, INSTANCE))
        try:
            yield
        finally:
            if instance.status is None:
                self.started.execute(*log.turned_off(instance.server.dialect))
            if log.file:
                files.remove(instance.folder / log.file)


class LoggingImpact(Experiment[Server, Logging, Conditions, LoadedServer, LoggingTrial]):
    """Loads under one query log after another, in blocks that have each log once."""

    question = "What does logging queries cost in throughput and latency, log by log?"
    group_noun = Noun("instance", "instances")
    step_noun = Noun("load", "loads")
    repeat = "9"
    repeats_groups = True

    @classmethod
    @override
    def cells(cls, factors: Any) -> Mapping[Server, Sequence[Logging]]:
        """Return an instance for every set of start settings, with the logs that are measured on it."""
        from redolab.crash.bench.checks import check_lasts

        conditions, asked = cls.conditions_from(factors), list(dict.fromkeys([NONE, *factors.logs]))
        check_lasts("a window", conditions.seconds, _SHORTEST)
        check_log_sizes(factors.server, [conditions.log_size])
        # Leave room for the rows that TPC-C adds while it runs.
        pools = factors.pool or (conditions.tables * 3 // 2 + 256 * MIB,)
        cells: dict[Server, list[Logging]] = {}
        for server, pool, connections in itertools.product(factors.server, pools, factors.connections):
            dialect = server_catalogue().get(server).dialect()
            had = [log for log in asked if LOGS[log].why_not(dialect) is None]
            if had == [NONE] != asked:
                problem = f"{server} has none of these logs ({', '.join(asked[1:])})"
                raise InvalidInput(problem, "see docs/query-logs/cost.md")
            for log in had:
                first = next(each for each in had if LOGS[each].at_start == LOGS[log].at_start)
                group = Server(server=server, connections=connections, pool_bytes=pool, started_for=first)
                cells.setdefault(group, []).append(Logging(log=log))
        return cells

    @override
    def check(self, positions: Sequence[int]) -> None:
        _tpcc().require(self.lab)

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        conditions, home = self.conditions, self.lab.home
        pool = max(self.plan.groups[self.plan.steps[position].group].pool_bytes for position in positions)
        logged = round(_LOGGED_A_SECOND * (conditions.seconds + conditions.settling))
        return Needs(
            memory=pool,
            disk={home: 3 * conditions.tables + conditions.log_size + logged + GIB},
            disk_for={home: f"{conditions.warehouses} warehouses, a copy of them, and what is logged"},
            remedy="choose a smaller POOL or fewer WAREHOUSES",
        )

    @contextmanager
    @override
    def group(self, group: Server, at: GroupContext) -> Iterator[LoadedServer]:
        from redolab.crash.bench.started_server import server_folder, server_on_dataset
        from redolab.crash.dataset import make_tables
        from redolab.servers.dialects import InstanceRequest, Purpose, Setting
        from redolab.slowlog.plugin.plugin_build import install_plugins

        server = self.lab.server(group.server)
        tables = make_tables(self.lab, server, _tpcc(), self.conditions.tables)
        plugins = {LOGS[self.plan.steps[position].step.log].plugin for position in self.plan.positions(at.group)}
        libraries = [plugin.library(self.lab, server) for plugin in plugins if plugin is not None]
        settings = [*LOGS[group.started_for].at_start]
        # Clients of one window may still be leaving while those of the next arrive.
        if (needed := 2 * group.connections + _THE_LABS_OWN) > _ALLOWED:
            settings.append(Setting("max_connections", str(needed), "clients of two windows, and the lab"))
        name = f"{server.name}-logging"
        with server_folder(self.lab, server, name) as folder:
            if libraries:
                settings.append(install_plugins(folder, libraries))
            request = InstanceRequest(
                purpose=Purpose.PRODUCTION,
                log_size=self.conditions.log_size,
                buffer_pool=group.pool_bytes,
                network=True,
                overrides=tuple(settings),
            )
            with server_on_dataset(self.lab, at.run, server, folder, request, tables) as started:
                made = LoadedServer(started, tables)
                started.execute(*off(server.dialect))
                with (
                    self.lab.progress.stage(f"filling the pool of {server.name}", "start") as stage,
                    self._load(group, made) as load,
                ):
                    load.watch(self.conditions.warm_up, stage)
                yield made

    @override
    def measure(self, group: Server, step: Logging, made: LoadedServer, at: StepContext[LoggingTrial]) -> LoggingTrial:
        from redolab.clock import now
        from redolab.machine.processor_use import disturbance, processor_times

        log, started, instance = LOGS[step.log], made.started, made.started.instance
        title = f"{group.server} with {group.connections} clients: {log.about}"
        with (
            self.lab.progress.stage(title, "measure") as stage,
            instance.answering(),
            made.logging(log),
            self._load(group, made) as load,
        ):
            load.watch(self.conditions.settling, stage)
            others, cpu = processor_times(), instance.cpu_use()
            logged, statements, began = log.written(started), started.value(_STATEMENTS), now().monotonic
            load.watch(self.conditions.seconds, stage)
            ended, cpu_then, others_then = now().monotonic, instance.cpu_use(), processor_times()
            statements_then, logged_then = started.value(_STATEMENTS), log.written(started)
        counted = [each for each in load.reports if began < each.monotonic <= ended]
        if not counted:
            raise WorkloadFailed(
                f"{group.server} ended no transaction within {format_duration(self.conditions.seconds)}",
                "see its log in the run's folder",
            )
        logged_bytes, logged_lines = (
            after if after is None else after - (before or 0) for before, after in zip(logged, logged_then, strict=True)
        )
        return LoggingTrial(
            version=instance.server.version,
            load_s=ended - began,
            new_orders_per_minute=60 * statistics.fmean(each.new_orders_per_second or 0.0 for each in counted),
            latency_99_ms=median_of_known([each.latency_99_ms for each in counted]),
            failed_per_second=statistics.fmean(each.errors_per_second or 0.0 for each in counted),
            statements=statements_then - statements,
            logged_bytes=logged_bytes,
            logged_lines=logged_lines,
            server_cpu_s=None if cpu is None or cpu_then is None else cpu_then.seconds - cpu.seconds,
            instance=started.digest,
            disturbance=disturbance(others, others_then),
        )

    @contextmanager
    def _load(self, group: Server, made: LoadedServer) -> Iterator[WatchedLoad]:
        from redolab.crash.bench.watched_load import WatchedLoad
        from redolab.disks.place import Place
        from redolab.workloads.data import Clients

        instance, clients = made.started.instance, Clients(connections=group.connections)
        output = instance.folder / "clients.log"
        files.remove(output)
        with _tpcc().run(self.lab.tools, instance, made.tables.spec.data, clients, output) as running:
            yield WatchedLoad(made.started, Place(name=HOME, folder=instance.folder), running)


def _tpcc() -> Workload:
    from redolab.workloads.catalogue import workload_catalogue

    return workload_catalogue().get("tpcc")
