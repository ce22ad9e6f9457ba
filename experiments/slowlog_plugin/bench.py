"""One instance for each group of the plan, and on it a stretch of the shortest statements for each step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from pymysql.connections import Connection
from typing_extensions import override

from redolab.bench.kept_server import KeptServer
from redolab.clock import now
from redolab.errors import LabError
from redolab.lab import Lab
from redolab.machine import files, mounts, processes
from redolab.machine.processes import Command
from redolab.querylogs.plugin.building import built_slow_log_plugin
from redolab.querylogs.plugin.installing import installed
from redolab.runs.needs import Needs
from redolab.runs.old_bench import Measured, OldBench
from redolab.runs.plan import Plan, Planned, PlannedGroup, PlannedStep
from redolab.runs.store import Run
from redolab.servers.dialects import InstanceRequest, Purpose, Setting
from redolab.servers.initialise import initialise
from redolab.servers.install import InstalledServer
from redolab.servers.instance import Instance
from redolab.units import GIB, MIB, format_size
from redolab.workloads.data import DATABASE

from .arms import Arm, Place
from .load import ask, asking
from .trial import PluginTrial
from .ways import Counted, Logging, log_folder

_POOL = 128 * MIB
_LOG = 96 * MIB
_DATA = 512 * MIB
_A_SECOND = 40 * MIB
"""That a log of all statements grows by, at most."""
_TMPFS = 8 * GIB
_WARM_UP = 1
_MORE_CONNECTIONS = 20
_NEVER = 1_000_000
"""Seconds: as long_query_time it keeps the lab's own statements out of every log."""
_TO_NOTICE = 20.0
"""Seconds that clients may take to see that their server has gone."""


class PlannedInstance(PlannedGroup, frozen=True, kw_only=True):
    """An instance that is started for some stretches of a block."""

    server: str
    block: int
    schema: bool = False
    """With performance_schema=ON."""
    killed: Arm | None = None
    """The way of logging under which it is killed."""

    @override
    def described(self) -> Mapping[str, str]:
        kind = f"killed, {self.killed}" if self.killed else "performance_schema" if self.schema else "measured"
        return {"server": self.server, "block": str(self.block), "instance": kind}

    @override
    def cost_keys(self) -> Sequence[str]:
        return [self.server]


class PlannedStretch(PlannedStep, frozen=True, kw_only=True):
    """A stretch of statements under one way of logging."""

    arm: Arm
    place: Place
    connections: int
    seconds: int

    @override
    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """They all take about as long."""
        return [f"{self.arm} for {self.seconds} s", f"statements for {self.seconds} s"]


class PluginConditions(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for the whole run; sizes in bytes."""

    buffer: int


PluginPlan: TypeAlias = Plan[PlannedInstance, PlannedStretch, PluginConditions]


@dataclass(frozen=True, slots=True)
class _Server:
    """A server with a data directory."""

    server: InstalledServer
    folder: Path
    plugin_dir: Setting


@dataclass(frozen=True, slots=True)
class _Started:
    """An instance that takes statements."""

    instance: Instance
    connection: Connection
    kept: str


class PluginBench(OldBench[PlannedInstance, PlannedStretch, PluginTrial]):
    """Starts an instance for each group and has it asked for each step."""

    brief = True

    def __init__(self, lab: Lab, plan: PluginPlan) -> None:
        super().__init__(lab, plan)
        self._lab = lab
        self._plan = plan
        self._kept = KeptServer(lab, "slowlog-plugin", self._made)
        self._started: _Started | None = None

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        logged = max(planned.step.seconds + _WARM_UP for planned in self._plan.steps) * _A_SECOND
        in_memory = logged if any(planned.step.place is Place.TMPFS for planned in self._plan.steps) else 0
        home = self._lab.home
        return Needs(
            memory=_POOL + in_memory,
            memory_for=f"a buffer pool of {format_size(_POOL)}" + (", and a log on tmpfs" if in_memory else ""),
            disk={home: _DATA + _LOG + logged},
            disk_for={home: "a server and its log"},
            remedy="choose fewer SECONDS",
        )

    @contextmanager
    @override
    def opened(self, run: Run) -> Iterator[None]:
        """At its end no instance and no data directory is left."""
        with self._kept.opened():
            yield

    @override
    def make(self, group: int, run: Run) -> str:
        planned = self._plan.groups[group]
        on = self._kept.of(planned.server)
        schema = Setting("performance_schema", "ON", "what its digests cost") if planned.schema else None
        request = _request(self._most_connections(), on.plugin_dir, *([schema] if schema else []))
        name = f"{planned.server}-{planned.block}{'-schema' if planned.schema else ''}"
        with self._lab.progress.stage(f"starting {planned.server}", "start"), ExitStack() as stack:
            log = run.log(f"{name}-killed-{planned.killed}" if planned.killed else name)
            instance = stack.enter_context(Instance.start(on.server, on.folder, request, log))
            instance.wait_ready()
            stack.enter_context(instance.answering())
            connection = stack.enter_context(instance.connections.connect())
            with connection.cursor() as cursor:
                cursor.execute(f"SET SESSION long_query_time = {_NEVER}")
                cursor.execute(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
            self._started = _Started(instance, connection, run.keep_once(instance.used(connection)))
            self._kept.take(stack)
        return ""

    @override
    def measure_at(
        self,
        position: int,
        planned: Planned[PlannedStretch],
        name: str,
        run: Run,
        keep: Callable[[Measured[PluginTrial]], None],
    ) -> None:
        started = self._started
        assert started is not None
        group, step = self._plan.groups[planned.group], planned.step
        on = self._kept.of(group.server)
        buffer = self._plan.conditions.buffer if step.arm is Arm.BUFFERED else 0
        logging = Logging(step.arm, step.place, buffer, on.folder, started.connection)
        title = f"{on.server.name}, {step.arm}, {step.connections} clients"
        with self._lab.progress.stage(title, "measure", brief=True):
            trial = PluginTrial(
                server=on.server.name,
                version=on.server.version,
                arm=step.arm,
                place=step.place,
                connections=step.connections,
                block=group.block,
                buffer=buffer,
                instance=started.kept,
                **(self._killed if group.killed else self._asked)(started, logging, step),
            )
        keep(Measured(trial))

    @override
    def release(self, group: int, name: str) -> None:
        """The instance is shut down cleanly, as the next starts on its data directory."""
        assert self._started is not None
        started, self._started = self._started, None
        if self._plan.groups[group].killed:
            self._kept.end(started.instance)
        else:
            self._kept.shut_down(started.instance)

    def _asked(self, started: _Started, logging: Logging, step: PlannedStretch) -> dict[str, Any]:
        instance = started.instance
        output = instance.folder / "clients.log"

        def asked(seconds: int) -> Any:
            return ask(self._lab.tools, instance.folder, connections=step.connections, seconds=seconds, output=output)

        logging.begin()
        asked(_WARM_UP)
        logging.warmed()
        executed, cpu = _selects(started.connection), instance.cpu_use()
        found = asked(step.seconds)
        used = instance.cpu_use()
        executed = _selects(started.connection) - executed
        counted = logging.counted()
        logging.end()
        return {
            "seconds": found.seconds,
            "statements": found.statements,
            "executed": executed,
            "p95_ms": found.percentile_ms(0.95),
            "p99_ms": found.percentile_ms(0.99),
            "server_cpu": None if cpu is None or used is None else used.seconds - cpu.seconds,
            **_as_fields(counted),
        }

    def _killed(self, started: _Started, logging: Logging, step: PlannedStretch) -> dict[str, Any]:
        instance = started.instance
        answers = instance.folder / "answers"
        files.remove(answers)
        files.make_folder(answers)
        logging.begin()
        logging.warmed()
        with asking(
            self._lab.tools,
            instance.folder,
            connections=step.connections,
            seconds=step.seconds + round(_TO_NOTICE),
            output=instance.folder / "clients.log",
            answers=answers,
        ) as clients:
            clients.wait(step.seconds)
            deadline = instance.kill().monotonic + _TO_NOTICE
            while len(_said(answers)) < step.connections and now().monotonic < deadline:
                time.sleep(0.05)
        said = _said(answers)
        if len(said) != step.connections:
            raise LabError(f"only {len(said)} of {step.connections} clients say how many answers they had")
        counted = logging.in_file()
        logging.remove()
        return {
            "seconds": float(step.seconds),
            "statements": sum(said),
            "executed": sum(said),
            "p95_ms": None,
            "p99_ms": None,
            "server_cpu": None,
            "killed": True,
            **_as_fields(counted),
        }

    def _made(self, server: InstalledServer, folder: Path, stack: ExitStack) -> _Server:
        plugin_dir = installed(folder, [built_slow_log_plugin(self._lab, server)])
        with self._lab.progress.stage(f"making a data directory of {server.name}", "initialise"):
            initialise(server, folder, _request(0, plugin_dir))
        for place in {planned.step.place for planned in self._plan.steps} - {Place.NOWHERE}:
            _make_place(server, folder / log_folder(place), place)
            if place is Place.TMPFS:
                stack.callback(mounts.unmount, folder / log_folder(place))
        return _Server(server, folder, plugin_dir)

    def _most_connections(self) -> int:
        return max(planned.step.connections for planned in self._plan.steps) + _MORE_CONNECTIONS


def _make_place(server: InstalledServer, folder: Path, place: Place) -> None:
    owner = server.sandbox.owner()
    files.make_folder(folder, mode=0o700, owner=owner)
    if place is Place.TMPFS:
        options = f"size={_TMPFS},mode=700" + ("" if owner is None else f",uid={owner},gid={owner}")
        processes.run(Command(["mount", "-t", "tmpfs", "-o", options, "redolab", str(folder)]))


def _request(connections: int, *overrides: Setting) -> InstanceRequest:
    all_logged = [
        Setting("long_query_time", "0", "every statement is logged"),
        Setting("slow_query_log", "0", "it is switched on for the stretches that measure it"),
    ]
    if connections:
        all_logged.append(Setting("max_connections", str(connections), "so many clients and the lab"))
    return replace(
        InstanceRequest(purpose=Purpose.PRODUCTION, log_size=_LOG, buffer_pool=_POOL),
        overrides=(*all_logged, *overrides),
    )


def _selects(connection: Connection) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Com_select'")
        row: Any = cursor.fetchone()
        return int(row[1])


def _said(answers: Path) -> list[int]:
    """How many answers clients had, of those that have seen that their server has gone."""
    return [int((answers / name).read_text()) for name in files.names(answers) if name.isdigit()]


def _as_fields(counted: Counted) -> dict[str, Any]:
    return {
        "lines": counted.lines,
        "cut_off": counted.cut_off,
        "log_bytes": counted.log_bytes,
        "dropped": counted.dropped,
    }
