"""A load that is watched while it goes on, and the size of its server's redo log changed meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pymysql.connections import Connection

from redolab.clock import now
from redolab.counters import Sample
from redolab.errors import LabError, ServerFailed
from redolab.machine.device import BlockDevice
from redolab.machine.facts import MachineSample
from redolab.progress import Stage
from redolab.records.turns import Resize
from redolab.results.load_figures import Second, per_second
from redolab.samples.machine_use import machine_sample
from redolab.samples.sampler import Sampler
from redolab.servers.dialects import CAPACITY_IN_FORCE
from redolab.servers.instance import Connections, Instance
from redolab.units import format_duration, format_size
from redolab.workloads.contract import RunningWorkload
from redolab.workloads.data import WorkloadMoment

_SAMPLE_EVERY = 1.0
_LOOK_EVERY = 0.2
_PATIENCE = 1800.0
"""Seconds in which a log must have its new size."""
_USUAL = 10.0
"""Seconds before a change whose throughput is the usual one."""


class WatchedLoad:
    """Clients that write, and all that was seen of them and of their server since it was last cleared."""

    def __init__(self, instance: Instance, running: RunningWorkload, device: BlockDevice | None) -> None:
        self.instance = instance
        self.moments: list[WorkloadMoment] = []
        self.samples: list[Sample] = []
        self.machine: list[MachineSample] = []
        self._running = running
        self._device = device
        self._sampler: Sampler | None = None

    @contextmanager
    def sampled(self, connection: Connection) -> Iterator[None]:
        """While in it: the server's counters and the machine's are read each second."""

        def record(sample: Sample) -> None:
            self.samples.append(sample)
            if self._device is not None:
                self.machine.append(machine_sample(self._device))

        with Sampler(lambda: self.instance.whole_sample(connection), _SAMPLE_EVERY, record) as self._sampler:
            yield

    def forget(self) -> None:
        """Let go of all but the last seconds."""
        since = now().monotonic - 2 * _USUAL
        self.moments = [each for each in self.moments if each.monotonic >= since]
        # In place: the sampler's thread appends to them.
        self.samples[:] = [each for each in self.samples if each.monotonic >= since]
        self.machine[:] = [each for each in self.machine if each.monotonic >= since]

    def watch(self, seconds: float, stage: Stage, until: Callable[[], bool] | None = None) -> None:
        """Let the clients go on for so long, or until it is so. Raises `LabError` if they or the server end."""
        began = now().monotonic
        while (passed := now().monotonic - began) < seconds and not (until is not None and until()):
            time.sleep(min(_LOOK_EVERY, seconds - passed))
            self._running.check_running()
            self.instance.check_running()
            if self._sampler is not None and self._sampler.failure is not None:
                raise ServerFailed(
                    f"{self.instance.server.name} did not say its counters: {self._sampler.failure}",
                    "see its log in the run's folder",
                )
            self.moments += self._running.moments()
            # How long something else will take is not known.
            if self.moments and until is None:
                stage.advance(passed, seconds, f"{rate_of(self.moments[-1]):,.0f} {unit_of(self.moments[-1])}")

    def resize(self, connection: Connection, before: int, after: int, settling: float, stage: Stage) -> Resize:
        """Give the log another size, and watch the load until it has it and so much longer. Raises `LabError`."""
        server = self.instance.server
        text = server.dialect.resizing(after).statement
        assert text is not None
        asked = now().monotonic
        statement = _Statement(self.instance.connections, text)
        in_force: list[float] = []

        def is_done() -> bool:
            if statement.failure is not None:
                raise ServerFailed(
                    f"{server.name} refused '{text}': {statement.failure}", "see its log in the run's folder"
                )
            if size_in_force(connection, self.instance) == after and statement.answered is not None:
                in_force.append(now().monotonic)
            return bool(in_force)

        self.watch(_PATIENCE, stage, is_done)
        if not in_force or statement.answered is None:
            raise ServerFailed(
                f"the redo log of {server.name} is not {format_size(after)} after {format_duration(_PATIENCE)}",
                "see its log in the run's folder",
            )
        done = in_force[0]
        self.watch(settling, stage)
        # Of a second in which nothing ended a program may say nothing.
        seconds = [(each.end - asked, _rate(each)) for each in per_second(self.moments)]
        usual = [rate for at, rate in seconds if -_USUAL < at <= 0]
        if not usual or not sum(usual):
            raise LabError(f"the clients of {server.name} ended no transaction", "see its log in the run's folder")
        return Resize(
            before=before,
            after=after,
            answered_s=statement.answered - asked,
            in_force_s=done - asked,
            usual_rate=sum(usual) / len(usual),
            rates=tuple(
                (round(at, 2), round(rate, 1)) for at, rate in seconds if -_USUAL < at <= done - asked + settling
            ),
        )


class _Statement:
    """A statement that is carried out in a thread of its own: a server may answer only when all is done."""

    def __init__(self, connections: Connections, text: str) -> None:
        self.answered: float | None = None
        """Monotonic."""
        self.failure: Exception | None = None
        self._connections = connections
        self._text = text
        # Who interrupts the lab does not wait for it: it ends with the server.
        threading.Thread(target=self._run, name="resizing", daemon=True).start()

    def _run(self) -> None:
        try:
            with self._connections.connect() as connection, connection.cursor() as cursor:
                cursor.execute(self._text)
            self.answered = now().monotonic
        except Exception as error:
            self.failure = error


def size_in_force(connection: Connection, instance: Instance) -> int:
    """Bytes of the redo log as the server has it now."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES LIKE 'innodb%log%'")
        variables = {name.lower(): str(value) for name, value in cursor.fetchall()}
        cursor.execute(f"SHOW GLOBAL STATUS LIKE '{CAPACITY_IN_FORCE}'")
        variables |= {name.lower(): str(value) for name, value in cursor.fetchall()}
    return instance.server.dialect.log_size(variables)


def _rate(second: Second) -> float:
    """As `rate_of`, of a whole second."""
    return second.commits if second.new_orders is None else 60 * second.new_orders


def rate_of(moment: WorkloadMoment) -> float:
    """NOTPM of TPC-C, commits a second of other workloads."""
    return moment.commits_per_second if moment.new_orders_per_second is None else 60 * moment.new_orders_per_second


def unit_of(moment: WorkloadMoment) -> str:
    """What `rate_of` is in."""
    return "commits/s" if moment.new_orders_per_second is None else "NOTPM"
