"""Several recoveries checked at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from redolab.progress import Progress
from redolab.records.recovery import Outcome
from redolab.recoveries import checked
from redolab.recoveries.checked import Checks, Prepared, recover_checked
from redolab.storage.place import Place

_LONG = 10.0


def test_a_server_that_hangs_holds_up_no_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other_is_over = threading.Event()

    @contextmanager
    def started(*_: object) -> Iterator[Any]:
        yield SimpleNamespace(end=lambda: None)

    def looked(task: Any, *_: object) -> Any:
        if task.number == 0:
            other_is_over.wait(_LONG)
        return SimpleNamespace(outcome=Outcome.READY)

    @contextmanager
    def prepare(_: object) -> Iterator[Prepared]:
        yield Prepared(tmp_path, Place(name="native", folder=tmp_path))

    monkeypatch.setattr(checked, "Instance", SimpleNamespace(start=started))
    monkeypatch.setattr(checked, "Probe", lambda *_: None)
    monkeypatch.setattr(checked, "looked", looked)
    over: list[int] = []

    def done(recovery: Any) -> None:
        over.append(recovery.task.number)
        other_is_over.set()

    tasks: Any = [
        SimpleNamespace(number=number, server=None, request=None, log=None, stuck_after=1.0) for number in (0, 1)
    ]
    checks: Checks[Any, bool] = Checks(
        prepare=prepare, judge=lambda *_: True, not_ready=lambda *_: False, is_right=lambda right: right
    )
    lab: Any = SimpleNamespace(progress=Progress(Console(quiet=True)))
    recover_checked(lab, tasks, checks, 2, done)
    assert over == [1, 0]
