"""The experiment binlog-purge: a server purges binary logs while clients write to it."""

from __future__ import annotations

import os
import re
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from typing_extensions import override

from redolab.clock import now
from redolab.crash.bench.factors import FILE_SYSTEMS, check_own_disk, several_servers, several_storages
from redolab.crash.bench.storage_experiment import StorageConditions, StorageExperiment
from redolab.errors import InvalidInput, LabError
from redolab.machine.files import names
from redolab.report.quantities import quantity
from redolab.runs.bench import GroupContext, StepContext
from redolab.runs.experiment import Noun
from redolab.runs.factors import whole_number
from redolab.runs.needs import Needs
from redolab.runs.options import Option
from redolab.runs.plan import PlannedGroup, PlannedStep
from redolab.runs.schema import Trial
from redolab.servers.dialects import InstanceRequest, Purpose, Setting
from redolab.units import GIB, KIB, MIB, format_size, parse_duration, parse_size
from redolab.workloads.data import DATABASE
from redolab.workloads.windows import CommitWindow, commit_gaps, commit_window

if TYPE_CHECKING:
    from redolab.crash.bench.own_disk import ServerOnDisk
    from redolab.crash.bench.started_server import StartedServer
    from redolab.progress import Stage
    from redolab.workloads.paced import PacedStatement

_SMALLEST_FILE, _LARGEST_FILE = 512 * KIB, GIB
"""Limits of the file size: the largest max_binlog_size, and a size of which one filling statement is a small part."""
_SHORTEST_LOAD = 1.0
_POOL, _REDO = 128 * MIB, 128 * MIB
_SERVER = 2 * GIB
"""Bytes that an instance needs beside its binary logs."""
_WARM_UP = 2.0
_AFTERWARDS = 1.0
"""Seconds for which clients are watched after a purge, however long it took."""
_BEHIND = 120.0
_QUIET = 10.0
_NEARLY_ALL = 0.9
_TABLE = f"{DATABASE}.filler"
_STATEMENT = 256 * KIB
"""Bytes that one statement adds to the binary log."""
_FILLER = (
    f"CREATE TABLE {_TABLE} (id INT NOT NULL PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB",
    f"INSERT INTO {_TABLE} VALUES (1, 0)",
)
_FILLING = [f"UPDATE {_TABLE} SET n = {value} /* {'x' * _STATEMENT} */ WHERE id = 1" for value in range(2)]
"""Statements that take turns, so that each changes its row; the comment, quick to parse, goes into the log."""
_SYNCED = MIB
"""Bytes written between two syncs while files are made."""
_BLOCK = 4096
"""max_binlog_size is a multiple of it."""
_A_DAY = 86_400
_EXPIRED_DAYS = 10
_LOOK_EVERY = 0.002
_PATIENCE = 300.0
"""Seconds that a purge may take."""
_LOOKS_BETWEEN_CHECKS = 500
_TO_REMOVE = ".~rec~"
"""Suffix of the server's list of files that it is about to make or to purge."""


class Trigger(StrEnum):
    """Trigger of the purge."""

    PURGE = "purge"
    ROTATION = "rotation"


class Server(PlannedGroup, frozen=True, kw_only=True):
    """A server whose binary logs are purged, on a disk of its own."""

    server: Annotated[str, several_servers("mysql-5.5,mysql-5.7,mysql-9,mariadb-10.2,mariadb-11.8")]
    storage: Annotated[str, several_storages("local,gp3-3000")]
    file_system: Annotated[str, FILE_SYSTEMS]


class Purge(PlannedStep, frozen=True, kw_only=True):
    """A purge to measure."""

    removal: Annotated[
        Trigger,
        Option(
            "How they are removed, with commas: purge, by PURGE BINARY LOGS on a connection of its own; rotation, as expired by the "
            "commit that rotates the binary log, as in the published case.",
            None,
            "purge,rotation",
        ),
    ]
    file_size_bytes: Annotated[
        int, Option("Sizes of one binary log file, with commas.", parse_size, "1G,50M", name="file_size")
    ] = msgspec.field(name="file_size")


class Conditions(StorageConditions, frozen=True, kw_only=True):
    """Conditions of the whole run; sizes in bytes, times in seconds."""

    purged: Annotated[
        int, Option("Size of all files that are removed at once: the same, whatever theirs is.", parse_size, "2G")
    ]
    rate: Annotated[float, Option("Transactions a second of all clients together.", whole_number(1, 100_000), "100")]
    clients: Annotated[int, Option("Clients that write.", whole_number(1, 256), "16")]
    seconds: Annotated[
        float, Option("How long the clients write before the removal, and from its beginning.", parse_duration, "5s")
    ]
    cached: Annotated[bool, Option("Whether the files are in the page cache when they are removed.", None, "off")]


class PreparedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Files to purge, in their state before the purge."""

    bytes: tuple[int, ...]
    """Size of each file in bytes."""
    extents: tuple[int, ...] | None
    """Extents of each file, by filefrag; None where this machine does not report them."""
    cached_bytes: int | None
    """Bytes of all files in the page cache, by fincore; None where this machine does not report them."""
    seconds: float
    """Seconds that the server took to write the files."""


class PurgeTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Duration of a purge, and its effect on commits."""

    seconds: float
    """Seconds from the statement to its answer, or from the new file until the list of files to purge is gone."""
    commits: int
    """Commits acknowledged to clients within these seconds."""
    longest_within_s: float
    """Longest part of these seconds without a commit."""
    longest_without_commit_s: float
    """Longest time without a commit that overlaps the purge, in seconds."""


def purge_times(statements: Sequence[PacedStatement], began: float, ended: float, until: float) -> PurgeTimes:
    """Return the effect of a purge from `began` to `ended` on the commits; `until`: end of the period examined."""
    first = max((each.done for each in statements if each.done < began), default=began)
    overlapping = [gap for start, gap in commit_gaps(statements, first, until) if start < ended and start + gap > began]
    return PurgeTimes(
        seconds=ended - began,
        commits=sum(began <= each.done < ended for each in statements),
        longest_within_s=max(gap for _, gap in commit_gaps(statements, began, ended)),
        longest_without_commit_s=max(overlapping, default=0.0),
    )


class PurgeTrial(Trial, frozen=True, kw_only=True):
    """A purge, with the window before it."""

    version: str
    asked_per_second: float = msgspec.field(name="rate")
    """Statements a second that all clients together were to send."""
    clients: int
    files: PreparedFiles
    quiet: CommitWindow
    removing: CommitWindow
    """Window from the purge on, as long as `quiet` or until a second after the purge."""
    removal: PurgeTimes

    @property
    @quantity("purge", "ms", places=1, scale=1000)
    def removal_s(self) -> float:
        """Return the duration of the purge in seconds."""
        return self.removal.seconds

    @property
    @quantity("wait before", "ms", places=1, scale=1000)
    def longest_wait_without_s(self) -> float:
        """Return the longest wait of a statement in the window before the purge, in seconds from when it was due."""
        return self.quiet.longest_wait_s

    @property
    @quantity("wait with", "ms", places=1, scale=1000)
    def longest_wait_with_s(self) -> float:
        """Return the longest wait of a statement in the window with the purge, in seconds from when it was due."""
        return self.removing.longest_wait_s

    @property
    @quantity("no commit", "ms", places=1, scale=1000)
    def longest_without_commit_at_removal_s(self) -> float:
        """Return the longest time without a commit that overlaps the purge, in seconds."""
        return self.removal.longest_without_commit_s

    @property
    def usual_commits(self) -> float:
        """Return the commits that the clients made in the window before, scaled to the duration of the purge."""
        return sum(self.quiet.commits) / max(1, len(self.quiet.commits)) * self.removal_s

    @property
    def is_long_enough(self) -> bool:
        """Return True if the purge took longer than any gap between commits before it.

        A stop of all writers during a shorter purge would not show.
        """
        return self.removal_s > self.quiet.longest_without_commit_s

    @property
    def stood_still(self) -> bool:
        """Return True if the purge was long enough and nearly all of it passed without a commit.

        Nearly: statements in flight at its beginning are acknowledged in its first moments.
        """
        return self.is_long_enough and self.removal.longest_within_s >= _NEARLY_ALL * self.removal_s

    @property
    def kept_up(self) -> float:
        """Return the share of the statements due before the purge that were acknowledged in that time."""
        return sum(self.quiet.commits) / max(1.0, self.asked_per_second * len(self.quiet.commits))

    @override
    def details(self) -> Mapping[str, object]:
        return {
            "files": len(self.files.bytes),
            "purged_bytes": sum(self.files.bytes),
            "extents_of_a_file": statistics.median(self.files.extents) if self.files.extents else None,
            "cached_bytes": self.files.cached_bytes,
            "written_s": self.files.seconds,
            "kept_up": self.kept_up,
            "commits_during_removal": self.removal.commits,
            "usual_commits": self.usual_commits,
            "long_enough": self.is_long_enough,
            "stood_still": self.stood_still,
            "waits_over_100ms_without": self.quiet.waits_over_100ms,
            "waits_over_100ms_with": self.removing.waits_over_100ms,
            "longest_without_commit_before_s": self.quiet.longest_without_commit_s,
            "statements_without": self.quiet.statements,
            "statements_with": self.removing.statements,
            "seconds_without": self.quiet.seconds,
            "seconds_with": self.removing.seconds,
            "slow_seconds": self.removing.slow_seconds(self.quiet),
        }


class BinlogPurge(StorageExperiment[Server, Purge, Conditions, "ServerOnDisk", PurgeTrial]):
    """Clients write, the server purges binary logs, and every commit is timed."""

    question = "Does removing binary logs stall writers, and does it depend on the size of the files?"
    group_noun = Noun("instance", "instances")
    step_noun = Noun("purge", "purges")
    brief = True
    repeat = "10"

    @classmethod
    @override
    def refuse(cls, group: Server, step: Purge, conditions: Conditions) -> None:
        from redolab.crash.bench.checks import check_lasts

        if not _SMALLEST_FILE <= step.file_size_bytes <= _LARGEST_FILE:
            raise InvalidInput(
                f"a binary log file of {format_size(step.file_size_bytes)} cannot be had",
                f"choose {format_size(_SMALLEST_FILE)} to {format_size(_LARGEST_FILE)}",
            )
        if step.file_size_bytes > conditions.purged:
            raise InvalidInput(
                f"a file of {format_size(step.file_size_bytes)} is more than the {format_size(conditions.purged)} that are removed",
                "choose a smaller FILESIZE or a larger PURGED",
            )
        check_lasts("a load", conditions.seconds, _SHORTEST_LOAD)
        check_own_disk(group.storage, group.file_system)

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        from redolab.crash.bench.own_disk import server_needs

        what = f"a server with {format_size(self.conditions.purged)} of binary logs"
        storages, remedy = self.conditions.storages, "choose a smaller PURGED"
        return server_needs(self.lab, storages, self._disk_size(), _POOL, what, remedy)

    @contextmanager
    @override
    def group(self, group: Server, at: GroupContext) -> Iterator[ServerOnDisk]:
        from redolab.crash.bench.own_disk import server_on_disk
        from redolab.workloads.paced import paced_tables

        request = InstanceRequest(
            purpose=Purpose.PRODUCTION,
            log_size=_REDO,
            buffer_pool=_POOL,
            binary_log=True,
            sync_binlog=1,
            overrides=(
                Setting("binlog_cache_size", str(MIB), "what fills the files is not to go through temporary files"),
            ),
        )
        with server_on_disk(self.lab, at.run, self.storages, group, self._disk_size(), request) as made:
            made.started.execute(*paced_tables(self.conditions.clients), *_FILLER)
            yield made

    @override
    def measure(self, group: Server, step: Purge, made: ServerOnDisk, at: StepContext[PurgeTrial]) -> PurgeTrial:
        files = f"{self.conditions.purged // step.file_size_bytes} of {format_size(step.file_size_bytes)}"
        title = f"{group.server}, {group.file_system} of {group.storage}: {files}, {step.removal}"
        with self.lab.progress.stage(title, "measure", brief=True) as stage, made.place.blamed():
            return self._purged_under_load(made, step, stage)

    def _purged_under_load(self, made: ServerOnDisk, step: Purge, stage: Stage) -> PurgeTrial:
        from redolab.workloads.paced import paced_updates

        conditions, logs, instance = self.conditions, BinaryLogs(made.started), made.started.instance
        written, seconds = logs.write(
            step.file_size_bytes,
            conditions.purged // step.file_size_bytes,
            lambda size: stage.advance(size, conditions.purged, f"{format_size(size)} of binary logs"),
        )
        if step.removal is Trigger.ROTATION:
            logs.expire(written)
        if not conditions.cached:
            _forget(written)
        files = _prepared(written, seconds)
        if made.place.device is not None:
            made.place.device.wait_quiet(_QUIET)
        clients, rate = conditions.clients, conditions.rate
        with (
            made.place.limited(),
            paced_updates(self.lab.tools, instance.folder, made.notes, clients=clients, rate=rate) as load,
        ):

            def look() -> None:
                load.check_running()
                instance.check_running()

            stage.say("clients write")
            began = now().monotonic + _WARM_UP
            load.wait(began + conditions.seconds, look)
            stage.say("the files are purged")
            asked = now().monotonic
            purged = logs.purge(written) if step.removal is Trigger.PURGE else logs.rotate(written, look)
            ended = max(asked + conditions.seconds, purged[1] + _AFTERWARDS)
            load.wait(ended, look)
            load.wait_answered(ended, _BEHIND, look)
            statements = load.statements()
        return PurgeTrial(
            version=instance.server.version,
            asked_per_second=rate,
            clients=clients,
            files=files,
            quiet=commit_window(statements, began, asked),
            removing=commit_window(statements, asked, ended),
            removal=purge_times(statements, *purged, ended),
        )

    def _disk_size(self) -> int:
        """Return bytes of an instance's disk: half of it stays free, as a full one would break up the files."""
        return 2 * self.conditions.purged + _SERVER


class BinaryLogs:
    """The binary logs of a server; nothing else purges them."""

    def __init__(self, server: StartedServer) -> None:
        self._server = server

    def write(self, file_size: int, count: int, follow: Callable[[int], None]) -> tuple[list[Path], float]:
        """Make `count` full files, an empty one after them and none before. Return the full files and the seconds.

        The server writes them, statement by statement, and syncs after each MiB. `follow` is told the bytes written
        so far.
        """
        synced = ("sync_binlog", "innodb_flush_log_at_trx_commit")
        durable = {name: self._server.value(f"SELECT @@GLOBAL.{name}") for name in synced}
        self._server.execute("SET SESSION binlog_format = 'STATEMENT'")
        self._begin_anew()
        self._set(sync_binlog=_SYNCED // _STATEMENT, innodb_flush_log_at_trx_commit=2, max_binlog_size=file_size)
        began, number = now().monotonic, 0
        while len(there := self._there()) <= count:
            number += 1
            self._server.execute(_FILLING[number % 2])
            follow(number * _STATEMENT)
        seconds = now().monotonic - began
        # All later writes go into one file.
        self._set(max_binlog_size=GIB, **durable)
        return there[:-1], seconds

    def purge(self, files: Sequence[Path]) -> tuple[float, float]:
        """Purge these files by PURGE BINARY LOGS. Return the monotonic times of the statement and its answer.

        Raises `LabError` if a file is still there.
        """
        statement = f"PURGE BINARY LOGS TO '{self._there()[-1].name}'"
        began = now().monotonic
        self._server.execute(statement)
        ended = now().monotonic
        if any(file.exists() for file in files):
            raise LabError(f"the server has kept {files[-1].name}, which it was to remove", "its error log may say why")
        return began, ended

    def expire(self, files: Sequence[Path]) -> None:
        """Make these files old enough for the server to remove them at its next rotation."""
        # Before they are old: MariaDB 11.8 removes what has expired also when one of these is set.
        self._set(**expiry(self._server.used.variables))
        written = time.time() - _EXPIRED_DAYS * _A_DAY
        for file in files:
            os.utime(file, (written, written))

    def rotate(self, files: Sequence[Path], look: Callable[[], None]) -> tuple[float, float]:
        """Make the next commit rotate the binary log, and wait until the server has purged the expired `files`.

        Return the monotonic times of the file that the server rotates to, with which the purge begins, and of its end,
        when the server's list of files to purge is gone, too. `look` is called every now and then. Raises `LabError`
        if the purge takes minutes.
        """
        active = self._there()[-1]
        following = active.with_name(f"{active.stem}.{int(active.suffix[1:]) + 1:06}")
        self._set(max_binlog_size=max(_BLOCK, active.stat().st_size // _BLOCK * _BLOCK))
        _wait(following.exists, look)
        began = now().monotonic
        _wait(lambda: not self._is_removing(files), look)
        ended = now().monotonic
        self._set(max_binlog_size=GIB)
        return began, ended

    def _begin_anew(self) -> None:
        """Reduce the binary logs to one empty file."""
        self._server.execute("FLUSH BINARY LOGS")
        newest = self._there()[-1]

        def is_alone() -> bool:
            self._server.execute(f"PURGE BINARY LOGS TO '{newest.name}'")
            if self._there() == [newest]:
                return True
            # MariaDB keeps the previous file until InnoDB has synced its commits; a further commit makes it request
            # that sync.
            self._server.execute(f"UPDATE {_TABLE} SET n = n + 1 WHERE id = 1")
            return False

        _wait(is_alone, lambda: None)

    def _is_removing(self, files: Sequence[Path]) -> bool:
        there = set(names(self._server.data))
        return any(file.name in there or file.name.partition(".")[0] + _TO_REMOVE in there for file in files)

    def _there(self) -> list[Path]:
        """Return all files in order, from the directory: the server would lock its binary log."""
        data = self._server.data
        return [data / name for name in sorted(names(data)) if re.fullmatch(r"binlog\.\d{6,}", name)]

    def _set(self, **values: int) -> None:
        self._server.execute(*(f"SET GLOBAL {name} = {value}" for name, value in values.items()))


def _wait(done: Callable[[], bool], look: Callable[[], None]) -> None:
    deadline, looked = now().monotonic + _PATIENCE, 0
    while not done():
        looked += 1
        if looked % _LOOKS_BETWEEN_CHECKS == 0:
            look()
        if now().monotonic > deadline:
            problem = f"after {_PATIENCE:.0f} s the server still has binary logs that it was to remove"
            raise LabError(problem, "its error log may say why")
        time.sleep(_LOOK_EVERY)


def expiry(known: Mapping[str, str]) -> dict[str, int]:
    """Return the variables with which such a server purges, at a rotation, files older than a day."""
    by_seconds = "binlog_expire_logs_seconds" in known
    expires = {"binlog_expire_logs_seconds": _A_DAY} if by_seconds else {"expire_logs_days": 1}
    # A MariaDB that has it keeps all as long as fewer replicas than this are connected.
    needed = "slave_connections_needed_for_purge"
    return {**expires, **({needed: 0} if needed in known else {})}


def _forget(files: Sequence[Path]) -> None:
    """Drop these files from the page cache; as root, their block lists, too."""
    from redolab.machine.page_cache import drop_page_cache

    if drop_page_cache():
        return
    for file in files:
        with suppress(OSError), file.open("rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _prepared(files: Sequence[Path], seconds: float) -> PreparedFiles:
    """Return size, extents and cached bytes of these files."""
    from redolab.machine.processes import output_of

    extents = [extents_in(output_of("filefrag", str(file))) for file in files]
    cached = output_of("fincore", "--bytes", "--noheadings", "--output=RES", *map(str, files))
    return PreparedFiles(
        bytes=tuple(file.stat().st_size for file in files),
        extents=None if None in extents else tuple(each for each in extents if each is not None),
        cached_bytes=sum(map(int, cached.split())) if cached else None,
        seconds=seconds,
    )


def extents_in(output: str) -> int | None:
    """Return the number of extents in filefrag's output; None if it has none."""
    match = re.search(r": (\d+) extents? found", output)
    return None if match is None else int(match[1])
