"""The experiment binlog-purge: binary logs are removed from a server while clients write to it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from typing_extensions import override

from redolab.errors import InvalidInput
from redolab.models.windows import Acknowledged, CommitWindow, commit_gaps, commit_window
from redolab.report.quantities import quantity
from redolab.runs.bench import GroupContext, StepContext
from redolab.runs.experiment import Experiment, Noun
from redolab.runs.factors import one_of, whole_number
from redolab.runs.needs import Needs
from redolab.runs.options import Option
from redolab.runs.plan import PlannedGroup, PlannedStep
from redolab.runs.schema import Trial
from redolab.runs.store import Run
from redolab.servers.catalogue import server_names
from redolab.storage.catalogue import storage_name, storage_profile
from redolab.storage.file_systems import AS_IS, MADE_BY
from redolab.storage.profiles import FolderStorage, StorageProfile, TmpfsStorage
from redolab.units import GIB, KIB, MIB, format_size, parse_duration, parse_size

if TYPE_CHECKING:
    from redolab.bench.started_server import StartedServer
    from redolab.progress import Stage
    from redolab.storage.place import Place

    from .binary_logs import BinaryLogs

_SMALLEST_FILE, _LARGEST_FILE = 512 * KIB, GIB
"""Limits of the file size: the largest max_binlog_size, and a size of which one filling statement is a small part."""
_SHORTEST = 1.0
_POOL, _REDO = 128 * MIB, 128 * MIB
_SERVER = 2 * GIB
"""Bytes that an instance needs beside its binary logs."""
_WARM_UP = 2.0
_AFTERWARDS = 1.0
"""Seconds for which clients are watched after a purge, however long it took."""
_BEHIND = 120.0
_QUIET = 10.0
_NEARLY_ALL = 0.9


class Removal(StrEnum):
    """Trigger of the purge."""

    PURGE = "purge"
    """PURGE BINARY LOGS TO on a connection of its own."""
    ROTATION = "rotation"
    """Expiry of the files at a commit that rotates the binary log, as in the published case."""


class Server(PlannedGroup, frozen=True, kw_only=True):
    """A server whose binary logs are purged, on a disk of its own."""

    server: Annotated[
        str,
        Option(
            "Servers, with commas; all for every one.",
            server_names,
            "mysql-5.5,mysql-5.7,mysql-9,mariadb-10.2,mariadb-11.8",
        ),
    ]
    storage: Annotated[
        str, Option("Storage profiles, or folders as in /mnt/fast, with commas.", storage_name, "native,cloud-ssd")
    ]
    file_system: Annotated[
        str,
        Option(
            "File systems under the data directory, with commas: xfs, ext4, ext3, each on a disk in a file of its own (which takes "
            f"root); {AS_IS}: the one that the folder of STORAGE= lies on already.",
            one_of("file system", lambda: [*MADE_BY, AS_IS]),
            "xfs,ext4",
        ),
    ]


class Removing(PlannedStep, frozen=True, kw_only=True):
    """A purge to measure."""

    removal: Annotated[
        Removal,
        Option(
            "How they are removed, with commas: purge, by PURGE BINARY LOGS on a connection of its own; rotation, as expired by the "
            "commit that rotates the binary log.",
            None,
            "purge,rotation",
        ),
    ]
    file_size_bytes: Annotated[
        int, Option("Sizes of one binary log file, with commas.", parse_size, "1G,50M", name="file_size")
    ] = msgspec.field(name="file_size")


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
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


class RemovalTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Duration of a purge, and its effect on commits."""

    seconds: float
    """Seconds from the statement to its answer, or from the new file until the list of files to purge is gone."""
    commits: int
    """Commits acknowledged to clients within these seconds."""
    longest_within_s: float
    """Longest part of these seconds without a commit."""
    longest_without_commit_s: float
    """Longest time without a commit that overlaps the purge, in seconds."""


def removal_times(statements: Sequence[Acknowledged], began: float, ended: float, until: float) -> RemovalTimes:
    """Return the effect of a purge from `began` to `ended` on the commits; `until`: end of the period examined."""
    first = max((each.done for each in statements if each.done < began), default=began)
    overlapping = [gap for start, gap in commit_gaps(statements, first, until) if start < ended and start + gap > began]
    return RemovalTimes(
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
    lying: PreparedFiles = msgspec.field(name="files")
    quiet: CommitWindow
    removing: CommitWindow
    """Window from the purge on, as long as `quiet` or until a second after the purge."""
    removal_times: RemovalTimes = msgspec.field(name="removal")

    @property
    @quantity("removal", "ms", places=1, scale=1000)
    def removal_s(self) -> float:
        """Return the duration of the purge in seconds."""
        return self.removal_times.seconds

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
        return self.removal_times.longest_without_commit_s

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
        return self.is_long_enough and self.removal_times.longest_within_s >= _NEARLY_ALL * self.removal_s

    @property
    def kept_up(self) -> float:
        """Return the share of the statements due before the purge that were acknowledged in that time."""
        return sum(self.quiet.commits) / max(1.0, self.asked_per_second * len(self.quiet.commits))

    @override
    def details(self) -> Mapping[str, object]:
        return {
            "files": len(self.lying.bytes),
            "purged_bytes": sum(self.lying.bytes),
            "extents_of_a_file": statistics.median(self.lying.extents) if self.lying.extents else None,
            "cached_bytes": self.lying.cached_bytes,
            "written_s": self.lying.seconds,
            "kept_up": self.kept_up,
            "commits_during_removal": self.removal_times.commits,
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


@dataclass(frozen=True, slots=True)
class LoggingServer:
    """A server under load, and the disk of its binary logs."""

    started: StartedServer
    place: Place
    logs: BinaryLogs
    notes: Path
    """Folder for the clients' notes."""


class BinlogPurge(Experiment[Server, Removing, Conditions, LoggingServer, PurgeTrial]):
    """Clients write, binary logs are removed, and every commit is timed."""

    question = "Does removing binary logs stall writers, and does it depend on the size of the files?"
    group_noun = Noun("instance", "instances")
    step_noun = Noun("removal", "removals")
    brief = True
    repeat = "10"

    @classmethod
    @override
    def refuse(cls, group: Server, step: Removing, conditions: Conditions) -> None:
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
        if conditions.seconds < _SHORTEST:
            raise InvalidInput(f"{conditions.seconds:g} s of writing are too short", f"choose {_SHORTEST:g}s or more")
        profile = storage_profile(group.storage)
        if isinstance(profile, TmpfsStorage):
            raise InvalidInput(
                f"the storage {group.storage} is memory, on which removing a file takes no time", "choose another"
            )
        if group.file_system == AS_IS and not isinstance(profile, FolderStorage):
            raise InvalidInput(
                f"the storage {group.storage} is a disk of the lab's, with no file system of its own yet",
                "choose FILESYSTEM=xfs,ext4 for it",
            )

    @override
    def check(self, positions: Sequence[int]) -> None:
        from redolab.bench.own_disk import check_disks

        check_disks(self.lab, [self.plan.groups[self.plan.steps[position].group] for position in positions])

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        folders = {Path(each.path) for each in self._profiles().values() if isinstance(each, FolderStorage)}
        disk = {each if each.is_absolute() else self.lab.home: self._disk_size() for each in folders}
        return Needs(
            memory=_POOL,
            memory_for=f"a buffer pool of {format_size(_POOL)}",
            disk=disk or {self.lab.home: self._disk_size()},
            disk_for=dict.fromkeys(disk, f"a server with {format_size(self.conditions.purged)} of binary logs"),
            remedy="choose a smaller PURGED",
        )

    @contextmanager
    @override
    def opened(self, run: Run) -> Iterator[None]:
        from redolab.storage.attaching import Storages

        with Storages(self.lab, self._profiles()) as self._storages:
            yield

    @contextmanager
    @override
    def group(self, group: Server, at: GroupContext) -> Iterator[LoggingServer]:
        from redolab.bench.own_disk import folder_on_disk, notes_folder, own_disk
        from redolab.bench.started_server import started_server
        from redolab.servers.dialects import InstanceRequest, Purpose, Setting
        from redolab.servers.instance import DATA
        from redolab.workloads.paced import paced_tables

        from .binary_logs import FILLER, BinaryLogs

        server = self.lab.server(group.server)
        name = f"{group.server}-{group.storage.strip('/').replace('/', '-')}-{group.file_system}"
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
        with (
            notes_folder(self.lab, "binlog-purge-notes") as notes,
            own_disk(self.lab, self._storages, group, self._disk_size()) as place,
            folder_on_disk(self.lab, server, place, group, name) as folder,
            started_server(self.lab, at.run, server, folder, request) as started,
        ):
            started.execute(*paced_tables(self.conditions.clients), *FILLER)
            yield LoggingServer(started, place, BinaryLogs(started.connection, folder / DATA), notes)

    @override
    def measure(self, group: Server, step: Removing, made: LoggingServer, at: StepContext[PurgeTrial]) -> PurgeTrial:
        files = f"{self.conditions.purged // step.file_size_bytes} of {format_size(step.file_size_bytes)}"
        title = f"{group.server}, {group.file_system} of {group.storage}: {files}, {step.removal}"
        with self.lab.progress.stage(title, "measure", brief=True) as stage, made.place.blamed():
            return self._removed_under_load(made, step, stage)

    def _removed_under_load(self, made: LoggingServer, step: Removing, stage: Stage) -> PurgeTrial:
        from redolab.clock import now
        from redolab.workloads.paced import paced_updates

        from .binary_logs import forget, prepared

        conditions, logs, instance = self.conditions, made.logs, made.started.instance
        written, took = logs.write(
            step.file_size_bytes,
            conditions.purged // step.file_size_bytes,
            lambda size: stage.advance(size, conditions.purged, f"{format_size(size)} of binary logs"),
        )
        if step.removal is Removal.ROTATION:
            logs.expire(written)
        if not conditions.cached:
            forget(written)
        lying = prepared(written, took)
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
            stage.say("the files are removed")
            asked = now().monotonic
            removed = logs.purge(written) if step.removal is Removal.PURGE else logs.rotate(written, look)
            ended = max(asked + conditions.seconds, removed.ended + _AFTERWARDS)
            load.wait(ended, look)
            load.wait_answered(ended, _BEHIND, look)
            statements = load.statements()
        return PurgeTrial(
            version=instance.server.version,
            asked_per_second=rate,
            clients=clients,
            lying=lying,
            quiet=commit_window(statements, began, asked),
            removing=commit_window(statements, asked, ended),
            removal_times=removal_times(statements, removed.began, removed.ended, ended),
        )

    def _profiles(self) -> Mapping[str, StorageProfile]:
        return {group.storage: storage_profile(group.storage) for group in self.plan.groups}

    def _disk_size(self) -> int:
        """Return bytes of an instance's disk: half of it stays free, as a full one would break up the files."""
        return 2 * self.conditions.purged + _SERVER
