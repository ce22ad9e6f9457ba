"""One recovery: a start of a server on a copy of a crash image, timed and checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR, ER

from redolab.clock import now
from redolab.crashes.clients import Followed, throughput_before
from redolab.crashes.dataset import OPEN_TRANSACTION_TABLE, PROBE_TABLE
from redolab.crashes.evidence import cap_log, keep_data, keep_script, keep_stacks
from redolab.crashes.images import WORKLOAD, CrashImage, ImageStore, check_format
from redolab.crashes.outcome import Outcome, Repeated, Unfinished, Watch
from redolab.crashes.warm import Throughput, WarmTime
from redolab.errors import InvalidInput, LabError, ServerFailed
from redolab.lab import Lab
from redolab.machine import copies, files
from redolab.machine.copies import Copy
from redolab.machine.device import DeviceCounters, DeviceUse, use_between
from redolab.machine.page_cache import drop_page_cache
from redolab.machine.processes import CpuUse
from redolab.progress import Stage
from redolab.servers.asked import settings_from
from redolab.servers.dialects import InstanceRequest, Purpose
from redolab.servers.install import InstalledServer
from redolab.servers.instance import DATA, Instance, UsedInstance, prepare_folder
from redolab.storage.place import Place
from redolab.timeline import Event, Timeline
from redolab.timeline.advance import standing
from redolab.units import format_duration, format_size
from redolab.workloads.contract import TableCheck, check_pages, check_value
from redolab.workloads.known import workload_catalogue

_PATIENCE = 6 * 3600.0
_GREETING = 1.0
_SETTLED = 5.0
_LOOK_EVERY = 0.25
_LAST_LINES = 15
STUCK_AFTER = 120.0
"""Seconds: no healthy recovery that the lab has timed was quiet for a tenth of it, slow disks included (docs/recovery.md)."""
# No socket yet, nobody listening, hung up in the middle of the greeting, shutting down.
_NOT_YET = (
    CR.CR_CONNECTION_ERROR,
    CR.CR_CONN_HOST_ERROR,
    CR.CR_SERVER_GONE_ERROR,
    CR.CR_SERVER_LOST,
    ER.SERVER_SHUTDOWN,
)


class RecoveryTrial(msgspec.Struct, frozen=True, kw_only=True):
    """One recovery, measured. Times in seconds from the start of the server's process, sizes in bytes."""

    image: str
    server: str
    version: str
    storage: str
    log_size: int
    buffer_pool: int
    settings: str = ""
    """What was set beyond the lab's own settings (`redolab.servers.asked`)."""
    repeat: int
    started: datetime
    copy: Copy
    cache_dropped: bool
    """Whether the operating system's page cache was emptied before: without root it is not."""
    outcome: Outcome = Outcome.READY
    seconds_to_ready: float | None
    """To the arrival of the line that says it takes connections; None, as what follows, if it never did."""
    first_connection: float | None
    first_write: float | None
    rollback_ended: float | None
    """None when there was nothing to roll back."""
    timeline: Timeline | None
    """None of a server that did not get so far as to tell of a recovery."""
    instance: str
    """The hash under which the run keeps the server's settings, and the variables of one that could be asked."""
    checks: tuple[TableCheck, ...]
    unfinished: Unfinished | None = None
    """What is known of a recovery that did not end in a server that is ready."""
    longest_quiet: float | None = None
    """The longest stretch without progress after which it got on again."""
    device: DeviceUse | None = None
    """What the block device under the storage did from the start to ready; None where it has none."""
    cpu: CpuUse | None = None
    """What the server used of the processors from its start to ready."""
    pages_read: int | None = None
    """Pages that the server had read from its files when it was recovered, before the first write; None after more than one
    batch, between which its count begins anew."""
    buffered: bool = False
    """Whether the disk model's file was read through the page cache, as its file system knows no other way."""
    late_share: float | None = None
    """By how much later than it was to a disk model answered, as a share of all its latencies; None on other storages."""
    lab_cpu_seconds: float | None = None
    """What the lab itself used of the processors meanwhile, from the start to ready: watching must not slow what it watches."""
    warm: WarmTime | None = None
    """What the workload's clients met afterwards; None where they were not started anew."""

    @property
    def failed_checks(self) -> Sequence[TableCheck]:
        """What is not as it must be: a recovery with any is wrong."""
        return [check for check in self.checks if not check.passed]


@dataclass(frozen=True, slots=True)
class RecoveryTask:
    """One recovery as it is to be done: of what, by whom, with which buffer pool in bytes, the how-manieth."""

    image: CrashImage
    server: InstalledServer
    pool: int
    repeat: int
    stuck_after: float = STUCK_AFTER
    """Seconds without progress after which it counts as stuck."""
    settings: str = ""
    """What is set beyond the lab's own settings (`redolab.servers.asked`)."""
    turn: int = 1
    """The how-manieth of all recoveries of the image it is: the first is checked more thoroughly."""
    warm_for: float = 0.0
    """Seconds for which the workload's clients are followed at most, from ready; 0: they are not started."""

    @property
    def request(self) -> InstanceRequest:
        """What the recovering server is to be like."""
        asked = settings_from(self.settings)
        return replace(self.image.spec.instance, purpose=Purpose.RECOVER, buffer_pool=self.pool, overrides=asked)


@dataclass(frozen=True, slots=True)
class Recorder:
    """Where what is left of a recovery goes."""

    log: Path
    """Its error log."""
    instance: Callable[[UsedInstance], str]
    """Keeps settings and variables, and gives the hash under which they are."""
    trial: Callable[[RecoveryTrial], None]
    """Keeps what was measured."""
    evidence: Path
    """The folder for what shows a finding: the data directory of a wrong recovery, stacks and a script of one that is stuck."""

    @property
    def series(self) -> Path:
        """What the workload's clients report after the recovery."""
        return self.log.with_suffix(".clients.csv")


def recover(lab: Lab, task: RecoveryTask, images: ImageStore, place: Place, recorder: Recorder) -> None:
    """Recover a copy of an image on an attached storage; the trial goes to the recorder as soon as it is measured.

    A recovery that is wrong, stuck or given up by the server is a trial too, and its evidence is kept. Raises
    `InvalidInput` if this server cannot read the image.
    """
    image, server = task.image, task.server
    check_format(image, server.name, server.dialect)
    throughput = _throughput_before(lab, image, images) if task.warm_for else None
    folder = place.folder / "instances" / f"{image.name}-recovery"
    title = f"recovery {task.repeat} of {image.name} on {place.name}, buffer pool {format_size(task.pool)}"
    with (
        # Without: the copy cannot be taken away either when its disk is gone.
        place.blamed(),
        lab.journal.making(folder, f"the copy of {image.name} that was being recovered"),
        # And within: once the copy is gone, a disk that was full is no longer.
        place.blamed(),
        ExitStack() as running,
        ExitStack() as limited,
    ):
        prepare_folder(server, folder)
        with lab.progress.stage(f"copying {image.name}", "copy"):
            files.remove(folder / DATA)
            copy = copies.copy_folder(place.staged or images.data(image), folder / DATA)
        cache_dropped = drop_page_cache()
        if place.device is not None:
            place.device.wait_quiet(_SETTLED)
        with lab.progress.stage(title, "recover") as stage:
            limited.enter_context(place.limited())
            started = datetime.now(UTC)
            before = place.device.counters() if place.device else None
            instance = running.enter_context(Instance.start(server, folder, task.request, recorder.log))
            clients = _clients(lab, image, throughput, instance, recorder)
            if clients is not None:
                running.enter_context(clients)
            probe = _Probe(instance, stage, place, task.stuck_after, clients)
            outcome = _watched(instance, probe, place)
            late = place.late_share()
            if outcome is Outcome.GAVE_UP and (refused := _refused(task, instance)) is not None:
                raise refused
            if outcome is not Outcome.READY:
                unfinished = _unfinished(lab, task, images, instance, probe, outcome, recorder)
                stage.outcome = f"{outcome} at {unfinished.where}"
                what = _what(task, place, started, copy, cache_dropped=cache_dropped)
                recorder.trial(_unfinished_trial(what, instance, probe, outcome, unfinished, recorder, late))
                return
            reached = probe.result()
            timeline = instance.recovery()
            ready = instance.seconds_to(Event.READY)
            assert ready is not None
            if timeline is None:
                raise LabError(
                    f"{server.name} started on {image.name} without a crash recovery",
                    f"its error log is {recorder.log}",
                )
            stage.outcome = f"ready after {format_duration(ready)}"
        warm = None if clients is None else _followed(lab, clients, task, recorder)
        limited.close()
        with lab.progress.stage("checking the recovered tables", "check") as checking:
            checks, used = _checked(instance, reached.connection, image, task.turn, checking)
            wrong = any(not check.passed for check in checks)
            if wrong:
                checking.outcome = "WRONG"
        if wrong:
            instance.end()
            keep_data(lab, folder / DATA, recorder.evidence / DATA)
        recorder.trial(
            RecoveryTrial(
                **_what(task, place, started, copy, cache_dropped=cache_dropped),
                seconds_to_ready=ready,
                first_connection=reached.connected,
                first_write=reached.written,
                rollback_ended=instance.seconds_to(Event.UNDO_END),
                timeline=timeline,
                instance=recorder.instance(used),
                checks=tuple(checks),
                longest_quiet=probe.watch.longest,
                device=probe.device_since(before),
                cpu=probe.cpu,
                lab_cpu_seconds=probe.lab_cpu,
                # The server sets its count to 0 when it empties the pool between batches.
                pages_read=probe.pages_read if timeline.batches in (None, 1) else None,
                late_share=late,
                warm=warm,
            )
        )


def _unfinished_trial(
    what: Mapping[str, Any],
    instance: Instance,
    probe: _Probe,
    outcome: Outcome,
    unfinished: Unfinished,
    recorder: Recorder,
    late: float | None,
) -> RecoveryTrial:
    """The trial of a recovery that did not end in a server that is ready."""
    return RecoveryTrial(
        **what,
        outcome=outcome,
        seconds_to_ready=None,
        first_connection=None,
        first_write=None,
        rollback_ended=None,
        timeline=instance.recovery(),
        instance=recorder.instance(instance.asked()),
        checks=(),
        unfinished=unfinished,
        longest_quiet=probe.watch.longest,
        late_share=late,
    )


def _throughput_before(lab: Lab, image: CrashImage, images: ImageStore) -> Throughput | None:
    """What the clients had before the crash; None, which is told, if they were too brief for it, and are not followed then."""
    before = throughput_before(images.folder(image.name) / WORKLOAD)
    if before is None or not before.commits:
        lab.progress.note(
            f"clients are not followed: they wrote too briefly before {image.name} (KILLAFTER=1m is long enough)"
        )
        return None
    return before


def _followed(lab: Lab, clients: Followed, task: RecoveryTask, recorder: Recorder) -> WarmTime | None:
    """What the clients met; None if the server did not survive them, which the checks that follow find."""
    with lab.progress.stage("following the clients until throughput is back", "warm") as stage:
        try:
            found = clients.follow(task.warm_for, stage)
        except ServerFailed as error:
            stage.outcome = error.problem
            clients.close()
            return None
    return msgspec.structs.replace(found, series=f"{recorder.series.parent.name}/{recorder.series.name}")


def _clients(
    lab: Lab, image: CrashImage, before: Throughput | None, instance: Instance, recorder: Recorder
) -> Followed | None:
    """Those of the workload that the crash stopped, if they are to be followed."""
    if before is None:
        return None
    spec = image.spec
    workload = workload_catalogue().get(spec.workload)
    return Followed(lab, workload, spec.dataset.data, spec.clients, before, instance, recorder.series)


def _what(task: RecoveryTask, place: Place, started: datetime, copy: Copy, *, cache_dropped: bool) -> dict[str, Any]:
    """What every trial says of what was done."""
    return {
        "image": task.image.name,
        "server": task.server.name,
        "version": task.server.version,
        "storage": place.name,
        "log_size": task.image.spec.instance.log_size,
        "buffer_pool": task.pool,
        "settings": task.settings,
        "repeat": task.repeat,
        "started": started,
        "copy": copy,
        "cache_dropped": cache_dropped,
        "buffered": place.buffered,
    }


def _watched(instance: Instance, probe: _Probe, place: Place) -> Outcome:
    """Watch a recovery to its end; how it ended. Raises `LabError` where the storage is at fault, or the lab."""
    try:
        with instance.answering():
            instance.watch(_PATIENCE, probe.recovered)
    except _StuckError:
        return Outcome.STUCK
    except ServerFailed:
        place.check()
        if instance.status is None or instance.is_ready:
            raise
        return Outcome.GAVE_UP
    return Outcome.READY


def _refused(task: RecoveryTask, instance: Instance) -> InvalidInput | None:
    """That what was asked for is no setting of this server, if it ended by that: by an error that names the setting."""
    names = [setting.name for setting in settings_from(task.settings)]
    errors = (line.text for line in instance.log if "ERROR" in line.text)
    said = next((text for text in errors if any(name in text.replace("-", "_") for name in names)), None)
    if said is None:
        return None
    return InvalidInput(f"{task.server.name} does not take {task.settings}: {said}", "give it settings of its version")


def _unfinished(
    lab: Lab,
    task: RecoveryTask,
    images: ImageStore,
    instance: Instance,
    probe: _Probe,
    outcome: Outcome,
    recorder: Recorder,
) -> Unfinished:
    """What is known of a recovery that did not end in a server that is ready; its evidence is kept, and it is ended."""
    since, status = probe.since_progress(), instance.status
    if outcome is Outcome.STUCK and instance.pid is not None:
        keep_stacks(lab, instance.pid, recorder.evidence)
    keep_script(task.server, task.request, images.data(task.image), recorder.evidence)
    instance.end()
    stands = standing(instance.log)
    repeated = cap_log(recorder.log)
    return Unfinished(
        phase=stands.phase,
        percent=stands.percent,
        progress_ended=since.progress_ended,
        ended=since.now,
        status=status,
        cpu_seconds=since.cpu_seconds,
        device=since.device,
        repeated=tuple(Repeated(text=each.text, times=each.times) for each in repeated),
        last_lines=tuple(line.text for line in instance.log[-_LAST_LINES:]),
    )


@dataclass(frozen=True, slots=True)
class _Reached:
    """A connection to the recovered server, and seconds from its start to it and to the first write."""

    connection: Connection
    connected: float
    written: float


@dataclass(frozen=True, slots=True)
class _SinceProgress:
    """What happened since a recovery got on last; times in seconds from the start of the process."""

    progress_ended: float
    now: float
    cpu_seconds: float | None
    device: DeviceUse | None


class _StuckError(Exception):
    """The recovery does not get on."""


class _Probe:
    """Knocks at a recovering server until it answers, then writes; knows when nothing of the recovery is left to come.

    Meanwhile it follows whether the recovery gets on.
    """

    def __init__(
        self, instance: Instance, stage: Stage, place: Place, stuck_after: float, clients: Followed | None = None
    ) -> None:
        self.cpu: CpuUse | None = None
        self.lab_cpu: float | None = None
        self._lab_cpu_before = time.process_time()
        self.pages_read: int | None = None
        self.watch = Watch(instance.started.monotonic)
        self._instance = instance
        self._stage = stage
        self._place = place
        self._stuck_after = stuck_after
        self._clients = clients
        self._heard = 0
        self._looked = 0.0
        self._busiest = 0.0
        self._at_progress: tuple[CpuUse | None, DeviceCounters | None] = (None, None)
        self._at_ready: tuple[DeviceCounters | None, float] | None = None
        self._connection: Connection | None = None
        self._connected: float | None = None
        self._written: float | None = None

    def recovered(self) -> bool:
        """Try what is next; True once the server has taken a write, and has rolled back what it found open.

        Raises `_StuckError` when it has not got on for too long.
        """
        if self._instance.log:
            self._stage.say(self._instance.log[-1].text[-80:])
        self._follow()
        if self._instance.is_ready:
            self._read_usage()
        if self._connection is None and self._instance.connections.can_be_tried():
            try:
                self._connection = self._instance.connections.connect(_GREETING)
                self._connected = self._since_start()
            except pymysql.MySQLError as error:
                if error.args[0] not in _NOT_YET:
                    raise
        if self._connection is not None and self._written is None:
            # The line that says ready can come after the server takes connections: what the probe writes is not recovery.
            self._read_usage()
            with self._connection.cursor() as cursor:
                cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_pages_read'")
                row = cursor.fetchone()
                self.pages_read = int(row[1]) if row else None
                cursor.execute(f"INSERT INTO {PROBE_TABLE} (written) VALUES (CURRENT_TIMESTAMP)")
            self._written = self._since_start()
        if self._clients is not None and self._written is not None and self._instance.is_ready:
            # Users do not wait for the rollback either.
            self._clients.start()
            self._clients = None
        return self._written is not None and self._instance.has_recovered()

    def since_progress(self) -> _SinceProgress:
        """What happened since it got on last."""
        at, started = now().monotonic, self._instance.started.monotonic
        (cpu_then, device_then), cpu_now = self._at_progress, self._instance.cpu_use()
        device = self._place.device
        used = (
            None
            if device is None or device_then is None
            else use_between(device_then, device.counters(), self.watch.quiet(at))
        )
        return _SinceProgress(
            progress_ended=self.watch.progress_at - started,
            now=at - started,
            cpu_seconds=None if cpu_then is None or cpu_now is None else cpu_now.seconds - cpu_then.seconds,
            device=used,
        )

    def _follow(self) -> None:
        """Look now and then whether it gets on."""
        at = now().monotonic
        if at - self._looked < _LOOK_EVERY:
            return
        self._looked = at
        lines, self._heard = self._instance.log[self._heard :], len(self._instance.log)
        before = self.watch.progress_at
        self.watch.hear(at, (line.text for line in lines))
        if (moved := self._instance.bytes_moved()) is not None:
            self.watch.see(at, *moved)
        use = self._instance.cpu_use()
        if use is not None and use.busiest_thread is not None:
            # MySQL recovers in a thread that has ended before the server is ready.
            self._busiest = max(self._busiest, use.busiest_thread)
        if self.watch.progress_at != before:
            device = self._place.device
            self._at_progress = (use, device.counters() if device else None)
        if self.watch.quiet(at) > self._stuck_after:
            raise _StuckError

    def result(self) -> _Reached:
        """What it reached."""
        assert self._connection is not None
        assert self._connected is not None
        assert self._written is not None
        return _Reached(self._connection, self._connected, self._written)

    def device_since(self, before: DeviceCounters | None) -> DeviceUse | None:
        """What the device under the storage did from `before`, at the start, to ready."""
        assert self._at_ready is not None
        at_ready, seconds = self._at_ready
        return None if before is None or at_ready is None else use_between(before, at_ready, seconds)

    def _read_usage(self) -> None:
        """What the device and the processor have done up to ready, or to the first write where that comes before."""
        if self._at_ready is None:
            device = self._place.device
            self._at_ready = (device.counters() if device else None, self._since_start())
            self.lab_cpu = time.process_time() - self._lab_cpu_before
            use = self._instance.cpu_use()
            if use is not None:
                busiest = max(self._busiest, use.busiest_thread or 0.0)
                self.cpu = msgspec.structs.replace(use, busiest_thread=busiest)

    def _since_start(self) -> float:
        return now().monotonic - self._instance.started.monotonic


def _checked(
    instance: Instance, connection: Connection, image: CrashImage, turn: int, stage: Stage
) -> tuple[list[TableCheck], UsedInstance]:
    """What is checked after a recovery, and what the server was like; one that refuses or ends meanwhile has failed."""
    try:
        return _check(connection, image, turn, stage), instance.used(connection)
    except pymysql.MySQLError as error:
        ended = "" if instance.status is None else f"; it ended with status {instance.status}"
        failed = TableCheck(what="the server answers", expected="yes", found=f"{error}{ended}")
        return [failed], instance.asked()


def _check(connection: Connection, image: CrashImage, turn: int, stage: Stage) -> list[TableCheck]:
    """What the workload verifies of its data, another part each turn, and the transaction that was rolled back."""
    dataset = image.spec.dataset
    checks = workload_catalogue().get(image.spec.workload).verify(connection, dataset.data, turn, stage.advance)
    with connection.cursor() as cursor:
        changed = f"SELECT COUNT(*) FROM {OPEN_TRANSACTION_TABLE} WHERE changed <> 0"
        rows = f"SELECT COUNT(*) FROM {OPEN_TRANSACTION_TABLE}"
        return [
            *checks,
            check_value(cursor, "rows changed by the transaction that was open", changed, 0),
            check_value(cursor, "rows of it", rows, dataset.open_transaction_rows),
            check_pages(cursor, OPEN_TRANSACTION_TABLE),
        ]
