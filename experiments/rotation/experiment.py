"""The experiment rotation: a server's slow query log is grown and rotated while clients send statements."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from typing_extensions import override

from redolab.errors import InvalidInput, LabError, WorkloadFailed
from redolab.machine import files
from redolab.report.quantities import quantity
from redolab.runs.bench import GroupContext, StepContext
from redolab.runs.experiment import Experiment, Noun
from redolab.runs.factors import CommonFactors, one_of, whole_number
from redolab.runs.needs import Needs
from redolab.runs.options import Option
from redolab.runs.plan import PlannedGroup, PlannedStep
from redolab.runs.schema import Finding, Trial
from redolab.runs.store import Run
from redolab.servers.catalogue import server_catalogue, server_names
from redolab.storage.catalogue import storage_name, storage_profile
from redolab.storage.file_systems import AS_IS, MADE_BY
from redolab.storage.profiles import HOME, FolderStorage, ModelledDisk, StorageProfile
from redolab.units import GIB, MIB, format_size, parse_size

from .methods import Method

if TYPE_CHECKING:
    from redolab.bench.started_server import StartedServer
    from redolab.progress import Stage
    from redolab.servers.dialects import InstanceRequest
    from redolab.storage.place import Place
    from redolab.workloads.numbered import Second

    from .rotating import Rotated

_SMALLEST, _LARGEST = 1 * MIB, 64 * GIB
_MEGABYTE = 1_000_000
_HELD_FOR = 4
"""Seconds for which logging is paused around the rotation."""
_AROUND = 2
"""Seconds of a window before and after a rotation."""
_SHORTEST_HELD = _HELD_FOR + _AROUND + 2
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
_NANOSECONDS = 1e9
_LEAD = 1.0
"""Seconds from the beginning of a window to the rotation in it."""
_SAMPLED = 2
"""Seconds of logged statements from which the log is then grown."""
_TO_GO = 30.0
_LOOK = 0.02
_SLOW = 0.5
_SILENT = "SET SESSION long_query_time = 31536000"
"""Statement that keeps the lab's own queries out of the log."""
_STATUS = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Flush_commands', 'Com_flush', 'Opened_tables', 'Open_tables')"


class Server(PlannedGroup, frozen=True, kw_only=True):
    """A server on a disk of its own."""

    server: Annotated[str, Option("Servers, with commas; all for every one.", server_names, "mysql-9,mariadb-11.8")]
    storage: Annotated[
        str, Option(f"Disks that the log lies on, with commas: modelled ones, or {HOME}.", storage_name, "cloud-ssd")
    ]
    file_system: Annotated[
        str,
        Option(
            f"File systems that the log lies on, with commas: {', '.join(MADE_BY)}; {AS_IS}: that of the lab's folder, which takes no "
            "root.",
            one_of("file system", lambda: [*MADE_BY, AS_IS]),
            "xfs,ext4",
        ),
    ]


class Rotating(PlannedStep, frozen=True, kw_only=True):
    """A rotation under load, with a window without one before it."""

    log_file: Annotated[int, Option("Sizes of the log that is rotated, with commas.", parse_size, "1G")]
    method: Annotated[
        Method,
        Option(
            "How it is rotated, with commas: " + "; ".join(f"{each}: {each.about}" for each in Method) + ".",
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


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions of the whole run; times in seconds."""

    clients: Annotated[int, Option("Clients that send point selects.", whole_number(1, 1024), "8")]
    rate: Annotated[int, Option("Point selects a second, of all clients together.", whole_number(1, 1_000_000), "3000")]
    seconds: Annotated[
        int, Option("Seconds of the window without a rotation, and of the one with it.", whole_number(3, 600), "20")
    ]
    warm_up: Annotated[int, Option("Seconds of the load before them.", whole_number(1, 600), "10")]
    tables: Annotated[int, Option("Tables that are open and that no client reads.", whole_number(10, 10_000), "200")]
    check_disks: Annotated[bool, Option("Have fio look at every storage before, once.", None, "on")]
    storages: Mapping[str, StorageProfile] = {}

    @property
    def load_s(self) -> int:
        """Seconds that the load takes."""
        return self.warm_up + 2 * self.seconds + _TAIL


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """A window of the load."""

    seconds: int
    per_second: float
    """Statements answered in a second, the median."""
    longest_ms: float
    """The longest time that a statement took, in milliseconds from when it was due."""
    slow_seconds: int
    """Seconds in which less than half of the load's median was answered."""


def stretch(seconds: Sequence[Second], first: int, length: int) -> Stretch:
    """Return a window of the clients' seconds, from one of them on. Raises `WorkloadFailed` if some are missing."""
    inside = [each for each in seconds if first <= each.number < first + length]
    if len(inside) != length:
        raise WorkloadFailed(
            f"sysbench reported {len(inside)} of the {length} seconds from its second {first} on",
            "the machine is too busy for this RATE",
        )
    usual = statistics.median(each.per_second for each in seconds)
    return Stretch(
        seconds=length,
        per_second=statistics.median(each.per_second for each in inside),
        longest_ms=max(each.longest_ms for each in inside),
        slow_seconds=sum(each.per_second < _SLOW * usual for each in inside),
    )


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a rotation."""

    name: str
    began_s: float
    """Seconds after the rotation began."""
    seconds: float
    """Duration in seconds."""
    longest_ms: float
    """Longest answer to a statement in flight during this part, in milliseconds from when it was sent."""


class LogCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of the numbered statements sent with the old and the new log; counts of statements."""

    sent: int
    logged: int
    """Statements found in the logs."""
    lost: int
    """Statements missing from the logs without a reason."""
    lost_s: float
    """Seconds from the first lost statement to the last, by the time they were sent."""
    unlogged: int
    """Statements missing because logging was paused."""
    removed: int
    """Statements missing because the file that held them was removed."""
    twice: int
    """Statements in the logs more than once."""
    torn: int
    """Torn records in the logs."""


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
    without: Stretch
    """Window before the rotation."""
    during: Stretch
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
        """Statements that no log has, with no reason for it."""
        return self.check.lost

    @property
    @quantity("torn", places=0)
    def torn(self) -> int:
        """Records in the logs that are there in part."""
        return self.check.torn

    @property
    @quantity("unlogged", places=0)
    def unlogged(self) -> int:
        """Statements that no log has because logging was paused."""
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


@dataclass(frozen=True, slots=True)
class LoggingServer:
    """A server that can be put under load, and its slow query log."""

    started: StartedServer
    place: Place
    log: Path
    notes: Path
    """Folder for the clients' notes, not on the disk under test."""
    sample: bytes
    """Records that the server has written."""


class Rotation(Experiment[Server, Rotating, Conditions, LoggingServer, RotationTrial]):
    """Rotation of a slow query log under load, checked against the statements sent."""

    question = "What does rotating a slow query log do to a busy server, and what is lost of the log?"
    group_noun = Noun("instance", "instances")
    step_noun = Noun("rotation", "rotations")
    repeat = "6"
    repeats_groups = True

    @classmethod
    @override
    def exists(cls, group: Server, step: Rotating) -> bool:
        return step.method.exists_on(server_catalogue().get(group.server).dialect())

    @classmethod
    @override
    def conditions_from(cls, factors: CommonFactors) -> Conditions:
        names: Sequence[str] = getattr(factors, "storage")  # noqa: B009
        storages = {name: storage_profile(name) for name in names}
        return msgspec.structs.replace(super().conditions_from(factors), storages=storages)

    @classmethod
    @override
    def refuse(cls, group: Server, step: Rotating, conditions: Conditions) -> None:
        profile, seconds = conditions.storages[group.storage], conditions.seconds
        if not _SMALLEST <= step.log_file <= _LARGEST:
            raise InvalidInput(
                f"a log of {format_size(step.log_file)} is not rotated",
                f"LOGFILE={format_size(_SMALLEST)} to {format_size(_LARGEST)}",
            )
        if step.held and seconds < _SHORTEST_HELD:
            raise InvalidInput(
                f"logging is held for longer than fits into stretches of {seconds} s",
                f"SECONDS={_SHORTEST_HELD} or more, or HELD=off",
            )
        if not isinstance(profile, ModelledDisk) and group.storage != HOME:
            raise InvalidInput(
                f"the lab makes no file systems on {group.storage}", f"STORAGE={HOME}, or a modelled disk as cloud-ssd"
            )
        if group.file_system == AS_IS and not isinstance(profile, FolderStorage):
            raise InvalidInput(
                f"{group.storage} is a disk of the lab's, which has no file system yet",
                f"FILESYSTEM={AS_IS} takes STORAGE={HOME}; or FILESYSTEM={','.join(MADE_BY)}",
            )
        if step.method is Method.COPYTRUNCATE and isinstance(profile, ModelledDisk):
            mb_s = profile.target().sequential_mb_s
            copied_s = 0.0 if mb_s is None else step.log_file / (mb_s * _MEGABYTE)
            takes = copied_s + _HELD_FOR * step.held + _AROUND
            if copied_s and seconds < takes:
                raise InvalidInput(
                    f"a copy of {format_size(step.log_file)} takes {group.storage} {copied_s:.0f} s or more, which does not fit into "
                    f"stretches of {seconds} s",
                    f"SECONDS={math.ceil(_SPARE * takes)}, or a smaller LOGFILE",
                )

    @override
    def check(self, positions: Sequence[int]) -> None:
        from redolab.bench.own_disk import check_disks

        check_disks(self.lab, [self.plan.groups[self.plan.steps[position].group] for position in positions])

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        from redolab.storage.attaching import DISKS
        from redolab.storage.fio import FILES_SIZE

        largest = max(self.plan.steps[position].step.log_file for position in positions)
        groups = {self.plan.steps[position].group for position in positions}
        storages = [self.conditions.storages[self.plan.groups[group].storage] for group in groups]
        modelled = any(isinstance(each, ModelledDisk) for each in storages)
        disks = self.lab.folder / DISKS
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
        from redolab.bench.disk_checks import record_disks
        from redolab.storage.attaching import Storages

        conditions = self.conditions
        with Storages(self.lab, conditions.storages) as self._storages:
            record_disks(run, self._storages, conditions.storages, self.lab.progress, look=conditions.check_disks)
            yield

    @contextmanager
    @override
    def group(self, group: Server, at: GroupContext) -> Iterator[LoggingServer]:
        from redolab.bench.own_disk import folder_on_disk, notes_folder, own_disk
        from redolab.bench.started_server import started_server
        from redolab.servers.dialects import SLOW_LOG
        from redolab.workloads.numbered import statements_before

        server = self.lab.server(group.server)
        name = f"{group.server}-{group.storage}-{group.file_system}".replace("/", "-")
        largest = max(self.plan.steps[position].step.log_file for position in self.plan.positions(at.group))
        with (
            notes_folder(self.lab, "rotation-load") as notes,
            own_disk(self.lab, self._storages, group, _disk_size(largest)) as place,
            folder_on_disk(self.lab, server, place, group, name) as folder,
            started_server(self.lab, at.run, server, folder, _request(self.conditions.tables)) as started,
        ):
            started.execute(_SILENT, *statements_before(), *_idle_tables(self.conditions.tables))
            log = folder / SLOW_LOG
            yield LoggingServer(started, place, log, notes, self._sample(started, log, notes))

    @override
    def measure(
        self, group: Server, step: Rotating, made: LoggingServer, at: StepContext[RotationTrial]
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

    def _rotated_under_load(self, made: LoggingServer, step: Rotating, grown: int, stage: Stage) -> RotationTrial:
        from redolab.workloads.numbered import numbered_load

        from .checking import Excused, checked, found_in, longest_ms
        from .rotating import rotate

        conditions, started = self.conditions, made.started
        started.execute(*(f"SELECT 1 FROM {table}" for table in _idle_names(conditions.tables)))
        first, second = conditions.warm_up + 1, conditions.warm_up + conditions.seconds + 1
        with (
            made.place.limited(),
            numbered_load(
                self.lab.tools,
                started.instance.folder,
                clients=conditions.clients,
                rate=conditions.rate,
                seconds=conditions.load_s,
                output=made.notes / "sysbench.log",
            ) as load,
        ):
            stage.say("warming up")
            load.wait_for(first - 1, conditions.load_s)
            before = _counters(started)
            stage.say("a window without a rotation")
            load.wait_for(second - 1, conditions.load_s)
            time.sleep(_LEAD)
            stage.say("a window with one")
            size = made.log.stat().st_size
            began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            rotated = rotate(
                step.method, started.instance, started.connection, made.log, held=step.held, scratch=made.notes
            )
            took = (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - began) / _NANOSECONDS
            sent = load.wait_end()
            late = made.place.late_share()
            after = _counters(started)
        if took > conditions.seconds - 2 * _LEAD:
            raise LabError(
                f"the rotation took {took:.1f} s, and the window with it {conditions.seconds} s",
                f"SECONDS={round(took + 3 * _LEAD)} or more",
            )
        stage.say("reading the logs")
        _wait_gone(started)
        excused = Excused(held=rotated.held, removed_until=rotated.opened if step.method.removes else None)
        trial = RotationTrial(
            version=started.instance.server.version,
            log_bytes=size,
            without=stretch(load.seconds, first, conditions.seconds),
            during=stretch(load.seconds, second, conditions.seconds),
            parts=tuple(
                Phase(
                    name=part.name,
                    began_s=(part.began - began) / _NANOSECONDS,
                    seconds=(part.ended - part.began) / _NANOSECONDS,
                    longest_ms=longest_ms(sent, part.began, part.ended),
                )
                for part in rotated.parts
            ),
            rotation_s=took,
            check=checked(sent, found_in(_logs(rotated, grown)), excused),
            before=before,
            after=after,
            idle_tables=conditions.tables,
            late_share=late,
            buffered=made.place.buffered,
            instance=started.digest,
        )
        if rotated.old is not None:
            files.remove(rotated.old)
        return trial

    def _sample(self, started: StartedServer, log: Path, notes: Path) -> bytes:
        """Return the log that the server writes of such statements in some seconds."""
        from redolab.workloads.numbered import numbered_load

        with numbered_load(
            self.lab.tools,
            started.instance.folder,
            clients=self.conditions.clients,
            rate=None,
            seconds=_SAMPLED,
            output=notes / "sysbench.log",
        ) as load:
            load.wait_end()
        _wait_gone(started)
        sample = log.read_bytes()
        if not sample.endswith(b"\n"):
            raise WorkloadFailed(f"{started.instance.server.name} has logged nothing of its load, or not to an end")
        return sample


def _grow(made: LoggingServer, size: int) -> int:
    """Grow the server's log to at least `size` bytes of its own records, on the disk and cached. Return its bytes.

    A log of that size takes hours to write, so all of it but the last half minute is on the disk. Growing it is not
    measured, and runs at the disk's own speed.
    """
    from .rotating import open_anew

    log = made.log
    for name in files.names(log.parent):
        # Remains of a rotation that failed.
        if name.startswith(f"{log.name}-"):
            files.remove(log.with_name(name))
    grown = log.with_name(f"{log.name}-grown")
    with grown.open("wb") as file:
        while file.tell() < size:
            file.write(made.sample)
        file.flush()
        os.fsync(file.fileno())
    if (owner := made.started.instance.server.sandbox.owner()) is not None:
        os.chown(grown, owner, owner)
    grown.replace(log)
    open_anew(made.started.connection)
    return log.stat().st_size


def _disk_size(log_file: int) -> int:
    """Return the bytes of a disk for the log and its copy, the data directory, and root's reserve."""
    return _up(int((2 * log_file + _DATA) * _KEPT_FOR_ROOT), GIB // 2)


def _up(size: int, step: int) -> int:
    return -(-size // step) * step


def _request(tables: int) -> InstanceRequest:
    from redolab.servers.dialects import InstanceRequest, Purpose, Setting

    cached = str(max(_USUAL_CACHE, _CACHED * tables))
    return InstanceRequest(
        purpose=Purpose.PRODUCTION,
        log_size=_REDO,
        buffer_pool=_POOL,
        slow_log=True,
        overrides=tuple(
            Setting(name, cached, "idle tables stay open") for name in ("table_open_cache", "table_definition_cache")
        ),
    )


def _idle_names(tables: int) -> list[str]:
    from redolab.workloads.data import DATABASE

    return [f"{DATABASE}.idle_{number}" for number in range(1, tables + 1)]


def _idle_tables(tables: int) -> list[str]:
    return [f"CREATE TABLE {name} (id INT NOT NULL PRIMARY KEY) ENGINE=InnoDB" for name in _idle_names(tables)]


def _counters(started: StartedServer) -> TableCounters:
    with started.connection.cursor() as cursor:
        cursor.execute(_STATUS)
        return TableCounters(**{str(name).lower(): int(value) for name, value in cursor.fetchall()})


def _wait_gone(started: StartedServer) -> None:
    """Wait until no client is connected: a statement is logged after it was answered. Raises `LabError`."""
    from redolab.workloads.data import DATABASE

    deadline = time.monotonic() + _TO_GO
    while True:
        with started.connection.cursor() as cursor:
            cursor.execute("SHOW PROCESSLIST")
            left = sum(row[3] == DATABASE for row in cursor.fetchall())
        if not left:
            return
        if time.monotonic() > deadline:
            name = started.instance.server.name
            raise LabError(f"{name} still had {left} clients {_TO_GO:.0f} s after they had ended")
        time.sleep(_LOOK)


def _logs(rotated: Rotated, grown: int) -> list[tuple[Path, int]]:
    """Return the logs that hold the statements, each from the byte on at which they can begin."""
    old = [] if rotated.old is None else [(rotated.old, grown)]
    return [*old, (rotated.log, 0)]
