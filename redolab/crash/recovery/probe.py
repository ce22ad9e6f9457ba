"""Probe of a recovering server: it tries to connect until the server answers, and watches the progress meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import msgspec
import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR, ER

from redolab.clock import now
from redolab.crash.records.dataset import PROBE_TABLE
from redolab.disks.place import Place
from redolab.errorlog.stamps import records
from redolab.errorlog.watch import Watch
from redolab.machine.device import use_between
from redolab.machine.facts import CpuUse, DeviceCounters, DeviceUse, Disturbance
from redolab.machine.processor_use import disturbance, processor_times
from redolab.progress import Stage
from redolab.servers.instance import Instance

_GREETING = 1.0
_LOOK_EVERY = 0.25
_TO_END = 2.0
"""Seconds between the loss of a connection and the end of a server that is about to end."""
# No socket yet, nobody listening, hung up in the middle of the greeting, shutting down.
_NOT_YET = (
    CR.CR_CONNECTION_ERROR,
    CR.CR_CONN_HOST_ERROR,
    CR.CR_SERVER_GONE_ERROR,
    CR.CR_SERVER_LOST,
    ER.SERVER_SHUTDOWN,
)


class StuckError(Exception):
    """The recovery makes no progress."""


class RefusedError(Exception):
    """The server is ready, but refuses a statement."""


@dataclass(frozen=True, slots=True)
class SinceProgress:
    """Resources used since a recovery last made progress; times in seconds from the start of the process."""

    progress_ended: float
    now: float
    cpu_seconds: float | None
    device: DeviceUse | None


class Probe:
    """Tries to connect until the server answers, then writes; finds out when the recovery is over."""

    def __init__(
        self,
        instance: Instance,
        stage: Stage,
        place: Place,
        stuck_after: float,
        users_return: Callable[[], None] | None = None,
    ) -> None:
        """`users_return` is called once the server has taken a write: users do not wait for the rollback either."""
        self.instance = instance
        self.place = place
        self.cpu: CpuUse | None = None
        self.lab_cpu: float | None = None
        self.peak_memory: int | None = None
        self.disturbance: Disturbance | None = None
        self.pages_read: int | None = None
        self.connection: Connection | None = None
        self.connected: float | None = None
        """Seconds from the server's start to the first connection, as `written` to the first write."""
        self.written: float | None = None
        self.watch = Watch(instance.started.monotonic)
        self._lab_cpu_before = time.process_time()
        self._processors_before = processor_times()
        self._stage = stage
        self._stuck_after = stuck_after
        self._users_return = users_return
        self._heard = 0
        self._looked = 0.0
        self._busiest = 0.0
        self._at_progress: tuple[CpuUse | None, DeviceCounters | None] = (None, None)
        self._at_ready: tuple[DeviceCounters | None, float] | None = None

    def recovered(self) -> bool:
        """Take the next step. Return True once the server has taken a write and has rolled back all open transactions.

        Raises `StuckError` after too long without progress, `RefusedError` if the server is ready and refuses to
        answer.
        """
        if self.instance.log:
            self._stage.say(self.instance.log[-1].text[-80:])
        self._follow()
        was_ready = self.instance.is_ready
        if was_ready:
            self._read_usage()
        try:
            self.knock()
        except pymysql.MySQLError as error:
            # A server that is not ready may still become so. `watch_recovery` notices a server that has ended.
            if was_ready and not self.instance.ends_within(_TO_END):
                raise RefusedError(str(error)) from error
        if self._users_return is not None and self.written is not None and self.instance.is_ready:
            self._users_return()
            self._users_return = None
        return self.written is not None and self.instance.has_recovered()

    def knock(self) -> None:
        """Try to connect; once there is a connection, write. Raises `pymysql.MySQLError` if the server refuses."""
        if self.connection is None and self.instance.connections.can_be_tried():
            try:
                # A server that has greeted either answers or counts as stuck, as one that never greeted.
                self.connection = self.instance.connections.connect(_GREETING, self._stuck_after)
                self.connected = self._since_server_start()
            except pymysql.MySQLError as error:
                if error.args[0] not in _NOT_YET:
                    raise
        if self.connection is not None and self.written is None:
            # The log's line about ready can come after the server takes connections. The probe's own writes are no
            # recovery.
            self._read_usage()
            try:
                self._write(self.connection)
            except pymysql.MySQLError:
                # The connection may be dead: the next attempt opens another; otherwise a ready server would seem to
                # refuse.
                with suppress(pymysql.MySQLError):
                    self.connection.close()
                self.connection = None
                raise
            self.written = self._since_server_start()

    def _write(self, connection: Connection) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_pages_read'")
            row = cursor.fetchone()
            self.pages_read = int(row[1]) if row else None
            cursor.execute(f"INSERT INTO {PROBE_TABLE} (written) VALUES (CURRENT_TIMESTAMP)")

    def since_progress(self) -> SinceProgress:
        """Return the resources used since the recovery last made progress."""
        at, started = now().monotonic, self.instance.started.monotonic
        (cpu_then, device_then), cpu_now = self._at_progress, self.instance.cpu_use()
        device = self.place.device
        used = (
            None
            if device is None or device_then is None
            else use_between(device_then, device.counters(), self.watch.quiet(at))
        )
        return SinceProgress(
            progress_ended=self.watch.progress_at - started,
            now=at - started,
            cpu_seconds=None if cpu_then is None or cpu_now is None else cpu_now.seconds - cpu_then.seconds,
            device=used,
        )

    def _follow(self) -> None:
        """Read the log, the bytes moved and the CPU use, a few times a second. Raises `StuckError`."""
        at = now().monotonic
        if at - self._looked < _LOOK_EVERY:
            return
        self._looked = at
        lines, self._heard = self.instance.log[self._heard :], len(self.instance.log)
        before = self.watch.progress_at
        for line in lines:
            for record in records(line.text):
                self.watch.hear(at, record)
        if (moved := self.instance.bytes_moved()) is not None:
            self.watch.see(at, *moved)
        use = self.instance.cpu_use()
        if use is not None and use.busiest_thread is not None:
            # MySQL recovers in a thread that has ended before the server is ready.
            self._busiest = max(self._busiest, use.busiest_thread)
        if self.watch.progress_at != before:
            device = self.place.device
            self._at_progress = (use, device.counters() if device else None)
        if self.watch.quiet(at) > self._stuck_after:
            raise StuckError

    def device_since(self, before: DeviceCounters | None) -> DeviceUse | None:
        """Return the device's use from `before`, at the start, to ready; None if the server was never ready."""
        if self._at_ready is None:
            return None
        at_ready, seconds = self._at_ready
        return None if before is None or at_ready is None else use_between(before, at_ready, seconds)

    def _read_usage(self) -> None:
        """Record the use of device and CPU up to ready, or up to the first write if that comes earlier."""
        if self._at_ready is None:
            device = self.place.device
            self._at_ready = (device.counters() if device else None, self._since_server_start())
            self.lab_cpu = time.process_time() - self._lab_cpu_before
            self.peak_memory = self.instance.peak_memory()
            self.disturbance = disturbance(self._processors_before, processor_times())
            use = self.instance.cpu_use()
            if use is not None:
                busiest = max(self._busiest, use.busiest_thread or 0.0)
                self.cpu = msgspec.structs.replace(use, busiest_thread=busiest)

    def _since_server_start(self) -> float:
        return now().monotonic - self.instance.started.monotonic
