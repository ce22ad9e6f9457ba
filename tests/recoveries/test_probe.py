"""What is read when while a server recovers."""

from __future__ import annotations

from typing import Any

import pytest

from redolab.clock import now
from redolab.machine.facts import CpuUse
from redolab.progress import Stage
from redolab.recoveries.probe import Probe
from redolab.storage.place import Place


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

    def bytes_moved(self) -> tuple[int, int]:
        return 0, 0

    def has_recovered(self) -> bool:
        return self.is_ready


def test_usage_is_read_before_the_first_write_even_where_the_ready_line_comes_later(tmp_path: Any) -> None:
    server = EarlyServer()
    probe = Probe(server, Stage(None, ""), Place(name="native", folder=tmp_path), 120.0)  # type: ignore[arg-type]
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
