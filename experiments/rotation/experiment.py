"""The experiment rotation: a server's slow query log is grown and rotated while clients send statements."""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from enum import StrEnum
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
from redolab.servers.dialects import SLOW_LOG, SOCKET, InstanceRequest, Purpose, Setting
from redolab.slowlog.settings.changes import changes_to_be_quiet
from redolab.units import GIB, MIB, format_size, parse_size
from redolab.workloads.data import DATABASE
from redolab.workloads.windows import ReportedWindow, reported_window

if TYPE_CHECKING:
    import polars as pl

    from redolab.crash.bench.own_disk import ServerOnDisk
    from redolab.crash.bench.started_server import StartedServer
    from redolab.progress import Stage
    from redolab.workloads.numbered import NumberedLoad, Sent

_SMALLEST, _LARGEST = 1 * MIB, 64 * GIB
_MEGABYTE = 1_000_000
_SECOND = 1_000_000_000
"""Nanoseconds. All times of a rotation are nanoseconds of CLOCK_MONOTONIC."""
WAIT = 2.0
"""Seconds for which logging is paused before and after, as P. Boros does (data/published/query-logs.toml)."""
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
_FLUSH = "FLUSH LOCAL SLOW LOGS"
_BLOCK = 8192
"""Bytes that logrotate copies at a time."""
_READ = 1 << 20
"""Bytes of a log that are read at a time."""
_TO_REOPEN = 30.0
_TO_REOPEN_PAUSED = 0.5
"""Seconds for a new log while logging is paused. Some servers open none then, and the pause must stay short."""
_TO_WRITE = 2.0
_LOOK = 0.001
AGAIN = " again"
"""Ends the name of a part of a rotation that had to be done a second time."""


class Method(StrEnum):
    """Method of rotating a log."""

    COPYTRUNCATE = "copytruncate"
    RENAME_FLUSH = "rename-flush"
    RENAME_SYNC_FLUSH = "rename-sync-flush"
    RENAME_HUP = "rename-hup"
    RENAME_USR1 = "rename-usr1"
    RM_FLUSH = "rm-flush"

    @property
    def keeps_all(self) -> bool:
        """True where no statement may be lost, except with a file that is removed."""
        return self is not Method.COPYTRUNCATE


_ABOUT = {
    Method.COPYTRUNCATE: "the file is copied, the copy synced, the file truncated, as logrotate does",
    Method.RENAME_FLUSH: "the file is renamed, FLUSH LOCAL SLOW LOGS opens a new one",
    Method.RENAME_SYNC_FLUSH: "by redolab slowlog rotate: the file is synced and renamed, FLUSH LOCAL SLOW LOGS opens a new one",
    Method.RENAME_HUP: "the file is renamed, SIGHUP has the server open a new one",
    Method.RENAME_USR1: "the file is renamed, SIGUSR1 has the server open a new one (MySQL 8.0.19 and later)",
    Method.RM_FLUSH: "the file is removed, FLUSH LOCAL SLOW LOGS opens a new one",
}
_SIGNALS = {Method.RENAME_HUP: signal.SIGHUP, Method.RENAME_USR1: signal.SIGUSR1}


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
            "How it is rotated, with commas: " + "; ".join(f"{each}: {about}" for each, about in _ABOUT.items()) + ".",
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
            began = _now()
            rotation.rotate(step.method, held=step.held, notes=made.notes)
            took = (_now() - began) / _SECOND
            sent = load.wait_end()
            late = made.place.late_share()
            after = _counters(started)
        if took > conditions.seconds - 2 * _LEAD:
            raise LabError(
                f"the rotation took {took:.1f} s, and the window with it {conditions.seconds} s",
                f"SECONDS={round(took + 3 * _LEAD)} or more",
            )
        stage.say("reading the logs")
        started.wait_gone()
        old = [] if rotation.old is None else [(rotation.old, grown)]
        content = read_logs([*old, (rotation.log, 0)])
        trial = RotationTrial(
            version=started.instance.server.version,
            log_bytes=size,
            without=reported_window(load.seconds, first, conditions.seconds),
            during=reported_window(load.seconds, second, conditions.seconds),
            parts=tuple(
                Phase(
                    name=name,
                    began_s=(part_began - began) / _SECOND,
                    seconds=(part_ended - part_began) / _SECOND,
                    longest_ms=longest_answer_ms(sent, part_began, part_ended),
                )
                for name, part_began, part_ended in rotation.parts
            ),
            rotation_s=took,
            check=check_logs(
                sent, content, rotation.pause, rotation.opened_at if step.method is Method.RM_FLUSH else 0
            ),
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
        """Keep the log that the server writes of some seconds of such statements."""
        with self._load(made, None, _SAMPLED) as load:
            load.wait_end()
        made.started.wait_gone()
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


class LogRotation:
    """One rotation of a server's slow query log, with the times of its parts."""

    def __init__(self, server: StartedServer, log: Path) -> None:
        self.log = log
        self.old: Path | None = None
        """Path of the old log; None if it was removed."""
        self.parts: list[tuple[str, int, int]] = []
        """Name, beginning and end of each part, in order."""
        self.pause: tuple[int, int] | None = None
        """Beginning and end of the pause of logging; None without a pause."""
        self.opened_at = 0
        """Time at which the new log was open."""
        self._server = server
        self._old_path = log.with_name(f"{log.name}-old")

    def rotate(self, method: Method, *, held: bool, notes: Path) -> None:
        """Rotate the log; with `held`, logging is paused meanwhile. Raises `LabError`.

        The product's own command leaves its notes in the folder `notes`.
        """
        if method is Method.RENAME_SYNC_FLUSH:
            self._by_command(WAIT if held else 0.0, notes)
        elif held:
            self._change_paused(method)
        else:
            self._change(method, _TO_REOPEN)
        self._wait_written()
        self.opened_at = _now()

    @contextmanager
    def _part(self, name: str) -> Iterator[None]:
        began = _now()
        yield
        self.parts.append((name, began, _now()))

    def _by_command(self, wait: float, notes: Path) -> None:
        """Rotate by `redolab slowlog rotate`, as its user does: the log is paused for `wait` seconds before and after."""
        from redolab.machine import processes
        from redolab.machine.processes import Command

        command = [sys.executable, "-m", "redolab", "slowlog", "rotate", "--wait", f"{wait}s"]
        command += ["--socket", str(self._server.instance.folder / SOCKET), "--user", "root"]
        began = _now()
        with self._part("command"):
            processes.run(Command(command, environment={"XDG_STATE_HOME": str(notes)}))
        if wait:
            self.pause = began, _now()
        (self.old,) = self.log.parent.glob(f"{self.log.name}-*")

    def _change_paused(self, method: Method) -> None:
        changes = changes_to_be_quiet(self._server.named_values("SHOW GLOBAL VARIABLES"))
        began = _now()
        try:
            with self._part("holding"):
                self._server.execute(*(change.to_do for change in changes))
            with self._part("waiting"):
                time.sleep(WAIT)
            self._change(method, _TO_REOPEN_PAUSED)
            with self._part("waiting after"):
                time.sleep(WAIT)
        finally:
            with self._part("releasing"):
                self._server.execute(*(change.to_undo for change in reversed(changes)))
            self.pause = began, _now()
        if not self.log.exists():
            # MySQL 9.7 opens no new log while log_output is NONE, and goes on in the old one.
            self._reopen(method, _TO_REOPEN, AGAIN)

    def _change(self, method: Method, patience: float) -> None:
        """Take the old log away, and have the server open a new one; wait so many seconds for one after a signal."""
        if method is Method.COPYTRUNCATE:
            self.copy_and_truncate()
            return
        if method is Method.RM_FLUSH:
            with self._part("rm"):
                self.log.unlink()
        else:
            self.old = self._old_path
            with self._part("rename"):
                self.log.rename(self.old)
        self._reopen(method, patience)

    def copy_and_truncate(self) -> None:
        """Copy the log and truncate it, as logrotate does. Raises `OSError`, and leaves the log alone, if the copy fails."""
        self.old = self._old_path
        made = os.open(self.old, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "wb") as copy, self.log.open("r+b", buffering=0) as source:
            with self._part("copy"):
                while block := source.read(_BLOCK):
                    copy.write(block)
                copy.flush()
            with self._part("sync"):
                os.fsync(copy.fileno())
            with self._part("truncate"):
                os.ftruncate(source.fileno(), 0)

    def _reopen(self, method: Method, patience: float, again: str = "") -> None:
        """Have the server open a new log. After a signal, wait until there is one, or it seems that there will be none."""
        if (number := _SIGNALS.get(method)) is None:
            with self._part(f"flush{again}"):
                self._server.execute(_FLUSH)
            return
        with self._part(f"{number.name}{again}"):
            self._server.instance.send_signal(number)
            deadline = time.monotonic() + patience
            while not self.log.exists() and time.monotonic() < deadline:
                time.sleep(_LOOK)

    def _wait_written(self) -> None:
        """Wait until the server has written to the new log. Raises `LabError`."""
        deadline = time.monotonic() + _TO_WRITE
        while not (self.log.exists() and self.log.stat().st_size):
            if time.monotonic() > deadline:
                self._server.instance.check_running()
                name = self._server.instance.server.name
                raise LabError(f"{name} writes to no new log", "its error log may say why")
            time.sleep(_LOOK)


@dataclass(frozen=True, slots=True)
class LogContent:
    """Content of logs: how often each (client, number) occurs, and how many records are torn."""

    times: Mapping[tuple[int, int], int]
    torn: int


def read_logs(logs: Sequence[tuple[Path, int]]) -> LogContent:
    """Return the content of these logs, each from a byte at which a record begins. Raises `OSError`."""
    from redolab.slowlog.digest.chunks import chunks
    from redolab.slowlog.digest.records import Window, records

    times: dict[tuple[int, int], int] = {}
    torn = 0
    for path, offset in logs:
        with path.open("rb") as file:
            file.seek(offset)
            content = file.read()
        # A log may have been cut before the newline that ends it; one that was just opened has the server's lines alone.
        end = content.rfind(b";\n") + 2
        whole = content if content.endswith(b";") or end < 2 else content[:end]
        torn += len(content) > len(whole)
        for chunk in chunks(whole[at : at + _READ] for at in range(0, len(whole), _READ)):
            if not chunk.content:
                continue
            read = records(chunk, Window())
            counted, in_part = count_numbers(read.table["text"])
            torn += in_part + read.skipped.cut_off + read.skipped.without_time
            for key, count in counted.items():
                times[key] = times.get(key, 0) + count
    return LogContent(times, torn)


def count_numbers(texts: pl.Series) -> tuple[dict[tuple[int, int], int], int]:
    """Count each (client, number) among these texts of statements, and the torn records."""
    import polars as pl

    from redolab.workloads.numbered import PART, WHOLE

    text = pl.col("text")
    frame = texts.alias("text").to_frame().filter(text.str.contains(PART))
    found = frame.select(groups=text.str.extract_groups(WHOLE)).unnest("groups")
    number, client, again = (pl.col(name).cast(pl.Int64, strict=False) for name in found.columns)
    whole = found.select(number=number, client=client, again=again).filter(pl.col("number") == pl.col("again"))
    counted = whole.group_by("client", "number").len()
    return {(client, number): count for client, number, count in counted.iter_rows()}, frame.height - whole.height


def check_logs(
    sent: Sequence[Sent], content: LogContent, pause: tuple[int, int] | None = None, removed_until: int = 0
) -> LogCheck:
    """Compare the statements that clients sent, numbered by position, with those found in the logs.

    A statement may be missing if logging was paused meanwhile, from `pause[0]` to `pause[1]`, or if it was sent before
    `removed_until` and went with the old file. The server logs a statement after it has answered, before it reads the
    client's next. A statement sent before the pause of logging may therefore be missing, too. A number in the logs that
    no client sent is a torn record.
    """
    import numpy as np

    for_ever = np.iinfo(np.int64).max
    pause_began, pause_ended = pause or (for_ever, -1)
    lost_at: list[int] = []
    logged = unlogged = removed = 0
    for client, each in enumerate(sent):
        numbers = range(1, len(each.sent) + 1)
        missing = np.array([(client, number) not in content.times for number in numbers], dtype=np.bool_)
        next_answered = np.append(each.answered[1:], for_ever)
        was_unlogged = missing & (each.sent <= pause_ended) & (next_answered >= pause_began)
        was_removed = missing & ~was_unlogged & (each.sent < removed_until)
        logged += int((~missing).sum())
        unlogged, removed = unlogged + int(was_unlogged.sum()), removed + int(was_removed.sum())
        lost_at += each.sent[missing & ~was_unlogged & ~was_removed].tolist()
    return LogCheck(
        sent=sum(len(each.sent) for each in sent),
        logged=logged,
        lost=len(lost_at),
        lost_s=(max(lost_at) - min(lost_at)) / _SECOND if lost_at else 0.0,
        unlogged=unlogged,
        removed=removed,
        twice=sum(count > 1 for count in content.times.values()),
        torn=content.torn
        + sum(not (client < len(sent) and 1 <= number <= len(sent[client].sent)) for client, number in content.times),
    )


def longest_answer_ms(sent: Sequence[Sent], began: int, ended: int) -> float:
    """Return the longest answer, in milliseconds from when it was sent, to a statement in flight between two times.

    0 if there is none.
    """
    took = [
        (each.answered - each.sent)[(each.sent <= ended) & (each.answered >= began)].max(initial=0) for each in sent
    ]
    return float(max(took, default=0)) / 1e6


def _grow(made: ServerOnDisk, size: int) -> int:
    """Grow the server's log to at least `size` bytes of its own records, on the disk and cached. Return its bytes.

    A log of that size takes hours to write, so all of it but the last half minute is on the disk. Growing it is not
    measured, and runs at the disk's own speed.
    """
    log, sample = _log(made), (made.notes / _SAMPLE).read_bytes()
    for name in files.names(log.parent):
        # Remains of a rotation that failed.
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
    made.started.execute(_FLUSH)
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


def _now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
