"""Starts an instance on a fresh copy of the tables for each group, and measures a stretch of load for each log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

from redolab.clock import now
from redolab.crashes.dataset import make_dataset
from redolab.errors import WorkloadFailed
from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.machine.processor_use import disturbance, processor_times
from redolab.progress import Stage
from redolab.querylogs.plugin.building import built_slow_log_plugin
from redolab.querylogs.plugin.installing import installed
from redolab.querylogs.plugin.packaged import server_audit_plugin
from redolab.records.dataset import DatasetSpec
from redolab.runs.needs import Needs
from redolab.runs.old_bench import Measured, OldBench
from redolab.runs.plan import Planned
from redolab.runs.store import Run
from redolab.servers.dialects import InstanceRequest, Purpose, Setting
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.states.datasets import Dataset
from redolab.units import GIB, format_duration, format_size
from redolab.workloads.catalogue import workload_catalogue
from redolab.workloads.contract import RunningWorkload
from redolab.workloads.data import Clients, WorkloadMoment

from .factors import TPCC
from .logs import LOGS, Plugin, QueryLog, off, started_with
from .planned import LoggingConditions, LoggingPlan, PlannedInstance, PlannedLog
from .reading import logged_so_far, on_this_machine, statements_so_far
from .stretch import latency_99, mean_rate
from .trial import LoggingTrial

_LOGGED_A_SECOND = 40_000_000
"""Bytes: more than any log here was seen to grow by."""
_LOOK_EVERY = 0.2
_ALLOWED, _THE_LABS_OWN = 151, 10
"""Connections: the default of max_connections of all servers here, and room for the lab's."""
_PLUGINS = {Plugin.SERVER_AUDIT: server_audit_plugin, Plugin.SLOW_LOG: built_slow_log_plugin}


@dataclass(frozen=True, slots=True)
class _Started:
    """An instance that takes load."""

    instance: Instance
    server: InstalledServer
    dataset: Dataset
    kept: str
    """The hash under which the run keeps its settings and variables."""


class LoggingBench(OldBench[PlannedInstance, PlannedLog, LoggingTrial]):
    """The bench of logging configurations under one load."""

    def __init__(self, lab: Lab, plan: LoggingPlan) -> None:
        super().__init__(lab, plan)
        self._lab = lab
        self._plan = plan
        self._conditions: LoggingConditions = plan.conditions
        self._workload = workload_catalogue().get(TPCC)
        self._of_instance = ExitStack()
        self._started: _Started | None = None

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        """The tables, a copy of them, its log, and what a stretch logs."""
        pools = [self._plan.groups[self._plan.steps[position].group].cell.pool for position in positions]
        conditions = self._conditions
        logged = round(_LOGGED_A_SECOND * (conditions.seconds + conditions.settling))
        return Needs(
            memory=max(pools),
            memory_for=f"a buffer pool of {format_size(max(pools))}",
            disk={self._lab.home: 3 * self._tables + conditions.log_size + logged + GIB},
            disk_for={self._lab.home: f"{conditions.warehouses} warehouses, a copy of them, and what is logged"},
            remedy="choose a smaller POOL or fewer WAREHOUSES",
        )

    @property
    def _tables(self) -> int:
        return self._conditions.warehouses * (self._workload.bytes_per_warehouse or 0)

    @contextmanager
    @override
    def opened(self, run: Run) -> Iterator[None]:
        """At its end no instance is left."""
        with self._of_instance:
            yield

    @override
    def make(self, group: int, run: Run) -> str:
        """An instance with the tables in its pool, as far as they fit."""
        planned = self._plan.groups[group]
        server = self._lab.server(planned.cell.server)
        dataset = make_dataset(self._lab, self._lab.home, server, self._workload, self._spec(server))
        logs = [LOGS[self._plan.steps[position].step.log] for position in self._plan.positions(group)]
        plugins = [_PLUGINS[log.plugin](self._lab, server) for log in logs if log.plugin is not None]
        folder = self._lab.home / "instances" / f"{server.name}-logging"
        with ExitStack() as stack:
            what = f"the instance of {server.name} for the logging experiment"
            stack.enter_context(self._lab.journal.making(folder, what))
            prepare_folder(server, folder)
            with self._lab.progress.stage(f"copying the tables ({format_size(dataset.size)})", "copy"):
                copies.copy_folder(dataset.folder / DATA, folder / DATA, durable=False)
                for log_file in server.dialect.old_log_files:
                    files.remove(folder / DATA / log_file)
            request = self._request(planned, folder, plugins)
            with self._lab.progress.stage(f"starting {server.name} and filling its pool", "start") as stage:
                log = run.log(f"{group:03}-{server.name}")
                instance = stack.enter_context(Instance.start(server, folder, request, log))
                instance.wait_ready()
                with instance.answering(), instance.connections.connect() as connection:
                    kept = run.keep_once(instance.used(connection))
                    _do(instance, off(server.dialect))
                self._started = _Started(instance, server, dataset, kept)
                with self._load(planned.cell.connections) as running:
                    self._watch(running, self._conditions.warm_up, stage)
            self._of_instance.push(stack.pop_all())
        return ""

    @override
    def measure_at(
        self,
        position: int,
        planned: Planned[PlannedLog],
        name: str,
        run: Run,
        keep: Callable[[Measured[LoggingTrial]], None],
    ) -> None:
        started = self._started
        assert started is not None
        cell, log = self._plan.groups[planned.group].cell, LOGS[planned.step.log]
        title = f"{cell.server} with {cell.connections} clients: {log.about}"
        with self._lab.progress.stage(title, "measure") as stage, _logging(started, log):
            trial = self._measured(started, planned, log, stage)
            stage.outcome = f"{trial.new_orders_per_minute:,.0f} NOTPM"
        keep(Measured(trial))

    @override
    def release(self, group: int, name: str) -> None:
        """What was written is in no other instance, so it may end at once."""
        self._started = None
        self._of_instance.close()

    def _measured(self, started: _Started, planned: Planned[PlannedLog], log: QueryLog, stage: Stage) -> LoggingTrial:
        cell, instance = self._plan.groups[planned.group].cell, started.instance
        with self._load(cell.connections) as running, instance.connections.connect() as connection:
            self._watch(running, self._conditions.settling, stage)
            others, used = processor_times(), instance.cpu_use()
            logged, statements, began = logged_so_far(connection, instance, log), statements_so_far(connection), now()
            moments = self._watch(running, self._conditions.seconds, stage)
            ended, used_then, others_then = now(), instance.cpu_use(), processor_times()
            statements_then = statements_so_far(connection)
            logged_then = logged_so_far(connection, instance, log)
        counted = [each for each in moments if began.monotonic < each.monotonic <= ended.monotonic]
        if not counted:
            raise WorkloadFailed(
                f"{cell.server} ended no transaction within {format_duration(self._conditions.seconds)}",
                "see its log in the run's folder",
            )
        bytes_then, lines_then = logged_then
        return LoggingTrial(
            cell=cell,
            version=started.server.version,
            log=log.name,
            seconds=ended.monotonic - began.monotonic,
            new_orders_per_minute=60 * mean_rate([each.new_orders_per_second or 0.0 for each in counted]),
            latency_99_ms=latency_99(counted),
            failed=mean_rate([each.errors_per_second or 0.0 for each in counted]),
            statements=statements_then - statements,
            logged_bytes=None if bytes_then is None else bytes_then - (logged[0] or 0),
            logged_lines=None if lines_then is None else lines_then - (logged[1] or 0),
            server_seconds=None if used is None or used_then is None else used_then.seconds - used.seconds,
            instance=started.kept,
            disturbance=disturbance(others, others_then),
        )

    @contextmanager
    def _load(self, connections: int) -> Iterator[RunningWorkload]:
        started = self._started
        assert started is not None
        output = started.instance.folder / "clients.log"
        files.remove(output)
        data, clients = started.dataset.spec.data, Clients(connections=connections)
        with self._workload.run(self._lab.tools, started.instance, data, clients, output) as running:
            yield running

    def _watch(self, running: RunningWorkload, seconds: float, stage: Stage) -> list[WorkloadMoment]:
        """What the clients report within so many seconds."""
        assert self._started is not None
        moments: list[WorkloadMoment] = []
        began = now().monotonic
        while (passed := now().monotonic - began) < seconds:
            time.sleep(min(_LOOK_EVERY, seconds - passed))
            running.check_running()
            self._started.instance.check_running()
            moments += running.moments()
            if moments:
                rate = 60 * (moments[-1].new_orders_per_second or 0.0)
                stage.advance(passed, seconds, f"{rate:,.0f} NOTPM")
        return moments

    def _spec(self, server: InstalledServer) -> DatasetSpec:
        return DatasetSpec(
            server=server.name,
            version=server.version,
            size=self._tables,
            data=self._workload.data(self._tables),
            open_transaction_rows=0,
        )

    def _request(self, planned: PlannedInstance, folder: Path, plugins: Sequence[Path]) -> InstanceRequest:
        settings = (*started_with(LOGS[planned.started_for]), *_room_for(planned.cell.connections))
        if plugins:
            settings += (installed(folder, plugins),)
        return InstanceRequest(
            purpose=Purpose.PRODUCTION,
            log_size=self._conditions.log_size,
            buffer_pool=planned.cell.pool,
            network=True,
            overrides=settings,
        )


def _room_for(connections: int) -> tuple[Setting, ...]:
    """Clients of one stretch may still be leaving while as many of the next arrive: more than servers allow by themselves."""
    needed = 2 * connections + _THE_LABS_OWN
    if needed <= _ALLOWED:
        return ()
    return (Setting("max_connections", str(needed), "clients of two stretches, and the lab"),)


@contextmanager
def _logging(started: _Started, log: QueryLog) -> Iterator[None]:
    """While in it: new connections are logged so. After it the log is off, and what it wrote is gone."""
    dialect = started.server.dialect
    before = [f"INSTALL SONAME '{log.plugin}'"] if log.plugin is not None else []
    _do(started.instance, [*before, *log.statements(dialect)])
    try:
        yield
    finally:
        if started.instance.status is None:
            after = [f"UNINSTALL SONAME '{log.plugin}'"] if log.plugin is not None else []
            _do(started.instance, [*off(dialect), *after, *_emptied(log)])
        if log.file is not None:
            files.remove(on_this_machine(started.instance, log.file))


def _emptied(log: QueryLog) -> list[str]:
    return ["TRUNCATE TABLE mysql.slow_log"] if log.name == "table" else []


def _do(instance: Instance, statements: Sequence[str]) -> None:
    with instance.answering(), instance.connections.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
