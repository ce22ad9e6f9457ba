"""The experiment slowlog-plugin: logging every statement, by the server and by the plugin without a lock."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from typing_extensions import override

from redolab.errors import InvalidInput, LabError
from redolab.machine import files
from redolab.report.quantities import Quantity, quantity
from redolab.runs.bench import GroupContext, StepContext
from redolab.runs.experiment import Experiment, Noun
from redolab.runs.factors import one_of, whole_number
from redolab.runs.needs import Needs
from redolab.runs.options import Option
from redolab.runs.plan import PlannedGroup, PlannedStep
from redolab.runs.schema import Finding, Trial
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.slowlog.plugin import check_has_plugin
from redolab.units import GIB, MIB, format_size, parse_size

from .ways import Arm, LogPlace, LogUnderTest

if TYPE_CHECKING:
    from redolab.crash.bench.started_server import StartedServer
    from redolab.servers.install import InstalledServer

_ALL = "all"
_POOL = 128 * MIB
_LOG = 96 * MIB
_DATA = 512 * MIB
_A_SECOND = 40 * MIB
"""Fastest growth of a log of all statements, in bytes a second."""
_TMPFS = 8 * GIB
_WARM_UP = 1
_MORE_CONNECTIONS = 20
_LARGEST_BUFFER = 16 * MIB
_KILLED_WITH = 16
"""Clients while a server is killed."""
_TO_CONNECT = 60.0
"""Longest wait in seconds until all clients are connected."""
_TO_NOTICE = 20.0
"""Longest wait in seconds until clients notice that their server is gone."""
_SILENT = "SET SESSION long_query_time = 1000000"
"""Statement that keeps the lab's own queries out of all logs."""
_SELECTS = "SHOW GLOBAL STATUS LIKE 'Com_select'"


def _arms(text: str) -> Arm | tuple[Arm, ...]:
    return tuple(Arm) if text == _ALL else Arm(one_of("way of logging", lambda: [_ALL, *Arm])(text))


def _place(text: str) -> LogPlace:
    return LogPlace(one_of("place for a log", lambda: [LogPlace.TMPFS, LogPlace.DISK])(text))


class Server(PlannedGroup, frozen=True, kw_only=True):
    """A server that runs for some windows."""

    server: Annotated[str, Option("MariaDB servers, with commas.", server_names, "mariadb-10.11,mariadb-11.8")]
    schema: bool = False
    """True if it is started with performance_schema=ON."""
    killed: Arm | None = None
    """Way of logging under which it is killed; None if it is not."""

    @override
    def described(self) -> Mapping[str, str]:
        return {"server": self.server} | ({"killed": "on"} if self.killed else {})


class SelectWindow(PlannedStep, frozen=True, kw_only=True):
    """A window of the shortest statements under one way of logging."""

    arm: Annotated[Arm, Option(f"Ways of logging, with commas: {', '.join(Arm)}; {_ALL}: every one.", _arms, _ALL)]
    log_on: Annotated[
        LogPlace,
        Option("Where the log's file lies: tmpfs, disk, or both with a comma.", _place, "tmpfs,disk", name="log"),
    ] = msgspec.field(name="place")
    connections: Annotated[int, Option("Numbers of clients, with commas.", whole_number(1, 4096), "1,16,256")]
    seconds: Annotated[int, Option("Seconds for which each is measured.", whole_number(1, 3600), "10", single=True)]

    @override
    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """Return keys that all arms share: their windows take about as long."""
        return [f"{self.arm} for {self.seconds} s", f"statements for {self.seconds} s"]


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of the whole run; sizes in bytes."""

    buffer: Annotated[int, Option("Bytes that a connection gathers in the arm 'buffered'.", parse_size, "64K")]
    kill: Annotated[bool, Option("Also kill servers, to count the lines that a buffer loses.", None, "on")] = True


class PluginTrial(Trial, frozen=True, kw_only=True):
    """One window of statements."""

    version: str
    statements_s: float = msgspec.field(name="seconds")
    """Seconds for which clients sent statements."""
    statements: int
    """Number of answers that clients got."""
    executed: int
    """Statements as the server counts them (`Com_select`); the answers if it was killed."""
    p95_ms: float | None = None
    p99_ms: Annotated[float | None, Quantity("p99", "ms")] = None
    """Percentile of latency by sysbench's histogram, as `p95_ms`, in milliseconds; None if the server was killed."""
    server_cpu_s: float | None = msgspec.field(name="server_cpu", default=None)
    """CPU time of the server in seconds; None if it was killed."""
    lines: int | None
    """Whole statements in the log; None without a log."""
    cut_off: int
    """Records that are cut off in the log."""
    log_bytes: int | None
    """Size of the log's file in bytes; None without a file."""
    dropped: int | None
    """Lines that the plugin reports as dropped; None for other ways of logging."""
    buffer_bytes: int = msgspec.field(name="buffer")
    """Bytes that a connection gathers."""
    killed: bool = False
    instance: str = ""
    """Hash under which the run keeps the server's settings and variables."""

    @property
    @quantity("statements/s", places=0)
    def per_second(self) -> float:
        """Statements answered in a second."""
        return self.statements / self.statements_s

    @property
    @quantity("CPU", "µs", places=1)
    def cpu_us(self) -> float | None:
        """CPU time of the server for each statement, in microseconds."""
        return None if self.server_cpu_s is None else 1e6 * self.server_cpu_s / max(1, self.executed)

    @property
    def lost(self) -> int | None:
        """Number of statements that the log lacks."""
        return None if self.lines is None else self.executed - self.lines


class SlowlogPlugin(Experiment[Server, SelectWindow, Conditions, "StartedServer", PluginTrial]):
    """Windows of short statements under each way of logging."""

    question = (
        "What does logging every statement cost: in the server's own slow query log, or by a plugin without a lock?"
    )
    group_noun = Noun("instance", "instances")
    step_noun = Noun("trial", "trials")
    brief = True
    repeat = "5"
    repeats_groups = True

    @classmethod
    @override
    def cells(cls, factors: Any) -> Mapping[Server, Sequence[SelectWindow]]:
        """Return for each server an instance with performance_schema, one without, and one for each kill."""
        if not 1 <= factors.buffer <= _LARGEST_BUFFER:
            raise InvalidInput("a buffer has 1 byte to 16M", "choose another BUFFER")
        cells: dict[Server, list[SelectWindow]] = {}
        arms = dict.fromkeys([Arm.NONE, *factors.arm])
        for server in factors.server:
            check_has_plugin(server, server_catalogue().get(server).dialect())
            for arm in arms:
                places = factors.log if arm.has_file else (LogPlace.NOWHERE,)
                cells.setdefault(Server(server=server, schema=arm.has_schema), []).extend(
                    SelectWindow(arm=arm, log_on=place, connections=connections, seconds=factors.seconds)
                    for place, connections in itertools.product(places, factors.connections)
                )
                if arm.is_plugin and factors.kill:
                    step = SelectWindow(
                        arm=arm, log_on=factors.log[-1], connections=_KILLED_WITH, seconds=factors.seconds
                    )
                    cells[Server(server=server, killed=arm)] = [step]
        return cells

    @override
    def check(self, positions: Sequence[int]) -> None:
        from redolab.machine import processes
        from redolab.slowlog.plugin.plugin_build import built_slow_log_plugin

        steps = [self.plan.steps[position] for position in positions]
        if any(each.step.log_on is LogPlace.TMPFS for each in steps) and not processes.is_root():
            raise InvalidInput("only root can mount a tmpfs", "LOG=disk, or run as root")
        for name in {self.plan.groups[each.group].server for each in steps}:
            if not self.lab.reads_only:
                built_slow_log_plugin(self.lab, self.lab.server(name))

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        logged = max(planned.step.seconds + _WARM_UP for planned in self.plan.steps) * _A_SECOND
        in_memory = logged if any(planned.step.log_on is LogPlace.TMPFS for planned in self.plan.steps) else 0
        return Needs(
            memory=_POOL + in_memory,
            memory_for=f"a buffer pool of {format_size(_POOL)}" + (", and a log on tmpfs" if in_memory else ""),
            disk={self.lab.home: _DATA + _LOG + logged},
            disk_for={self.lab.home: "a server and its log"},
            remedy="choose fewer SECONDS",
        )

    @contextmanager
    @override
    def group(self, group: Server, at: GroupContext) -> Iterator[StartedServer]:
        from redolab.crash.bench.started_server import server_folder, started_server
        from redolab.servers.dialects import InstanceRequest, Purpose, Setting
        from redolab.slowlog.plugin.plugin_build import built_slow_log_plugin, install_plugins
        from redolab.workloads.data import DATABASE

        server, name = self.lab.server(group.server), f"{group.server}-slowlog-plugin"
        steps = [self.plan.steps[position].step for position in self.plan.positions(at.group)]
        with server_folder(self.lab, server, name) as folder:
            for place in {step.log_on for step in steps} - {LogPlace.NOWHERE}:
                _make_log_folder(server, folder / place.folder, place)
            connections = str(max(step.connections for step in steps) + _MORE_CONNECTIONS)
            settings = (
                install_plugins(folder, [built_slow_log_plugin(self.lab, server)]),
                Setting("long_query_time", "0", "every statement is logged"),
                Setting("slow_query_log", "0", "it is switched on for the windows that measure it"),
                Setting("max_connections", connections, "so many clients and the lab"),
                *([Setting("performance_schema", "ON", "what its digests cost")] if group.schema else []),
            )
            request = InstanceRequest(Purpose.PRODUCTION, log_size=_LOG, buffer_pool=_POOL, overrides=settings)
            with started_server(self.lab, at.run, server, folder, request) as started:
                started.execute(_SILENT, f"CREATE DATABASE {DATABASE}")
                yield started

    @override
    def measure(
        self, group: Server, step: SelectWindow, made: StartedServer, at: StepContext[PluginTrial]
    ) -> PluginTrial:
        buffer = self.conditions.buffer if step.arm is Arm.BUFFERED else 0
        logging = LogUnderTest(step.arm, step.log_on, buffer, made)
        title = f"{group.server}, {step.arm}, {step.connections} clients"
        with self.lab.progress.stage(title, "measure", brief=True), made.instance.answering():
            logging.begin()
            measured = (self._measure_kill if group.killed else self._measure_window)(made, logging, step)
        return PluginTrial(
            version=made.instance.server.version,
            buffer_bytes=buffer,
            killed=group.killed is not None,
            instance=made.digest,
            **measured,
        )

    @override
    def findings(self, group: Server, step: SelectWindow, trial: PluginTrial) -> Sequence[Finding]:
        """Return a finding if the log file of a server that was not killed lacks statements."""
        wrong = abs(trial.lost or 0) + trial.cut_off
        if group.killed or not step.arm.has_file or not wrong:
            return ()
        return [
            Finding(what=f"{step.arm} on {group.server}: {wrong:,} of {trial.executed:,} statements are not as logged")
        ]

    def _measure_window(self, made: StartedServer, logging: LogUnderTest, step: SelectWindow) -> dict[str, Any]:
        from .load import run_clients

        run_clients(self.lab.tools, made.instance.folder, step.connections, _WARM_UP)
        logging.warmed()
        executed, cpu = made.value(_SELECTS), made.instance.cpu_use()
        report = run_clients(self.lab.tools, made.instance.folder, step.connections, step.seconds)
        used = made.instance.cpu_use()
        executed = made.value(_SELECTS) - executed
        counted = logging.counted()
        logging.end()
        return {
            "statements_s": report.seconds,
            "statements": report.statements,
            "executed": executed,
            "p95_ms": report.percentile_ms(0.95),
            "p99_ms": report.percentile_ms(0.99),
            "server_cpu_s": None if cpu is None or used is None else used.seconds - cpu.seconds,
            **asdict(counted),
        }

    def _wait_for_answers(self, made: StartedServer) -> None:
        """Wait until clients get answers: they begin together, when all are connected. Raises `LabError`."""
        before, deadline = made.value(_SELECTS), time.monotonic() + _TO_CONNECT
        while made.value(_SELECTS) == before:
            if time.monotonic() > deadline:
                raise LabError(f"the clients were not connected after {_TO_CONNECT:.0f} s")
            time.sleep(0.05)

    def _measure_kill(self, made: StartedServer, logging: LogUnderTest, step: SelectWindow) -> dict[str, Any]:
        from .load import answers_by_client, running_clients

        instance, answers = made.instance, made.instance.folder / "answers"
        files.make_folder(answers)
        logging.warmed()
        longest = step.seconds + round(_TO_CONNECT + _TO_NOTICE)
        with running_clients(
            self.lab.tools, instance.folder, step.connections, longest, f"--answers={answers}"
        ) as clients:
            self._wait_for_answers(made)
            clients.process.wait(step.seconds)
            deadline = instance.kill().monotonic + _TO_NOTICE
            while len(counts := answers_by_client(answers)) < step.connections and time.monotonic() < deadline:
                time.sleep(0.05)
        if len(counts) != step.connections:
            raise LabError(f"only {len(counts)} of {step.connections} clients say how many answers they had")
        return {
            "statements_s": float(step.seconds),
            "statements": sum(counts),
            "executed": sum(counts),
            **asdict(logging.in_file()),
        }


def _make_log_folder(server: InstalledServer, folder: Path, place: LogPlace) -> None:
    """Make a folder for logs, on a tmpfs if asked; it is unmounted with the instance's folder."""
    from redolab.machine import processes
    from redolab.machine.processes import Command

    owner = server.sandbox.owner()
    files.make_folder(folder, mode=0o700, owner=owner)
    if place is LogPlace.TMPFS:
        options = f"size={_TMPFS},mode=700" + ("" if owner is None else f",uid={owner},gid={owner}")
        processes.run(Command(["mount", "-t", "tmpfs", "-o", options, "redolab", str(folder)]))
