"""The experiment prepare: mariadb-backup prepares a backup, and a server recovers from a crash right after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typing_extensions import override

from redolab.clock import now
from redolab.crash.bench.factors import several_storages, workload_name
from redolab.crash.bench.storage_experiment import StorageConditions, StorageExperiment
from redolab.errors import InvalidInput
from redolab.machine import files
from redolab.report.quantities import Quantity
from redolab.runs.bench import GroupContext, StepContext
from redolab.runs.experiment import Noun
from redolab.runs.factors import whole_number
from redolab.runs.needs import Needs
from redolab.runs.options import Option
from redolab.runs.plan import PlannedGroup, PlannedStep
from redolab.runs.schema import Trial
from redolab.servers.catalogue import server_names
from redolab.servers.dialects import SOCKET
from redolab.units import parse_size

if TYPE_CHECKING:
    from redolab.crash.records.crash import CrashImage
    from redolab.crash.wanted import WantedCrash
    from redolab.disks.place import Place
    from redolab.servers.install import InstalledServer
    from redolab.servers.instance import Instance

_BACKUP = "backup"
"""Folder of the backup in an instance's folder."""
_REDO = "ib_logfile0"
"""File of a backup with the redo that was copied."""
_PATIENCE = 3600.0
"""Seconds that a backup, or its preparation, may take."""


class Way(StrEnum):
    """Program that brings the files to a consistent state."""

    PREPARE = "prepare"
    RECOVERY = "recovery"


class Backup(PlannedGroup, frozen=True, kw_only=True):
    """A backup of a server under load, which is killed right after it."""

    server: Annotated[str, Option("Servers, with commas: MariaDB's of Debian.", server_names, "mariadb-11.8")]
    log_size: Annotated[int, Option("Redo log sizes, with commas; the log is full.", parse_size, "256M,1G")]
    workload: Annotated[str, Option("The loads, with commas.", workload_name, "bulk-update")]


class Restore(PlannedStep, frozen=True, kw_only=True):
    """A preparation of a copy of the backup, or a recovery of a copy of the data directory."""

    way: Annotated[
        Way, Option("With commas: prepare, by mariadb-backup; recovery, by the server.", None, "prepare,recovery")
    ]
    memory: Annotated[
        int,
        Option("Memory of --use-memory, or the recovering server's buffer pool, with commas.", parse_size, "128M,1G"),
    ]
    storage: Annotated[str, several_storages("local")]


class Conditions(StorageConditions, frozen=True, kw_only=True):
    """Conditions of the whole run."""

    connections: Annotated[int, Option("Clients of the load.", whole_number(1, 1024), "2")]


class Restored(Trial, frozen=True, kw_only=True):
    """One preparation or recovery."""

    version: str
    restore_s: Annotated[float, Quantity("until the files are consistent", "s")]
    redo_bytes: Annotated[int, Quantity("redo", "MiB", places=0, scale=1 / (1 << 20))]
    """Redo from the checkpoint on: of the backup's copy, or at the crash."""
    backup_s: float
    """Seconds that the backup took."""
    backup_bytes: int


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A crash image with the backup that was made right before the crash."""

    server: InstalledServer
    program: Path
    """mariadb-backup on this machine."""
    image: CrashImage
    data: Path
    backup: Path
    seconds: float

    @property
    def redo(self) -> int:
        """Bytes of redo that the backup copied."""
        return (self.backup / _REDO).stat().st_size


class Prepare(StorageExperiment[Backup, Restore, Conditions, BackedUp, Restored]):
    """A backup under load, and a crash after it: the same redo is applied by mariadb-backup and by the server."""

    question = "How long does mariadb-backup --prepare take, beside the crash recovery of a server with as much redo?"
    group_noun = Noun("backup", "backups")
    step_noun = Noun("restore", "restores")
    repeat = "2"

    @classmethod
    @override
    def refuse(cls, group: Backup, step: Restore, conditions: Conditions) -> None:
        from redolab.servers.packaged import has_packages
        from redolab.servers.sizes import check_pool

        check_pool(step.memory)
        if not has_packages(group.server):
            raise InvalidInput(
                f"{group.server} has no mariadb-backup here", "SERVER=mariadb-10.5, mariadb-10.11 or mariadb-11.8"
            )

    @override
    def check(self, positions: Sequence[int]) -> None:
        from redolab.disks.attaching import check_possible

        names = {self.plan.steps[each].step.storage for each in positions}
        check_possible({name: self.conditions.storages[name] for name in names})

    @override
    def needs(self, positions: Sequence[int], missing: Sequence[int]) -> Needs:
        from redolab.crash.bench.crashed_server import one_crash_needs
        from redolab.disks.attaching import DISKS
        from redolab.disks.profiles import HOME
        from redolab.servers import sizes

        largest = self._wanted(max(self.plan.groups, key=lambda each: each.log_size))
        needs = one_crash_needs(self.lab, largest)
        # Room for the backup and for a copy of it, and for as much on a storage elsewhere.
        more = 2 * sizes.data_directory(largest.dataset_size(largest.log_size), largest.log_size)
        steps = [self.plan.steps[each].step for each in positions]
        elsewhere = any(each.storage != HOME for each in steps)
        return replace(
            needs,
            memory=max(needs.memory, *(each.memory for each in steps)),
            memory_for="the buffer pool, or what a preparation is given",
            disk={
                self.lab.home: needs.disk[self.lab.home] + more,
                **({self.lab.folder / DISKS: more} if elsewhere else {}),
            },
            remedy="choose a smaller LOGSIZE or MEMORY",
        )

    @contextmanager
    @override
    def group(self, group: Backup, at: GroupContext) -> Iterator[BackedUp]:
        from redolab.crash.bench.crashed_server import crashed
        from redolab.crash.image_store import ImageStore
        from redolab.servers.packaged import mariadb_backup
        from redolab.servers.sandbox import INSTANCE

        server = self.lab.server(group.server)
        program, seconds = mariadb_backup(self.lab, server), list[float]()
        kept = self.lab.home / "instances" / f"{at.run.name}-{at.group + 1}-{_BACKUP}"

        def back_up(instance: Instance) -> None:
            log = at.run.log(f"backup-{at.group + 1:02}")
            # MariaDB's clients want TLS since 11.4, and the lab's servers have none.
            arguments = ["--backup", f"--socket={INSTANCE / SOCKET}", "--skip-ssl"]
            seconds.append(self._run(server, program, instance.folder, log, arguments))
            files.move(instance.folder / _BACKUP, kept)

        with (
            self.lab.journal.temporary(kept, f"the backup of {at.run.name}"),
            crashed(self.lab, at.run, server, self._wanted(group), back_up) as image,
        ):
            yield BackedUp(server, program, image, ImageStore(self.lab.home).data(image), kept, seconds[0])
            for name in (image.name, f"{image.name}-{_BACKUP}"):
                self.storages.release(name)

    @override
    def measure(self, group: Backup, step: Restore, made: BackedUp, at: StepContext[Restored]) -> Restored:
        from redolab.crash.bench.crashed_server import recovered
        from redolab.disks.attaching import Contents

        is_prepared = step.way is Way.PREPARE
        folder = made.backup if is_prepared else made.data
        name = f"{made.image.name}-{_BACKUP}" if is_prepared else made.image.name
        contents = Contents(name, folder, files.folder_size(folder))
        with self.storages.attached(step.storage, contents) as place:
            if is_prepared:
                seconds, redo = self._prepared(made, step, place, at), made.redo
            else:
                with recovered(self.lab, at, made.server, made.image, pool=step.memory, place=place) as ready:
                    seconds, redo = ready.ready_s, made.image.last_sample.checkpoint_age or 0
        return Restored(
            version=made.server.version,
            restore_s=seconds,
            redo_bytes=redo,
            backup_s=made.seconds,
            backup_bytes=files.folder_size(made.backup),
        )

    def _prepared(self, made: BackedUp, step: Restore, place: Place, at: StepContext[Restored]) -> float:
        """Prepare a copy of the backup on a storage, with a cold page cache; return the seconds."""
        from redolab.crash.recovery.cold_copy import copied_cold, instance_folder

        name, log = made.image.name, at.run.log(f"{at.position + 1:03}-prepare")
        with instance_folder(self.lab, place, f"{name}-{_BACKUP}", f"the copy of the backup of {name}") as folder:
            files.make_folder(folder)
            copied_cold(self.lab, place, "the backup", made.backup, folder / _BACKUP)
            with self.lab.progress.stage(f"preparing it on {place.name}", "recover"), place.limited():
                return self._run(made.server, made.program, folder, log, ["--prepare", f"--use-memory={step.memory}"])

    @staticmethod
    def _run(server: InstalledServer, program: Path, folder: Path, log: Path, arguments: Sequence[str]) -> float:
        """Run mariadb-backup on the backup in an instance's folder, in the server's sandbox; return the seconds.

        Raises `CommandFailed`.
        """
        from redolab.machine import processes
        from redolab.servers.sandbox import INSTANCE

        sandbox = replace(server.sandbox, extra_folders=(*server.sandbox.extra_folders, program.parent))
        command = sandbox.command(program, [*arguments, f"--target-dir={INSTANCE / _BACKUP}", "--user=root"], folder)
        began = now().monotonic
        output = processes.run(command, seconds=_PATIENCE)
        seconds = now().monotonic - began
        files.write_whole(log, output.err.encode())
        return seconds

    def _wanted(self, group: Backup) -> WantedCrash:
        from redolab.crash.wanted import WantedCrash

        return WantedCrash(
            log_size=group.log_size,
            workload=group.workload,
            threads=self.conditions.connections,
            open_transaction_rows=0,
        )
