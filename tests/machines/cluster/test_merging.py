"""Groups that arrive become one run: each once, whole, with the session of its machine."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest

from redolab.errors import LabError
from redolab.machine.facts import Machine
from redolab.machines.cluster.merging import Merging, groups_merged_whole
from redolab.runs.plan import Plan, draw_plan
from redolab.runs.schema import FailureRecord, GroupRecord, Session, TrialRecord, VerdictRecord
from redolab.runs.store import Run, RunStore, new_session
from tests.examples import MACHINE
from tests.toy.dice import Die, Table, Throw, Thrown

DicePlan: TypeAlias = Plan[Die, Throw, Table]


class Note(msgspec.Struct):
    """What an experiment notes besides trials."""

    what: str
    session: int


@pytest.fixture
def plan() -> DicePlan:
    throws = [Throw(hand="left"), Throw(hand="right")]
    conditions = Table(pause_ms=0, weight=0, in_blocks=False, mishaps="")
    return draw_plan(
        [[(Die(sides=6), throws), (Die(sides=20), throws), (Die(sides=8), throws)]],
        repeat=2,
        seed=3,
        conditions=conditions,
    )


@pytest.fixture
def run(tmp_path: Path, plan: DicePlan) -> Run:
    made = RunStore(tmp_path / "runs").create("dice", {}, new_session(MACHINE, "abc", {}))
    made.write_plan(plan)
    return made


@pytest.fixture
def merging(run: Run, plan: DicePlan) -> Merging:
    return Merging(run, plan)


def _session(name: str, machine: Machine = MACHINE) -> Session:
    session = new_session(machine, "abc", {}, identity=f"{name} {machine.cpu}")
    return msgspec.structs.replace(session, address=name, seconds={"fill": 1.0})


def arrived(folder: Path, plan: DicePlan, group: int, name: str, machine: Machine = MACHINE, *, lost: int = 0) -> Run:
    """What a machine sends of a group; `lost`: so many trials are missing."""
    made = RunStore(folder).create("dice", {}, _session(name, machine))
    made.write_plan(plan)
    made.add_line("notes", Note("fio was here", 0))
    made.add_group(GroupRecord(group=group, attempt=1, session=0, name=f"die-{group}", made=True, seconds=1.0))
    positions = plan.positions(group)
    for position in positions[: len(positions) - lost]:
        made.add_trial(TrialRecord(position=position, group=group, took=1.0, trial=Thrown(eyes=1)))
        (made.folder / "logs").mkdir(exist_ok=True)
        (made.folder / "logs" / f"{position + 1:03}-throw.log").write_text(name)
    return made


def positions(run: Run) -> list[int | None]:
    return [record.position for record in run.trials(Thrown)]


def test_each_group_is_merged_once_with_the_session_of_its_machine(
    tmp_path: Path, run: Run, plan: DicePlan, merging: Merging
) -> None:
    merging.merge(1, arrived(tmp_path / "a", plan, 1, "one"))
    merging.merge(0, arrived(tmp_path / "b", plan, 0, "two"))
    merging.merge(2, arrived(tmp_path / "c", plan, 2, "one"))
    assert sorted(positions(run), key=str) == sorted(range(12), key=str)
    sessions = run.record().sessions
    assert [session.address for session in sessions] == ["local", "one", "two"]
    assert sessions[1].seconds == {"fill": 2.0}
    assert {record.group: record.session for record in run.trials(Thrown)} == {0: 2, 1: 1, 2: 1}
    # What holds for a machine came with both of its groups, and stands there once.
    assert run.lines("notes", Note) == [Note("fio was here", 1), Note("fio was here", 2)]
    assert len(list((run.folder / "logs").glob("*.log"))) == 12


def test_a_group_that_comes_a_second_time_changes_nothing(
    tmp_path: Path, run: Run, plan: DicePlan, merging: Merging
) -> None:
    merging.merge(1, arrived(tmp_path / "a", plan, 1, "one"))
    before = {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    merging.merge(1, arrived(tmp_path / "b", plan, 1, "two"))
    assert before == {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}


def test_what_is_not_all_of_a_group_is_refused_and_leaves_nothing(
    tmp_path: Path, run: Run, plan: DicePlan, merging: Merging
) -> None:
    with pytest.raises(LabError):
        merging.merge(0, arrived(tmp_path / "a", plan, 0, "one", lost=1))
    with pytest.raises(LabError):
        merging.merge(2, arrived(tmp_path / "b", plan, 1, "one"))
    assert run.trial_count() == 0
    assert not (run.folder / "logs").exists()


def test_a_group_half_measured_before_is_measured_anew_and_only_that_counts(
    tmp_path: Path, run: Run, plan: DicePlan, merging: Merging
) -> None:
    first = plan.positions(0)[0]
    run.add_group(GroupRecord(group=0, attempt=1, session=0, name="die-0", made=True, seconds=1.0))
    run.add_trial(TrialRecord(position=first, group=0, trial=Thrown(eyes=5)))
    assert groups_merged_whole(run, plan) == set()
    again = arrived(tmp_path / "a", plan, 0, "one")
    again.add_verdict(VerdictRecord(position=first, group=0, attempt=1, session=0, verdict={}))
    merging.merge(0, again)
    assert [(each.position, each.attempt, each.session) for each in run.verdicts(dict)] == [(first, 2, 1)]
    assert sorted(positions(run), key=str) == sorted(plan.positions(0), key=str)
    assert {record.attempt for record in run.trials(Thrown)} == {2}
    assert groups_merged_whole(run, plan) == {0}


def failed(arrived: Run, plan: DicePlan, group: int, position: int | None) -> None:
    """Have a machine's run say that a step, or its group, failed there."""
    when = datetime.now(UTC)
    arrived.add_failure(
        FailureRecord(
            position=position, group=group, attempt=1, session=0, when=when, took=1.0, problem="it rolled away"
        )
    )


def test_a_group_with_a_failed_step_is_merged_and_not_complete(
    tmp_path: Path, run: Run, plan: DicePlan, merging: Merging
) -> None:
    lost = plan.positions(0)[-1]
    broken = arrived(tmp_path / "a", plan, 0, "one", lost=1)
    failed(broken, plan, 0, lost)
    merging.merge(0, broken)
    assert groups_merged_whole(run, plan) == set()
    assert [(each.position, each.attempt, each.session) for each in run.failures()] == [(lost, 1, 1)]
    assert sorted(positions(run), key=str) == plan.positions(0)[:-1]
    merging.merge(0, arrived(tmp_path / "b", plan, 0, "one"))
    assert groups_merged_whole(run, plan) == {0}
    assert (run.failures(), {record.attempt for record in run.trials(Thrown)}) == ([], {2})


def test_a_group_that_could_not_be_made_is_merged_as_a_failure_and_nothing_else(
    tmp_path: Path, run: Run, plan: DicePlan, merging: Merging
) -> None:
    broken = RunStore(tmp_path / "a").create("dice", {}, _session("one"))
    broken.write_plan(plan)
    failed(broken, plan, 0, None)
    merging.merge(0, broken)
    assert [(each.group, each.position) for each in run.failures()] == [(0, None)]
    assert (run.group_records(), run.trial_count()) == ([], 0)
    assert groups_merged_whole(run, plan) == set()
