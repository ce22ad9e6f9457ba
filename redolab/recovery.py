"""One recovery: a start of a server on a copy of a crash image, timed and checked."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR, ER
from pymysql.cursors import Cursor

from redolab.crash import CrashImage, ImageStore, read_variables
from redolab.dataset import OPEN_TRANSACTION_TABLE, PROBE_TABLE
from redolab.device import DeviceCounters, DeviceUse, use_between
from redolab.errors import CheckFailed, InvalidInput
from redolab.hosts import Copy
from redolab.lab import Lab
from redolab.progress import Stage
from redolab.servers.dialects import Dialect, Purpose, Setting
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.storage.place import Place
from redolab.timeline import Event, Timeline
from redolab.units import format_duration, format_size
from redolab.workloads import DATABASE

_PATIENCE = 6 * 3600.0
_GREETING = 1.0
_SETTLED = 5.0
# No socket yet, nobody listening, hung up in the middle of the greeting, shutting down.
_NOT_YET = (
    CR.CR_CONNECTION_ERROR,
    CR.CR_CONN_HOST_ERROR,
    CR.CR_SERVER_GONE_ERROR,
    CR.CR_SERVER_LOST,
    ER.SERVER_SHUTDOWN,
)


class TableCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What was checked after a recovery and what came of it."""

    what: str
    expected: str
    found: str

    @property
    def passed(self) -> bool:
        """Whether what was found is what must be there."""
        return self.found == self.expected


class RecoveryTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One recovery, measured. Times in seconds from the start of the server's process, sizes in bytes."""

    image: str
    server: str
    version: str
    storage: str
    log_size: int
    buffer_pool: int
    repeat: int
    started: datetime
    copy: Copy
    cache_dropped: bool
    """Whether the operating system's page cache was emptied before: without root it is not."""
    seconds_to_ready: float
    """To the arrival of the line that says it takes connections."""
    first_connection: float
    first_write: float
    rollback_ended: float | None
    """None when there was nothing to roll back."""
    timeline: Timeline
    settings: tuple[Setting, ...]
    variables: Mapping[str, str]
    checks: tuple[TableCheck, ...]
    device: DeviceUse | None = None
    """What the block device under the storage did from the start to ready; None where it has none."""
    cpu_seconds: float | None = None
    """Processor time of the server from its start to ready."""
    late_share: float | None = None
    """By how much later than it was to a disk model answered, as a share of all its latencies; None on other storages."""
    took: float | None = None
    """Seconds for all of it: attaching the storage, copying, recovering, checking, detaching."""


def recover(
    lab: Lab,
    image: CrashImage,
    server: InstalledServer,
    images: ImageStore,
    place: Place,
    pool: int,
    repeat: int,
    log: Path,
) -> RecoveryTrial:
    """Recover a copy of an image on an attached storage with a buffer pool of so many bytes.

    Raises `InvalidInput` if this server cannot read the image, `CheckFailed` if what it recovered is not what must be there.
    """
    check_format(image, server.name, server.dialect)
    request = replace(image.spec.instance, purpose=Purpose.RECOVER, buffer_pool=pool)
    folder = place.folder / "instances" / f"{image.name}-recovery"
    title = f"recovery {repeat} of {image.name} on {place.name}, buffer pool {format_size(pool)}"
    with (
        place.blamed(),
        lab.ledger.making(folder, f"the copy of {image.name} that was being recovered"),
        ExitStack() as running,
    ):
        prepare_folder(lab.host, server, folder, [])
        with lab.progress.stage(f"copying {image.name}", "copy"):
            lab.host.files.remove(folder / DATA)
            copy = lab.host.files.copy_folder(place.staged or images.data(image), folder / DATA)
        cache_dropped = lab.host.drop_page_cache()
        if place.device is not None:
            place.device.wait_quiet(_SETTLED)
        with lab.progress.stage(title, "recover") as stage, place.limited():
            started = datetime.now(UTC)
            before = place.device.counters() if place.device else None
            instance = running.enter_context(Instance.start(lab.host, server, folder, request, log))
            probe = _Probe(lab, instance, stage, place)
            with instance.answering():
                instance.watch(_PATIENCE, probe.recovered)
            connection, first_connection, first_write = probe.result()
            timeline = instance.recovery()
            ready = instance.seconds_to(Event.READY)
            assert ready is not None
            if timeline is None:
                raise CheckFailed(
                    f"{server.name} started on {image.name} without a crash recovery",
                    f"its error log is {log}",
                )
            late = place.late_share()
            stage.outcome = f"ready after {format_duration(ready)}"
        with lab.progress.stage("checking the recovered tables", "check"), instance.answering():
            checks = _check(connection, image, repeat)
            variables = read_variables(connection)
        failed = [check for check in checks if not check.passed]
        if failed:
            said = [f"{check.what}: {check.found} instead of {check.expected}" for check in failed]
            raise CheckFailed(f"{server.name} recovered {image.name} wrongly", f"its error log is {log}", said)
    return RecoveryTrial(
        image=image.name,
        server=server.name,
        version=server.version,
        storage=place.name,
        log_size=image.spec.instance.log_size,
        buffer_pool=pool,
        repeat=repeat,
        started=started,
        copy=copy,
        cache_dropped=cache_dropped,
        seconds_to_ready=ready,
        first_connection=first_connection,
        first_write=first_write,
        rollback_ended=instance.seconds_to(Event.UNDO_END),
        timeline=timeline,
        settings=tuple(server.dialect.settings(request)),
        variables=variables,
        checks=tuple(checks),
        device=probe.device_since(before),
        cpu_seconds=probe.cpu_seconds,
        late_share=late,
    )


def check_format(image: CrashImage, server: str, dialect: Dialect) -> None:
    """Raises `InvalidInput` if a server cannot read the redo of an image."""
    if image.redo_format != dialect.redo_format:
        raise InvalidInput(
            f"the crash image {image.name} has redo of format {image.redo_format}, and {server} reads {dialect.redo_format} only",
            f"recover it with {image.spec.dataset.server}",
        )


class _Probe:
    """Knocks at a recovering server until it answers, then writes; knows when nothing of the recovery is left to come."""

    def __init__(self, lab: Lab, instance: Instance, stage: Stage, place: Place) -> None:
        self.cpu_seconds: float | None = None
        self._lab = lab
        self._instance = instance
        self._stage = stage
        self._place = place
        self._at_ready: tuple[DeviceCounters | None, float] | None = None
        self._connection: Connection | None = None
        self._connected: float | None = None
        self._written: float | None = None

    def recovered(self) -> bool:
        """Try what is next; True once the server has taken a write, and has rolled back what it found open."""
        if self._instance.log:
            self._stage.say(self._instance.log[-1].text[-80:])
        if self._at_ready is None and self._instance.is_ready:
            device = self._place.device
            self._at_ready = (device.counters() if device else None, self._since_start())
            self.cpu_seconds = self._instance.cpu_seconds()
        if self._connection is None:
            try:
                self._connection = self._instance.connections.connect(_GREETING)
                self._connected = self._since_start()
            except pymysql.MySQLError as error:
                if error.args[0] not in _NOT_YET:
                    raise
        if self._connection is not None and self._written is None:
            with self._connection.cursor() as cursor:
                cursor.execute(f"INSERT INTO {PROBE_TABLE} (written) VALUES (CURRENT_TIMESTAMP)")
            self._written = self._since_start()
        return self._written is not None and self._instance.has_recovered()

    def result(self) -> tuple[Connection, float, float]:
        """The connection, and seconds from the server's start to it and to its first write."""
        assert self._connection is not None
        assert self._connected is not None
        assert self._written is not None
        return self._connection, self._connected, self._written

    def device_since(self, before: DeviceCounters | None) -> DeviceUse | None:
        """What the device under the storage did from `before`, at the start, to ready."""
        assert self._at_ready is not None
        at_ready, seconds = self._at_ready
        return None if before is None or at_ready is None else use_between(before, at_ready, seconds)

    def _since_start(self) -> float:
        return self._lab.host.now().monotonic - self._instance.started.monotonic


def _check(connection: Connection, image: CrashImage, repeat: int) -> list[TableCheck]:
    """The row counts of all tables; one of the workload's, another at each repeat, and the one rolled back, page by page."""
    tables = image.spec.dataset.tables
    names = tables.names()
    sample = f"{DATABASE}.{names[(repeat - 1) % len(names)]}"
    with connection.cursor() as cursor:
        checks = [
            _expect(cursor, f"rows of {name}", f"SELECT COUNT(*) FROM {DATABASE}.{name}", tables.rows) for name in names
        ]
        changed = f"SELECT COUNT(*) FROM {OPEN_TRANSACTION_TABLE} WHERE changed <> 0"
        checks.append(_expect(cursor, "rows changed by the transaction that was open", changed, 0))
        rows = image.spec.dataset.open_transaction_rows
        checks.append(_expect(cursor, "rows of it", f"SELECT COUNT(*) FROM {OPEN_TRANSACTION_TABLE}", rows))
        for table in (sample, OPEN_TRANSACTION_TABLE):
            cursor.execute(f"CHECK TABLE {table} EXTENDED")
            found = "; ".join(str(row[3]) for row in cursor.fetchall())
            checks.append(TableCheck(what=f"CHECK TABLE {table} EXTENDED", expected="OK", found=found))
    return checks


def _expect(cursor: Cursor, what: str, query: str, expected: int) -> TableCheck:
    cursor.execute(query)
    row = cursor.fetchone()
    return TableCheck(what=what, expected=str(expected), found=str(row[0] if row else None))
