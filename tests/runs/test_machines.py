"""What the machines of a run are called, and how alike they are."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from redolab.runs.loading import load_experiment
from redolab.runs.machines import machine_names, machines_table
from redolab.runs.plan import draw_plan
from redolab.runs.schema import Session, TrialRecord
from redolab.runs.store import RunStore, new_session
from tests.examples import MACHINE
from tests.runs.test_frame import TOY
from tests.toy.dice import Die, Table, Throw, Thrown

OTHER = msgspec.structs.replace(MACHINE, cpu="another CPU")

TABLE = Table(pause_ms=0, weight=0, in_blocks=False, mishaps="")


def session(name: str, machine: object = MACHINE) -> Session:
    return msgspec.structs.replace(new_session(MACHINE, "abc", {}), address=name, machine=machine)


def test_a_machine_has_one_name_and_a_name_one_machine() -> None:
    assert machine_names([session("local"), session("local")]) == ["local", "local"]
    assert machine_names([session("local"), session("local", OTHER), session("local")]) == [
        "local",
        "local (2)",
        "local",
    ]
    assert machine_names([session("one"), session("two")]) == ["one", "two"]


def test_check_cells_say_how_alike_machines_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDOLAB_EXPERIMENTS", TOY["REDOLAB_EXPERIMENTS"])
    experiment = load_experiment("dice")
    run = RunStore(tmp_path).create("dice", {}, session("local"))
    assert machines_table(experiment, run) is None
    sessions = [session("local"), session("two", OTHER), session("one")]
    run.write_record(msgspec.structs.replace(run.record(), sessions=sessions))
    for name, machine, eyes in (("one", MACHINE, (2, 4)), ("two", OTHER, (6, 6)), ("two", OTHER, (3,))):
        check = RunStore(tmp_path / "checks").create("dice", {}, session(name, machine))
        check.write_plan(draw_plan([[(Die(sides=6), [Throw(hand="left")])]], repeat=2, seed=1, conditions=TABLE))
        for each in eyes:
            check.add_trial(TrialRecord(position=0, trial=Thrown(eyes=each)))
        folder = run.folder / "machines" / f"{name}-{eyes[0]}"
        folder.parent.mkdir(exist_ok=True)
        check.folder.rename(folder)
    table = machines_table(experiment, run)
    assert table is not None
    cells = {row[0]: (row[1], *row[5:]) for row in table.cells}
    assert list(cells) == ["two", "one"]
    assert cells["two"] == ("another CPU", "6.00", "3.00–6.00", "3", "1.00")
    assert cells["one"] == ("a CPU", "3.00", "2.00–4.00", "2", "0.50")
