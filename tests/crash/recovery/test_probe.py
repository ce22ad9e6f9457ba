"""What is read when while a server recovers."""

from __future__ import annotations

from pathlib import Path

import pymysql
import pytest

from redolab.clock import now
from redolab.crash.recovery.probe import Probe, RefusedError
from redolab.disks.place import Place
from redolab.machine.facts import CpuUse
from redolab.progress import Stage


class Cursor:
    """Writes down what it is asked."""

    def __init__(self, told: list[str]) -> None:
        self._told = told

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, statement: str) -> None:
        self._told.append(statement.split(maxsplit=1)[0])

    def fetchone(self) -> tuple[str, str]:
        return ("Innodb_pages_read", "42")


class EarlyServer:
    """A server that takes connections before its log says that it is ready, as between bind and that line."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.log: list[str] = []
        self.is_ready = False
        self.started = now()
        self.connections = self

    def can_be_tried(self) -> bool:
        return True

    def connect(self, _: float, __: float) -> EarlyServer:
        return self

    def cursor(self) -> Cursor:
        return Cursor(self.told)

    def cpu_use(self) -> CpuUse:
        return CpuUse(seconds=float(len(self.told)), busiest_thread=0.0, cores=2)

    def peak_memory(self) -> int:
        return 1

    def bytes_moved(self) -> tuple[int, int]:
        return 0, 0

    def has_recovered(self) -> bool:
        return self.is_ready


def probe_of(server: EarlyServer, folder: Path) -> Probe:
    return Probe(server, Stage(None, ""), Place(name="local", folder=folder), 120.0)  # type: ignore[arg-type]


def test_usage_is_read_before_the_first_write_even_where_the_ready_line_comes_later(tmp_path: Path) -> None:
    server = EarlyServer()
    probe = probe_of(server, tmp_path)
    assert not probe.recovered()
    assert server.told == ["SHOW", "INSERT"]
    assert probe.pages_read == 42
    server.is_ready = True
    assert probe.recovered()
    assert server.told == ["SHOW", "INSERT"]
    # What was used when it had been asked nothing yet.
    assert probe.cpu is not None
    assert probe.cpu.seconds == 0.0
    assert probe.written == pytest.approx(now().monotonic - server.started.monotonic, abs=5)


class Dying(EarlyServer):
    """A server whose first connections die between the greeting and the first statement."""

    def __init__(self, dying: int) -> None:
        super().__init__()
        self._dying = dying
        self.closed = 0

    def connect(self, _: float, __: float) -> EarlyServer:
        self._dying -= 1
        return DeadConnection(self) if self._dying >= 0 else self  # type: ignore[return-value]

    def ends_within(self, _: float) -> bool:
        return False


class DeadConnection:
    """A connection that was greeted and answers no more."""

    def __init__(self, server: Dying) -> None:
        self._server = server

    def cursor(self) -> Cursor:
        raise pymysql.err.OperationalError(2013, "Lost connection to MySQL server during query")

    def close(self) -> None:
        self._server.closed += 1


def test_a_connection_that_died_before_ready_is_no_refusal_of_a_server_that_is_ready(tmp_path: Path) -> None:
    server = Dying(1)
    probe = probe_of(server, tmp_path)
    assert not probe.recovered()
    server.is_ready = True
    assert probe.recovered()
    assert server.closed == 1


def test_a_server_that_is_ready_and_answers_no_new_connection_refuses(tmp_path: Path) -> None:
    server = Dying(2)
    server.is_ready = True
    probe = probe_of(server, tmp_path)
    with pytest.raises(RefusedError):
        probe.recovered()
