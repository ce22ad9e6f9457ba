"""An instance whose slow query log is grown and rotated under load, for each group of the plan."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pymysql.connections import Connection
from typing_extensions import override

from redolab.bench.disk_checks import record_disks
from redolab.errors import LabError, WorkloadFailed
from redolab.lab import Lab
from redolab.machine import files
from redolab.progress import Stage
from redolab.runs.needs import Needs
from redolab.runs.old_bench import Measured, OldBench
from redolab.runs.plan import Planned
from redolab.runs.store import Run
from redolab.servers.dialects import SLOW_LOG, InstanceRequest, Purpose, Setting
from redolab.servers.initialise import initialise
from redolab.servers.instance import Instance, prepare_folder
from redolab.storage.attaching import DISKS, Storages, check_possible
from redolab.storage.file_systems import AS_IS, check_file_system
from redolab.storage.fio import FILES_SIZE
from redolab.storage.place import Place
from redolab.storage.profiles import ModelledDisk
from redolab.units import GIB, MIB, format_size
from redolab.workloads.data import DATABASE
from redolab.workloads.numbered import Sent, numbered_load, statements_before

from .checking import Excused, checked, found_in, longest_ms
from .findings import findings
from .planned import PlannedInstance, PlannedRotation, RotationPlan
from .rotating import Rotation, open_anew, rotate
from .stretches import stretch
from .trial import Phase, RotationCell, RotationTrial, TableCounters

_POOL = 128 * MIB
_REDO = 64 * MIB
_DATA = GIB
"""Data directory, idle tables and what the load adds to the log."""
_KEPT_FOR_ROOT = 1.15
"""Of ext4 a twentieth is root's."""
_CACHED = 20
"""Places in the table cache for each idle table: MySQL 5.6 and later have up to 16 caches, and a connection uses one of them."""
_USUAL_CACHE = 4000
"""As MySQL 8.0 and later have it by themselves."""
_NANOSECONDS = 1e9
_LEAD = 1.0
"""Seconds from the beginning of a stretch to the rotation in it."""
_SAMPLED = 2
"""Seconds for which statements are logged of which the log is then grown."""
_UNHURRIED = 60.0
_TO_GO = 30.0
_LOOK = 0.02
_LOAD = "rotation-load"
_SILENT = "SET SESSION long_query_time = 31536000"
"""What the lab itself asks is in no log."""
_STATUS = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Flush_commands', 'Com_flush', 'Opened_tables', 'Open_tables')"


@dataclass(frozen=True, slots=True)
class _Started:
    """An instance that can be put under load."""

    instance: Instance
    place: Place
    connection: Connection
    log: Path
    """The slow query log."""
    sample: bytes
    """Records that the server has written."""
    kept: str
    """The hash under which the run keeps its settings and variables."""


class RotationBench(OldBench[PlannedInstance, PlannedRotation, RotationTrial]):
    """Starts an instance for each group, and rotates its slow query log under load for each step."""

    def __init__(self, lab: Lab, plan: RotationPlan) -> None:
        super().__init__(lab, plan)
        self._lab = lab
        self._plan = plan
        self._storages = Storages(lab, plan.conditions.storages)
        self._of_instance = ExitStack()
        self._started: _Started | None = None

    @override
    def check(self, positions: Sequence[int]) -> None:
        """Storages and file systems that this machine cannot have."""
        groups = self._groups(positions)
        profiles = self._plan.conditions.storages
        check_possible({group.storage: profiles[group.storage] for group in groups})
        for name in dict.fromkeys(group.file_system for group in groups if group.file_system != AS_IS):
            check_file_system(self._lab, self._lab.folder / DISKS / f"trial-{name}", name)

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        largest = max(self._plan.steps[position].step.log_file for position in positions)
        profiles, disks = self._plan.conditions.storages, self._lab.folder / DISKS
        modelled = any(isinstance(profiles[group.storage], ModelledDisk) for group in self._groups(positions))
        return Needs(
            memory=_POOL,
            memory_for=f"a buffer pool of {format_size(_POOL)}",
            disk={disks: _disk_size(largest) + FILES_SIZE * modelled},
            disk_for={disks: f"a log of {format_size(largest)} with its copy"},
            remedy="choose a smaller LOGFILE",
        )

    @contextmanager
    @override
    def opened(self, run: Run) -> Iterator[None]:
        """At its end no instance runs, and nothing is mounted."""
        with self._storages, self._of_instance:
            conditions = self._plan.conditions
            record_disks(run, self._storages, conditions.storages, self._lab.progress, look=conditions.check_disks)
            yield

    @override
    def make(self, group: int, run: Run) -> str:
        planned = self._plan.groups[group]
        name = f"{planned.server}-{planned.storage}-{planned.file_system}".replace("/", "-")
        largest = max(self._plan.steps[position].step.log_file for position in self._plan.positions(group))
        with ExitStack() as stack:
            place = stack.enter_context(self._storages.empty(planned.storage, _disk_size(largest), planned.file_system))
            with self._lab.progress.stage(f"starting {name}", "start") as stage:
                self._start(stack, planned, place, name, run, stage)
            self._of_instance.push(stack.pop_all())
        return ""

    def _start(
        self, stack: ExitStack, planned: PlannedInstance, place: Place, name: str, run: Run, stage: Stage
    ) -> None:
        """Start an instance that ends with a stack, and have it log a sample of its records."""
        server = self._lab.server(planned.server)
        folder = place.folder / "instances" / name
        if planned.file_system == AS_IS:
            # On a disk of the lab's it goes with the disk.
            stack.enter_context(self._lab.journal.making(folder, f"the instance {name}"))
        prepare_folder(server, folder)
        stage.say("making its data directory")
        request = _request(self._plan.conditions.tables)
        initialise(server, folder, request)
        instance = stack.enter_context(Instance.start(server, folder, request, run.log(name)))
        instance.wait_ready()
        stack.enter_context(instance.answering())
        connection = stack.enter_context(instance.connections.connect(answer=_UNHURRIED))
        _do(connection, _SILENT, *statements_before(), *_idle_tables(self._plan.conditions.tables))
        stage.say("having it log what its log is grown of")
        log = folder / SLOW_LOG
        sample = self._sample(instance, log, connection)
        kept = run.keep_once(instance.used(connection))
        self._started = _Started(instance, place, connection, log, sample, kept)

    @override
    def measure_at(
        self,
        position: int,
        planned: Planned[PlannedRotation],
        name: str,
        run: Run,
        keep: Callable[[Measured[RotationTrial]], None],
    ) -> None:
        started = self._started
        assert started is not None
        started.instance.check_running()
        group, step = self._plan.groups[planned.group], planned.step
        cell = RotationCell(
            server=group.server,
            storage=group.storage,
            file_system=group.file_system,
            method=step.method,
            held=step.held,
            log_file=step.log_file,
        )
        words = ", ".join(step.described().values())
        with (
            self._lab.progress.stage(
                f"rotating the log of {group.server} on {group.file_system}: {words}", "measure"
            ) as stage,
            started.instance.answering(),
            started.place.blamed(),
        ):
            stage.say("growing the log")
            grown = self._grow(started, step.log_file)
            trial = self._measured(started, cell, planned, grown, stage)
            stage.outcome = f"{trial.during.longest_ms:,.1f} ms, without {trial.without.longest_ms:,.1f} ms"
        keep(Measured(trial, findings(trial)))

    @override
    def release(self, group: int, name: str) -> None:
        self._started = None
        self._of_instance.close()

    def _measured(
        self, started: _Started, cell: RotationCell, planned: Planned[PlannedRotation], grown: int, stage: Stage
    ) -> RotationTrial:
        conditions, instance = self._plan.conditions, started.instance
        _do(started.connection, *(f"SELECT 1 FROM {table}" for table in _idle_names(conditions.tables)))
        first, second = conditions.warm_up + 1, conditions.warm_up + conditions.seconds + 1
        with (
            self._load_folder() as output,
            started.place.limited(),
            numbered_load(
                self._lab.tools,
                instance.folder,
                clients=conditions.clients,
                rate=conditions.rate,
                seconds=planned.step.load_s,
                output=output,
            ) as load,
        ):
            stage.say("warming up")
            load.wait_for(first - 1, planned.step.load_s)
            before = _counters(started.connection)
            stage.say("a stretch without a rotation")
            load.wait_for(second - 1, planned.step.load_s)
            time.sleep(_LEAD)
            stage.say("a stretch with one")
            size = started.log.stat().st_size
            began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            rotation = rotate(
                cell.method, instance, started.connection, started.log, held=cell.held, scratch=output.parent
            )
            ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            sent = load.wait_end()
            late = started.place.late_share()
            after = _counters(started.connection)
        took = (ended - began) / _NANOSECONDS
        if took > conditions.seconds - 2 * _LEAD:
            raise LabError(
                f"the rotation took {took:.1f} s, and the stretch with it {conditions.seconds} s",
                f"SECONDS={round(took + 3 * _LEAD)} or more",
            )
        stage.say("reading the logs")
        _wait_gone(started.connection, instance)
        trial = RotationTrial(
            cell=cell,
            version=instance.server.version,
            repeat=self._plan.blocks[planned.group],
            log_bytes=size,
            without=stretch(load.seconds, first, conditions.seconds),
            during=stretch(load.seconds, second, conditions.seconds),
            phases=tuple(_phases(rotation, sent, began)),
            rotation_s=took,
            check=checked(sent, found_in(_logs(rotation, grown)), _excused(cell, rotation)),
            before=before,
            after=after,
            idle_tables=conditions.tables,
            late_share=late,
            buffered=started.place.buffered,
            instance=started.kept,
        )
        if rotation.old is not None:
            files.remove(rotation.old)
        return trial

    def _sample(self, instance: Instance, log: Path, connection: Connection) -> bytes:
        """What the server writes of such statements in some seconds."""
        with (
            self._load_folder() as output,
            numbered_load(
                self._lab.tools,
                instance.folder,
                clients=self._plan.conditions.clients,
                rate=None,
                seconds=_SAMPLED,
                output=output,
            ) as load,
        ):
            load.wait_end()
        _wait_gone(connection, instance)
        sample = log.read_bytes()
        if not sample.endswith(b"\n"):
            raise WorkloadFailed(f"{instance.server.name} has logged nothing of its load, or not to an end")
        return sample

    def _grow(self, started: _Started, size: int) -> int:
        """Have the server go on with a log of at least so many bytes of its own records, on the disk and cached; its bytes.

        A log of that size was written over hours: all of it but the last half minute is on the disk. To grow it is none of
        what is measured, and is done at the disk's own speed.
        """
        for name in files.names(started.log.parent):
            # Of a rotation that failed.
            if name.startswith(f"{started.log.name}-"):
                files.remove(started.log.with_name(name))
        grown = started.log.with_name(f"{started.log.name}-grown")
        with grown.open("wb") as file:
            while file.tell() < size:
                file.write(started.sample)
            file.flush()
            os.fsync(file.fileno())
        if (owner := started.instance.server.sandbox.owner()) is not None:
            os.chown(grown, owner, owner)
        grown.replace(started.log)
        open_anew(started.connection)
        return started.log.stat().st_size

    @contextmanager
    def _load_folder(self) -> Iterator[Path]:
        """While in it: a file for what sysbench says, in a folder for what it notes; not on the disk that is measured."""
        folder = self._lab.home / "instances" / _LOAD
        with self._lab.journal.making(folder, "the notes of a load"):
            files.make_folder(folder)
            yield folder / "sysbench.log"

    def _groups(self, positions: Sequence[int]) -> list[PlannedInstance]:
        return [
            self._plan.groups[group]
            for group in dict.fromkeys(self._plan.steps[position].group for position in positions)
        ]


def _disk_size(log_file: int) -> int:
    """Bytes of a disk that holds the log with its copy and the data directory, and what file systems keep for root."""
    return _up(int((2 * log_file + _DATA) * _KEPT_FOR_ROOT), GIB // 2)


def _up(size: int, step: int) -> int:
    return -(-size // step) * step


def _request(tables: int) -> InstanceRequest:
    cached = str(max(_USUAL_CACHE, _CACHED * tables))
    return InstanceRequest(
        purpose=Purpose.PRODUCTION,
        log_size=_REDO,
        buffer_pool=_POOL,
        slow_log=True,
        overrides=(
            Setting("table_open_cache", cached, "idle tables stay open"),
            Setting("table_definition_cache", cached, "idle tables stay open"),
        ),
    )


def _idle_names(tables: int) -> list[str]:
    return [f"{DATABASE}.idle_{number}" for number in range(1, tables + 1)]


def _idle_tables(tables: int) -> list[str]:
    return [f"CREATE TABLE {name} (id INT NOT NULL PRIMARY KEY) ENGINE=InnoDB" for name in _idle_names(tables)]


def _do(connection: Connection, *statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _counters(connection: Connection) -> TableCounters:
    with connection.cursor() as cursor:
        cursor.execute(_STATUS)
        return TableCounters(**{str(name).lower(): int(value) for name, value in cursor.fetchall()})


def _wait_gone(connection: Connection, instance: Instance) -> None:
    """Wait until no client is connected: a statement is logged after it was answered. Raises `LabError`."""
    deadline = time.monotonic() + _TO_GO
    while True:
        with connection.cursor() as cursor:
            cursor.execute("SHOW PROCESSLIST")
            left = sum(row[3] == DATABASE for row in cursor.fetchall())
        if not left:
            return
        if time.monotonic() > deadline:
            raise LabError(f"{instance.server.name} still had {left} clients {_TO_GO:.0f} s after they had ended")
        time.sleep(_LOOK)


def _logs(rotation: Rotation, grown: int) -> list[tuple[Path, int]]:
    """The logs that hold what was sent, each from the byte on at which that can begin."""
    old = [] if rotation.old is None else [(rotation.old, grown)]
    return [*old, (rotation.log, 0)]


def _excused(cell: RotationCell, rotation: Rotation) -> Excused:
    return Excused(held=rotation.held, removed_until=rotation.opened if cell.method.removes else None)


def _phases(rotation: Rotation, sent: Sequence[Sent], began: int) -> Iterator[Phase]:
    for part in rotation.parts:
        yield Phase(
            name=part.name,
            began_s=(part.began - began) / _NANOSECONDS,
            seconds=(part.ended - part.began) / _NANOSECONDS,
            longest_ms=longest_ms(sent, part.began, part.ended),
        )
