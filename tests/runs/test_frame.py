"""What the frame does for any experiment, on a toy of one file: plan, order, estimate, interruption, resume, findings, report."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from redolab.lab import journal_of, native_folder
from redolab.machine.lock import alone
from redolab.project import PROJECT
from redolab.runs.schema import FailureRecord, RunState
from redolab.runs.store import Run, RunStore
from tests.command import nothing_is_left, redolab, signal_at
from tests.toy.dice import BROKEN_PLOT, Dice, Thrown

pytestmark = pytest.mark.slow

TOY = {"REDOLAB_EXPERIMENTS": str(PROJECT.root / "tests/toy")}
BOX = native_folder(PROJECT.lab) / "dice"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No dice and no runs of them before and after."""
    monkeypatch.setenv("REDOLAB_EXPERIMENTS", TOY["REDOLAB_EXPERIMENTS"])
    _remove_all()
    yield
    _remove_all()
    assert nothing_is_left()


def _remove_all() -> None:
    for path in BOX.glob("*"):
        path.unlink()
    for run in runs():
        RunStore().remove(run)


def dice(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return redolab("run", "dice", *arguments, environment=environment)


def runs() -> list[Run]:
    return [run for run in RunStore().all() if "-dice" in run.name]


def only_run() -> Run:
    (run,) = runs()
    return run


def resume(run: Run) -> subprocess.CompletedProcess[str]:
    done = dice("--resume", run.name)
    assert done.returncode == 0, done.stderr
    return done


def throws(run: Run) -> list[Thrown]:
    return [record.trial for record in run.trials(Thrown)]


def signalled(with_signal: signal.Signals, at: str, *arguments: str) -> Run:
    """A run that was signalled when it was so far."""
    status, said = signal_at(at, with_signal, ("run", "dice", *arguments))
    assert status == (130 if with_signal is signal.SIGINT else -with_signal), said
    return only_run()


SLOWLY = ("--sides", "6,20", "--pause-ms", "100", "--seed", "6")
"""12 throws of two dice."""


def stopped(*arguments: str, at: str = "4 of 12") -> Run:
    """A run of 12 throws, stopped on its way."""
    run = signalled(signal.SIGINT, at, *SLOWLY, *arguments)
    assert run.record().state is RunState.STOPPED
    return run


def test_a_plan_is_shown_beside_a_run_that_has_the_machine_and_touches_nothing_of_its() -> None:
    assert dice("--sides", "6", "--seed", "6").returncode == 0
    making = native_folder(PROJECT.lab) / "instances/of-the-run"
    with alone(PROJECT.lab), journal_of(PROJECT.lab).making(making, "what the run is making"):
        making.mkdir(parents=True)
        before = {path: path.lstat().st_mtime_ns for path in PROJECT.lab.rglob("*")}
        done = dice("--sides", "6,20", "--seed", "6", "--plan")
        assert {path: path.lstat().st_mtime_ns for path in PROJECT.lab.rglob("*")} == before
        second = dice("--sides", "6")
    assert done.returncode == 0, done.stderr
    assert "12 throws" in done.stdout
    assert (second.returncode, f"process {os.getpid()}" in second.stderr, len(runs())) == (1, True, 1)


def test_it_is_measured_in_an_order_that_the_seed_repeats_and_estimated_the_next_time() -> None:
    for _ in range(2):
        assert dice("--sides", "6,20", "--seed", "6").returncode == 0
    one, other = runs()
    assert throws(one) == throws(other)
    assert len(throws(one)) == 12
    plan = one.plan(Dice.plan_type)
    assert len({tuple(sorted([a.group, b.group])) for a, b in zip(plan.steps, plan.steps[1:], strict=False)}) > 2
    assert one.record().state is RunState.COMPLETE
    assert "eyes" in (one.folder / "table.txt").read_text()
    assert (one.folder / "plots/dice.svg").exists()
    said = dice("--sides", "6,20", "--seed", "6", "--plan").stdout
    assert "0 dice" in said
    # What was measured on a machine of another class tells nothing of this one.
    for run in (one, other):
        _as_on_another_machine(run, noted=False)
    assert "no estimate yet" in dice("--sides", "6,20", "--plan").stdout


def test_a_stopped_run_goes_on_where_it_was() -> None:
    run = stopped()
    before = (run.folder / "trials.jsonl").read_bytes()
    resume(run)
    assert (run.folder / "trials.jsonl").read_bytes().startswith(before)
    assert len(throws(run)) == 12
    assert run.record().state is RunState.COMPLETE
    assert len(run.record().sessions) == 2
    assert dice("--resume", run.name).returncode == 2


def test_what_was_made_and_is_gone_is_made_anew_and_measured_from_the_start() -> None:
    run = stopped("--keep", "off", at="8 of 12")
    # The first die's throws are all there, the second's are not.
    (die,) = BOX.glob("*")
    die.unlink()
    resume(run)
    assert sorted(each.group.sides for each in Dice.results(run)) == [6] * 6 + [20] * 6
    assert [(each.group, each.attempt) for each in run.group_records()] == [(0, 1), (1, 1), (1, 2)]
    # The throw of the die that is gone is still there to be read, and counts no more.
    assert run.trial_count() == 13


def test_a_run_that_keeps_nothing_removes_only_what_it_made() -> None:
    assert dice("--sides", "6").returncode == 0
    assert dice("--sides", "6,20", "--keep", "off").returncode == 0
    assert [path.name for path in BOX.glob("*")] == ["die-6"]


def test_resumed_it_does_not_remove_what_another_run_made_meanwhile() -> None:
    run = stopped("--keep", "off", at="2 of 12")
    (die,) = BOX.glob("*")
    die.unlink()
    assert dice("--sides", die.name.removeprefix("die-")).returncode == 0
    resume(run)
    assert [path.name for path in BOX.glob("*")] == [die.name]


def test_a_finding_is_recorded_shown_and_the_exit_status_3() -> None:
    done = dice("--sides", "13", "--repeat", "1", "--hand", "left")
    assert done.returncode == 3
    run = only_run()
    assert run.record().state is RunState.COMPLETE
    (record,) = run.trials(Thrown)
    assert [finding.evidence for finding in record.findings] == [("plan.json",)]
    assert record.findings[0].what in done.stdout


def test_the_report_is_made_again_and_a_broken_plot_spoils_no_run() -> None:
    done = dice("--repeat", "1", **{BROKEN_PLOT: "1"})
    assert done.returncode == 0, done.stderr
    run = only_run()
    assert run.record().state is RunState.COMPLETE
    (run.folder / "table.txt").unlink()
    again = redolab("report", run.name)
    assert again.returncode == 0, again.stderr
    assert "eyes" in again.stdout
    assert (run.folder / "table.txt").exists()
    assert (run.folder / "plots/dice.svg").exists()
    assert run.record().state is RunState.COMPLETE


def test_what_does_not_fit_is_refused_before_anything_is_made() -> None:
    done = dice("--weight", str(2**39))
    assert (done.returncode, "512G" in done.stderr) == (2, True)
    assert (runs(), list(BOX.glob("*"))) == ([], [])


@pytest.mark.parametrize("name", ["../not-a-die", ""])
def test_resumed_it_removes_nothing_that_it_cannot_have_made(name: str) -> None:
    """It may be a run that was fetched, and what it says it has made be anything."""
    run = stopped("--keep", "off", at="9 of 12")
    others = [BOX / "of another run", BOX.with_name("not-a-die")]
    for path in others:
        path.write_bytes(b"wood")
    try:
        groups = run.folder / "groups.jsonl"
        groups.write_text(re.sub(r'"name":"[^"]*"', f'"name":"{name}"', groups.read_text()))
        redolab("run", "dice", "--resume", run.name)
        assert [path for path in others if not path.exists()] == []
    finally:
        others[-1].unlink(missing_ok=True)


def test_killed_it_is_settled_by_the_next_command_and_resumed() -> None:
    run = signalled(signal.SIGKILL, "4 of 12", *SLOWLY)
    assert run.name in resume(run).stdout
    assert len(throws(run)) == 12


def _as_on_another_machine(run: Run, *, noted: bool) -> None:
    """As on one that is equal in everything but its identity; where that is not noted, as on one of another class."""
    record = run.record()
    machine = record.sessions[0].machine
    changes = (
        {"identity": "another"}
        if noted
        else {"identity": "", "machine": msgspec.structs.replace(machine, cpu="another CPU")}
    )
    sessions = [msgspec.structs.replace(session, **changes) for session in record.sessions]
    run.write_record(msgspec.structs.replace(record, sessions=sessions))


@pytest.mark.parametrize("noted", [True, False])
def test_what_is_there_on_another_machine_is_not_mixed_with_what_was_measured_on_this_one(noted: bool) -> None:
    run = stopped("--keep", "off", at="8 of 12")
    assert len(run.record().sessions[0].identity) == 32
    _as_on_another_machine(run, noted=noted)
    # The die came along with the clone, and still its throws are done anew.
    resume(run)
    assert len(throws(run)) == 12
    assert {each.session for each in run.trials(Thrown) if each.group == 1} == {1}


def test_killed_before_its_first_trial_a_run_that_keeps_nothing_still_knows_what_it_made() -> None:
    run = signalled(signal.SIGKILL, "1 of 6", "--pause-ms", "2000", "--keep", "off")
    assert [path.name for path in BOX.glob("*")] == ["die-6"]
    resume(run)
    assert list(BOX.glob("*")) == []


def test_nohup_is_respected() -> None:
    command = ["nohup", sys.executable, "-m", "redolab", "run", "dice", "--pause-ms", "100"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=PROJECT.root
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "2 of 6" in line:
                process.send_signal(signal.SIGHUP)
                break
        process.stdout.read()
    assert process.returncode == 0


@pytest.fixture
def mishaps(tmp_path: Path) -> Path:
    """A file that says what goes wrong."""
    return tmp_path / "mishaps"


def broken(mishaps: Path, what: Sequence[str], *arguments: str, status: int = 1) -> Run:
    """Throw dice while that goes wrong, and return the run."""
    mishaps.write_text("\n".join(what))
    done = dice(*arguments, "--mishaps", str(mishaps))
    assert done.returncode == status, done.stderr
    assert ("Traceback" in done.stderr) == any("a-bug" in each for each in what)
    return only_run()


def mended(mishaps: Path, run: Run) -> None:
    """Resume the run, in which nothing goes wrong any more."""
    mishaps.unlink()
    resume(run)


def failed(run: Run) -> list[FailureRecord]:
    return run.lines("failed", FailureRecord)


def test_a_step_that_fails_is_a_record_and_tried_again_when_the_run_is_resumed(mishaps: Path) -> None:
    run = broken(mishaps, ["left-2 LabError"], "--seed", "6")
    assert run.record().state is RunState.INCOMPLETE
    (failure,) = failed(run)
    assert (failure.problem, failure.remedy) == ("the die rolled away", "look under the table")
    assert failure.details == ("it rolled", "and rolled")
    assert (failure.group, failure.attempt, failure.session) == (0, 1, 0)
    assert failure.position is not None
    assert failure.evidence == (f"logs/{failure.position + 1:03}-throw.log",)
    table = (run.folder / "table.txt").read_text()
    assert failure.evidence[0] in table
    assert f"'--resume {run.name}'" in table
    mended(mishaps, run)
    assert len(throws(run)) == 6
    assert (len(failed(run)), run.failures()) == (1, [])
    assert run.record().state is RunState.COMPLETE
    assert failure.evidence[0] not in (run.folder / "table.txt").read_text()


def test_three_failures_in_a_row_stop_a_run(mishaps: Path) -> None:
    run = broken(mishaps, ["left LabError", "right LabError"], "--sides", "6,20")
    assert len(failed(run)) == len(run.failures()) == 3
    assert run.record().state is RunState.STOPPED
    mended(mishaps, run)
    assert (len(throws(run)), run.failures()) == (12, [])


def test_failures_that_are_not_in_a_row_do_not(mishaps: Path) -> None:
    run = broken(mishaps, ["left LabError"], "--sides", "6,20", "--seed", "6", "--keep", "off")
    assert len(run.failures()) == 6
    assert {each.step.hand for each in Dice.results(run)} == {"right"}
    assert len(throws(run)) == 6


@pytest.mark.parametrize("keep", ["on", "off"])
def test_a_group_that_cannot_be_made_is_one_failure_and_its_steps_are_left_out(keep: str, mishaps: Path) -> None:
    run = broken(mishaps, ["carve-20 LabError"], "--sides", "20,6", "--seed", "6", "--keep", keep)
    (failure,) = failed(run)
    assert (failure.position, failure.group, failure.evidence) == (None, 0, ())
    assert {each.group.sides for each in Dice.results(run)} == {6}
    mended(mishaps, run)
    assert (len(throws(run)), run.failures()) == (12, [])
    assert run.record().state is RunState.COMPLETE


@pytest.mark.parametrize(
    ("where", "kind", "status"),
    [
        ("left", "DiskFull", 1),
        ("left", "StorageLost", 1),
        ("left", "InvalidInput", 2),
        ("left", "a-bug", 1),
        ("carve-6", "DiskFull", 1),
        ("carve-6", "FindingsMade", 3),
    ],
)
def test_what_will_not_pass_stops_a_run_at_once(where: str, kind: str, status: int, mishaps: Path) -> None:
    run = broken(mishaps, [f"{where} {kind}"], "--hand", "left", "--repeat", "2", status=status)
    assert (failed(run), throws(run)) == ([], [])
    assert run.record().state is RunState.STOPPED


def test_beside_findings_failures_give_the_status(mishaps: Path) -> None:
    run = broken(mishaps, ["left-1 LabError"], "--sides", "13", "--repeat", "2", "--hand", "left")
    assert (len(run.failures()), len(run.findings())) == (1, 1)


def test_what_a_failed_step_is_to_be_tried_again_on_stays(mishaps: Path) -> None:
    run = broken(mishaps, ["left-2 LabError"], "--sides", "6,20", "--seed", "6", "--keep", "off", "--hand", "left")
    assert sorted(path.name for path in BOX.glob("*")) == ["die-20", "die-6"]
    mended(mishaps, run)
    assert [(each.group, each.attempt) for each in run.group_records()] == [(0, 1), (1, 1)]
    assert list(BOX.glob("*")) == []


def test_what_cannot_be_put_away_after_a_failure_belongs_to_it(mishaps: Path) -> None:
    run = broken(mishaps, ["left-1 LabError", "release-6 LabError"], "--sides", "6,20", "--keep", "off")
    assert len(run.failures()) == 2
    RunStore().remove(run)
    # Alone it leaves something of a run that nobody asked to look at: the run is stopped.
    run = broken(mishaps, ["release-6 LabError"], "--sides", "6,20", "--keep", "off")
    assert run.record().state is RunState.STOPPED


def test_a_stopped_run_of_which_only_failures_are_known_stays(mishaps: Path) -> None:
    mishaps.write_text("left LabError")
    arguments = ("--hand", "left", "--repeat", "2", "--pause-ms", "500", "--mishaps", str(mishaps))
    run = signalled(signal.SIGINT, "2 of 2", *arguments)
    assert len(run.failures()) == 1
    assert run.record().state is RunState.STOPPED


@pytest.mark.parametrize(("in_blocks", "thrown"), [("on", 6), ("off", 0)])
def test_in_blocks_what_a_block_needs_is_made_when_it_begins(in_blocks: str, thrown: int, mishaps: Path) -> None:
    run = broken(mishaps, ["carve-20 DiskFull"], "--sides", "6,20", "--in-blocks", in_blocks)
    assert [each.group.sides for each in Dice.results(run)] == [6] * thrown
