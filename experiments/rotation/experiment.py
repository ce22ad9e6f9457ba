"""The experiment rotation: a server's slow query log is grown and rotated while clients send statements."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from typing_extensions import override

from redolab.crash.bench.factors import FILE_SYSTEMS, check_own_disk, several_servers, several_storages
from redolab.crash.bench.storage_experiment import StorageConditions, StorageExperiment
from redolab.disks.profiles import ModelledDisk
from redolab.errors import InvalidInput, LabError, WorkloadFailed
from redolab.machine import files
from redolab.report.quantities import Quantity, quantity
from redolab.runs.bench import GroupContext, StepContext
from redolab.runs.experiment import Noun
from redolab.runs.factors import one_of, whole_number
from redolab.runs.needs import Needs
from redolab.runs.options import Option
from redolab.runs.plan import PlannedGroup, PlannedStep
from redolab.runs.schema import Finding, Trial
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import SLOW_LOG, InstanceRequest, Purpose, Setting
from redolab.units import GIB, MIB, format_size, parse_size
from redolab.workloads.data import DATABASE
from redolab.workloads.windows import ReportedWindow, reported_window

from .log_check import SECOND, LogCheck, check_logs, longest_answer_ms, read_logs
from .rotating import ABOUT, FLUSH, WAIT, LogRotation, Method, now_ns

if TYPE_CHECKING:
    from redolab.crash.bench.own_disk import ServerOnDisk
    from redolab.crash.bench.started_server import StartedServer
    from redolab.progress import Stage
    from redolab.workloads.numbered import NumberedLoad

_SMALLEST, _LARGEST = 1 * MIB, 64 * GIB
_MEGABYTE = 1_000_000
_AROUND = 2
"""Seconds of a window before and after a rotation."""
_SPARE = 1.2
_TAIL = 2
"""Seconds of the load after the last window, for late answers."""
_POOL, _REDO = 128 * MIB, 64 * MIB
_DATA = GIB
"""Bytes for the data directory, idle tables and the load's part of the log."""
_KEPT_FOR_ROOT = 1.15
"""Factor for the size of the file system: ext4 reserves a twentieth for root."""
_CACHED = 20
"""Table cache entries for each idle table: MySQL 5.6 and later have up to 16 caches; a connection uses one."""
_USUAL_CACHE = 4000
"""Size of the table cache that MySQL 8.0 and later choose themselves."""
_LEAD = 1.0
"""Seconds from the beginning of a window to the rotation in it."""
_SAMPLED = 2
"""Seconds of logged statements from which the log is then grown."""
_SAMPLE = "sample.log"
_SILENT = "SET SESSION long_query_time = 31536000"
"""Statement that keeps the lab's own queries out of the log."""
_STATUS = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Flush_commands', 'Com_flush', 'Opened_tables', 'Open_tables')"


class Server(PlannedGroup, frozen=True, kw_only=True):
    """A server on a disk of its own."""

    server: Annotated[str, several_servers("mysql-9,mariadb-11.8")]
    storage: Annotated[str, several_storages("gp3-3000")]
    file_system: Annotated[str, FILE_SYSTEMS]


class Rotating(PlannedStep, frozen=True, kw_only=True):
    """A rotation under load, with a window without one before it."""

    log_file: Annotated[int, Option("Sizes of the log that is rotated, with commas.", parse_size, "1G")]
    method: Annotated[
        Method,
        Option(
            "How it is rotated, with commas: " + "; ".join(f"{each}: {about}" for each, about in ABOUT.items()) + ".",
            lambda text: Method(one_of("method", lambda: list(Method))(text)),
            "copytruncate,rename-flush,rename-hup,rm-flush",
        ),
    ]
    held: Annotated[
        bool,
        Option(
            "Whether logging is held meanwhile, and for 2 s before and after, by long_query_time=2000 and log_output=NONE: off, on, or "
            "both with a comma.",
            None,
            "off,on",
        ),
    ]

    @override
    def cost_keys(self, group: Sequence[str]) -> Sequence[str]:
        """Return keys by which all methods have the same cost: the load and the growing of the log decide it."""
        alike = f"rotation of {format_size(self.log_file)}"
        return [f"{alike} on {group[0]}", alike]


class Conditions(StorageConditions, frozen=True, kw_only=True):
    """Conditions of the whole run; times in seconds."""

    clients: Annotated[int, Option("Clients that send point selects.", whole_number(1, 1024), "8")]
    rate: Annotated[int, Option("Point selects a second, of all clients together.", whole_number(1, 1_000_000), "3000")]
    seconds: Annotated[
        int, Option("Seconds of the window without a rotation, and of the one with it.", whole_number(3, 600), "20")
    ]
    warm_up: Annotated[int, Option("Seconds of the load before them.", whole_number(1, 600), "10")]
    tables: Annotated[int, Option("Tables that are open and that no client reads.", whole_number(10, 10_000), "200")]
    check_disks: Annotated[bool, Option("Have fio look at every storage before, once.", None, "on")]

    @property
    def load_s(self) -> int:
        """Seconds that the load takes."""
        return self.warm_up + 2 * self.seconds + _TAIL


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a rotation."""

    name: str
    began_s: float
    """Seconds after the rotation began."""
    seconds: Annotated[float, Quantity("took", "ms", places=1, scale=1000)]
    longest_ms: Annotated[float, Quantity("longest answer", "ms", places=1)]
    """Longest answer to a statement in flight during this part, in milliseconds from when it was sent."""


class TableCounters(msgspec.Struct, frozen=True, kw_only=True):
    """Server status counters of tables; None where the server lacks the variable."""

    flush_commands: int | None = None
    com_flush: int | None = None
    opened_tables: int | None = None
    open_tables: int | None = None


class RotationTrial(Trial, frozen=True, kw_only=True):
    """A rotation, and the windows without and with it."""

    version: str
    log_bytes: int
    """Bytes of the log when the rotation began."""
    without: ReportedWindow
    """Window before the rotation."""
    during: ReportedWindow
    """Window that contains the rotation."""
    parts: tuple[Phase, ...] = msgspec.field(name="phases")
    """Parts of the rotation, in order."""
    rotation_s: float
    """Duration of the rotation in seconds, waits included."""
    check: LogCheck
    before: TableCounters
    """Counters when the clients had begun and idle tables were open."""
    after: TableCounters
    """Counters when the clients were done."""
    idle_tables: int
    """Open tables that no client reads."""
    late_share: float | None
    """Share of the disk model's latencies by which it answered late; None on a disk that is no model."""
    buffered: bool = False
    """True if the modelled disk's file is read through the page cache, which makes the disk faster than intended."""
    instance: str = ""
    """Hash under which the run keeps the server's settings and variables."""

    @property
    @quantity("longest", "ms", places=1)
    def longest_ms(self) -> float:
        """Return the longest time from a statement's due time to its answer, with the rotation, in milliseconds."""
        return self.during.longest_ms

    @property
    @quantity("without", "ms", places=1)
    def longest_without_ms(self) -> float:
        """Return the longest time from a statement's due time to its answer, before the rotation, in milliseconds."""
        return self.without.longest_ms

    @property
    @quantity("more", "ms", places=1)
    def more_ms(self) -> float:
        """Return how much longer, in milliseconds, the slowest statement takes with the rotation than without."""
        return self.during.longest_ms - self.without.longest_ms

    @property
    @quantity("lost", places=0)
    def lost(self) -> int:
        """Statements missing from the logs without a reason."""
        return self.check.lost

    @property
    @quantity("torn", places=0)
    def torn(self) -> int:
        """Torn records in the logs."""
        return self.check.torn

    @property
    @quantity("unlogged", places=0)
    def unlogged(self) -> int:
        """Statements missing because logging was paused."""
        return self.check.unlogged

    @property
    def flushed_tables(self) -> bool | None:
        """Return True if tables were closed that no client read; None if the server does not report its open tables."""
        before, after = self.before.open_tables, self.after.open_tables
        if before is None or after is None:
            return None
        return before - after > self.idle_tables / 2

    def grown(self, name: str) -> int | None:
        """Return by how much a counter grew; None where the server has none."""
        before, after = getattr(self.before, name), getattr(self.after, name)
        return None if before is None or after is None else after - before

    @override
    def details(self) -> Mapping[str, object]:
        counts = ("sent", "logged", "lost_s", "removed", "twice")
        return {
            "per_second": self.during.per_second,
            "per_second_without": self.without.per_second,
            "slow_seconds": self.during.slow_seconds,
            "slow_seconds_without": self.without.slow_seconds,
            **{name: getattr(self.check, name) for name in counts},
            "flushed_tables": self.flushed_tables,
            **{name: self.grown(name) for name in ("flush_commands", "com_flush", "opened_tables")},
            "open_tables_before": self.before.open_tables,
            "open_tables_after": self.after.open_tables,
            "phases": "; ".join(f"{each.name} {each.seconds:.4f} s" for each in self.parts),
            "slowest_phase": max(self.parts, key=lambda each: each.longest_ms).name if self.parts else None,
        }


class Rotation(StorageExperiment[Server, Rotating, Conditions, "ServerOnDisk", RotationTrial]):
    """Rotation of a slow query log under load, checked against the statements sent."""

    question = "What does rotating a slow query log do to a busy server, and what is lost of the log?"
    group_noun = Noun("instance", "instances")
    step_noun = Noun("rotation", "rotations")
    repeat = "6"
    repeats_groups = True

    @classmethod
    @override
    def exists(cls, group: Server, step: Rotating) -> bool:
        dialect = server_catalogue().get(group.server).dialect()
        return step.method is not Method.RENAME_USR1 or dialect.flushes_logs_on_usr1

    @classmethod
    @override
    def refuse(cls, group: Server, step: Rotating, conditions: Conditions) -> None:
        check_own_disk(group.storage, group.file_system)
        profile, seconds = conditions.storages[group.storage], conditions.seconds
        held_s = round(2 * WAIT) * step.held
        if not _SMALLEST <= step.log_file <= _LARGEST:
            raise InvalidInput(
                f"a log of {format_size(step.log_file)} is not rotated",
                f"LOGFILE={format_size(_SMALLEST)} to {format_size(_LARGEST)}",
            )
        if step.held and seconds < (shortest := held_s + _AROUND + 2):
            raise InvalidInput(
                f"logging is held for longer than fits into windows of {seconds} s",
                f"SECONDS={shortest} or more, or HELD=off",
            )
        if step.method is Method.COPYTRUNCATE and isinstance(profile, ModelledDisk):
            mb_s = profile.target().sequential_mb_s
            copied_s = 0.0 if mb_s is None else step.log_file / (mb_s * _MEGABYTE)
            takes = copied_s + held_s + _AROUND
            if copied_s and seconds < takes:
                raise InvalidInput(
                    f"a copy of {format_size(step.log_file)} takes {group.storage} {copied_s:.0f} s or more, which does not fit into "
                    f"windows of {seconds} s",
                    f"SECONDS={math.ceil(_SPARE * takes)}, or a smaller LOGFILE",
                )

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        from redolab.crash.bench.own_disk import server_needs

        largest = max(self.plan.steps[position].step.log_file for position in positions)
        what, remedy = f"a log of {format_size(largest)} with its copy", "choose a smaller LOGFILE"
        return server_needs(self.lab, self.conditions.storages, _disk_size(largest), _POOL, what, remedy)

    @contextmanager
    @override
    def group(self, group: Server, at: GroupContext) -> Iterator[ServerOnDisk]:
        from redolab.crash.bench.own_disk import server_on_disk
        from redolab.workloads.numbered import statements_before

        idle = self.conditions.tables
        cached = str(max(_USUAL_CACHE, _CACHED * idle))
        request = InstanceRequest(
            purpose=Purpose.PRODUCTION,
            log_size=_REDO,
            buffer_pool=_POOL,
            slow_log=True,
            overrides=tuple(
                Setting(name, cached, "idle tables stay open")
                for name in ("table_open_cache", "table_definition_cache")
            ),
        )
        largest = max(self.plan.steps[position].step.log_file for position in self.plan.positions(at.group))
        with server_on_disk(self.lab, at.run, self.storages, group, _disk_size(largest), request) as made:
            tables = [f"CREATE TABLE {name} (id INT NOT NULL PRIMARY KEY) ENGINE=InnoDB" for name in _idle_tables(idle)]
            made.started.execute(_SILENT, *statements_before(), *tables)
            self._sample(made)
            yield made

    @override
    def measure(
        self, group: Server, step: Rotating, made: ServerOnDisk, at: StepContext[RotationTrial]
    ) -> RotationTrial:
        made.started.instance.check_running()
        words = ", ".join(step.described().values())
        title = f"rotating the log of {group.server} on {group.file_system}: {words}"
        with (
            self.lab.progress.stage(title, "measure") as stage,
            made.started.instance.answering(),
            made.place.blamed(),
        ):
            stage.say("growing the log")
            grown = _grow(made, step.log_file)
            trial = self._rotated_under_load(made, step, grown, stage)
            stage.outcome = f"{trial.longest_ms:,.1f} ms, without {trial.longest_without_ms:,.1f} ms"
            return trial

    @override
    def findings(self, group: Server, step: Rotating, trial: RotationTrial) -> Sequence[Finding]:
        """Return violations by a rotation; with a removed file, only statements sent to the new file count."""
        if not step.method.keeps_all:
            return ()
        check = trial.check
        wrong = [
            (check.lost, f"lost {check.lost:,} of {check.sent:,} statements of its slow query log"),
            (check.torn, f"tore {check.torn:,} records of its slow query log"),
            (check.twice, f"logged {check.twice:,} statements twice"),
        ]
        how = f"{group.server} on {group.file_system}{', logging held' if step.held else ''}"
        return [Finding(what=f"a rotation by {step.method}: {how} {what}") for count, what in wrong if count]

    def _rotated_under_load(self, made: ServerOnDisk, step: Rotating, grown: int, stage: Stage) -> RotationTrial:
        conditions, started = self.conditions, made.started
        started.execute(*(f"SELECT 1 FROM {table}" for table in _idle_tables(conditions.tables)))
        first, second = conditions.warm_up + 1, conditions.warm_up + conditions.seconds + 1
        rotation = LogRotation(started, _log(made))
        with made.place.limited(), self._load(made, conditions.rate, conditions.load_s) as load:
            stage.say("warming up")
            load.wait_for(first - 1, conditions.load_s)
            before = _counters(started)
            stage.say("a window without a rotation")
            load.wait_for(second - 1, conditions.load_s)
            time.sleep(_LEAD)
            stage.say("a window with one")
            size = rotation.log.stat().st_size
            began = now_ns()
            rotation.rotate(step.method, held=step.held, notes=made.notes)
            took = (now_ns() - began) / SECOND
            sent = load.wait_end()
            late = made.place.late_share()
            after = _counters(started)
        if took > conditions.seconds - 2 * _LEAD:
            raise LabError(
                f"the rotation took {took:.1f} s, and the window with it {conditions.seconds} s",
                f"SECONDS={round(took + 3 * _LEAD)} or more",
            )
        stage.say("reading the logs")
        started.wait_clients_gone()
        old = [] if rotation.old is None else [(rotation.old, grown)]
        content = read_logs([*old, (rotation.log, 0)])
        removed_until = rotation.opened_at if step.method is Method.RM_FLUSH else 0
        trial = RotationTrial(
            version=started.instance.server.version,
            log_bytes=size,
            without=reported_window(load.seconds, first, conditions.seconds),
            during=reported_window(load.seconds, second, conditions.seconds),
            parts=tuple(
                Phase(
                    name=name,
                    began_s=(part_began - began) / SECOND,
                    seconds=(part_ended - part_began) / SECOND,
                    longest_ms=longest_answer_ms(sent, part_began, part_ended),
                )
                for name, part_began, part_ended in rotation.parts
            ),
            rotation_s=took,
            check=check_logs(sent, content, rotation.pause, removed_until),
            before=before,
            after=after,
            idle_tables=conditions.tables,
            late_share=late,
            buffered=made.place.buffered,
            instance=started.digest,
        )
        for old_log, _ in old:
            files.remove(old_log)
        return trial

    def _sample(self, made: ServerOnDisk) -> None:
        """Keep the log of some seconds of the load, as a sample from which logs are grown."""
        with self._load(made, None, _SAMPLED) as load:
            load.wait_end()
        made.started.wait_clients_gone()
        sample = _log(made).read_bytes()
        if not sample.endswith(b"\n"):
            raise WorkloadFailed(
                f"{made.started.instance.server.name} has logged nothing of its load, or not to an end"
            )
        (made.notes / _SAMPLE).write_bytes(sample)

    def _load(self, made: ServerOnDisk, rate: int | None, seconds: int) -> AbstractContextManager[NumberedLoad]:
        from redolab.workloads.numbered import numbered_load

        folder, clients = made.started.instance.folder, self.conditions.clients
        output = made.notes / "sysbench.log"
        return numbered_load(self.lab.tools, folder, clients=clients, rate=rate, seconds=seconds, output=output)


def _grow(made: ServerOnDisk, size: int) -> int:
    """Grow the server's log to at least `size` bytes of its own records, on the disk and cached. Return its bytes.

    A log of that size takes hours to write, so all of it but the last half minute is on the disk. Growing it is not
    measured, and runs at the disk's own speed.
    """
    log, sample = _log(made), (made.notes / _SAMPLE).read_bytes()
    for name in files.names(log.parent):
        # A rotation that failed has left this.
        if name.startswith(f"{log.name}-"):
            files.remove(log.with_name(name))
    grown = log.with_name(f"{log.name}-grown")
    with grown.open("wb") as file:
        while file.tell() < size:
            file.write(sample)
        file.flush()
        os.fsync(file.fileno())
    if (owner := made.started.instance.server.sandbox.owner()) is not None:
        os.chown(grown, owner, owner)
    grown.replace(log)
    made.started.execute(FLUSH)
    return log.stat().st_size


def _log(made: ServerOnDisk) -> Path:
    return made.started.instance.folder / SLOW_LOG


def _disk_size(log_file: int) -> int:
    """Return the bytes of a disk for the log and its copy, the data directory, and root's reserve."""
    return math.ceil((2 * log_file + _DATA) * _KEPT_FOR_ROOT / (GIB // 2)) * (GIB // 2)


def _idle_tables(count: int) -> list[str]:
    return [f"{DATABASE}.idle_{number}" for number in range(1, count + 1)]


def _counters(started: StartedServer) -> TableCounters:
    return TableCounters(**{name: int(value) for name, value in started.named_values(_STATUS).items()})
