"""What the frame does for any experiment, on a toy of one file: plan, order, estimate, interruption, resume, findings, report."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator

import msgspec
import pytest

from redolab.lab import native_folder
from redolab.project import PROJECT
from redolab.runs.schema import State
from redolab.runs.store import Run, RunStore
from tests.command import nothing_is_left, redolab, signal_at
from tests.toy.dice import BROKEN_PLOT, DicePlan, Thrown

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
    for run in RunStore().all():
        if "-dice" in run.name:
            RunStore().remove(run)


def dice(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return redolab("run", "dice", *arguments, environment=environment)


def runs() -> list[Run]:
    return [run for run in RunStore().all() if "-dice" in run.name]


def throws(run: Run) -> list[Thrown]:
    return [record.trial for record in run.trials(Thrown)]


def stopped(*arguments: str, at: str = "4 of 12") -> Run:
    """A run of 12 throws of two dice, stopped on its way."""
    asked = ("run", "dice", "--sides", "6,20", "--pause-ms", "100", "--seed", "5", *arguments)
    status, said = signal_at(at, signal.SIGINT, asked)
    assert status == 130, said
    assert "The run was stopped: these are the throws that had been finished." in said
    (run,) = runs()
    assert run.record().state is State.STOPPED
    return run


def test_it_is_listed_and_its_factors_are_options() -> None:
    said = redolab("run", "dice", "--help").stdout
    assert "How high do dice fall?" in said
    # Its own before those of all experiments.
    assert said.index("--pause-ms") < said.index("--repeat") < said.index("--resume")
    assert "inflation, recovery" in redolab("run", "coffee").stderr.replace("dice, ", "")


def test_the_plan_is_shown_and_nothing_is_done() -> None:
    done = dice("--sides", "6,20", "--seed", "5", "--plan")
    assert done.returncode == 0, done.stderr
    assert "12 throws, 2 dice to make first: no estimate yet" in done.stdout
    for words in ("to be made", "left, right", "SEED=5", "Nothing was loaded, crashed or measured."):
        assert words in done.stdout, words
    assert (runs(), list(BOX.glob("*"))) == ([], [])


def test_it_is_measured_in_an_order_that_the_seed_repeats_and_estimated_the_next_time() -> None:
    for _ in range(2):
        assert dice("--sides", "6,20", "--seed", "5").returncode == 0
    one, other = runs()
    assert throws(one) == throws(other)
    assert len(throws(one)) == 12
    plan: DicePlan = one.plan(DicePlan)
    assert len({tuple(sorted([a.group, b.group])) for a, b in zip(plan.steps, plan.steps[1:], strict=False)}) > 2
    assert one.record().state is State.COMPLETE
    assert "eyes" in (one.folder / "table.txt").read_text()
    assert (one.folder / "plots/dice.svg").exists()
    said = dice("--sides", "6,20", "--seed", "5", "--plan").stdout
    assert "12 throws, 0 dice to make first: about" in said
    # What was measured on another machine tells nothing of this one.
    for run in (one, other):
        _as_on_another_machine(run)
    assert "no estimate yet" in dice("--sides", "6,20", "--plan").stdout


def test_a_stopped_run_goes_on_where_it_was() -> None:
    run = stopped()
    before = (run.folder / "trials.jsonl").read_bytes()
    done = dice("--resume", run.name)
    assert done.returncode == 0, done.stderr
    assert f"the run {run.name} goes on: 3 of 12 throws are done" in done.stdout
    assert (run.folder / "trials.jsonl").read_bytes().startswith(before)
    assert len(throws(run)) == 12
    assert run.record().state is State.COMPLETE
    assert len(run.record().sessions) == 2
    again = dice("--resume", run.name)
    assert (again.returncode, again.stderr) == (
        2,
        f"redolab: the run {run.name} is complete: 'redolab show' prints it\n",
    )


def test_what_was_made_and_is_gone_is_made_anew_and_measured_from_the_start() -> None:
    run = stopped("--keep", "off", at="8 of 12")
    # The first die's throws are all there, the second's are not.
    (die,) = BOX.glob("*")
    die.unlink()
    done = dice("--resume", run.name)
    assert done.returncode == 0, done.stderr
    assert "6 of 12 throws are done" in done.stdout
    assert sorted(throw.sides for throw in throws(run)) == [6] * 6 + [20] * 6
    assert [(each.group, each.attempt) for each in run.group_records()] == [(0, 1), (1, 1), (1, 2)]
    # The throw of the die that is gone is still there to be read, and counts no more.
    assert run.trial_count() == 13


def test_on_another_machine_finished_groups_stay_and_the_table_says_which_is_whose() -> None:
    run = stopped("--keep", "off", at="8 of 12")
    _as_on_another_machine(run)
    for path in BOX.glob("*"):
        path.unlink()
    done = dice("--resume", run.name)
    assert done.returncode == 0, done.stderr
    assert "Measured on 2 machines, whose times do not compare: 6 on " in done.stdout
    assert "of another CPU" in done.stdout


def test_a_run_that_keeps_nothing_removes_only_what_it_made() -> None:
    assert dice("--sides", "6").returncode == 0
    assert dice("--sides", "6,20", "--keep", "off").returncode == 0
    assert [path.name for path in BOX.glob("*")] == ["die-6"]


def test_resumed_it_does_not_remove_what_another_run_made_meanwhile() -> None:
    run = stopped("--keep", "off", at="2 of 12")
    (die,) = BOX.glob("*")
    die.unlink()
    assert dice("--sides", die.name.removeprefix("die-")).returncode == 0
    assert dice("--resume", run.name).returncode == 0
    assert [path.name for path in BOX.glob("*")] == [die.name]


def test_a_finding_is_recorded_shown_and_the_exit_status_3() -> None:
    done = dice("--sides", "13", "--repeat", "1", "--hand", "left")
    assert done.returncode == 3
    assert done.stderr.startswith("redolab: 1 finding in 1 throw: the evidence is in ")
    assert "FINDING: a die has 13 sides (evidence: plan.json)" in done.stdout
    (run,) = runs()
    assert run.record().state is State.COMPLETE
    (record,) = run.trials(Thrown)
    assert [finding.what for finding in record.findings] == ["a die has 13 sides"]


def test_the_report_is_made_again_and_a_broken_plot_spoils_no_run() -> None:
    done = dice("--repeat", "1", **{BROKEN_PLOT: "1"})
    assert done.returncode == 0, done.stderr
    assert "the plot 'dice' could not be drawn (ZeroDivisionError: no paint)" in done.stdout
    (run,) = runs()
    assert run.record().state is State.COMPLETE
    (run.folder / "table.txt").unlink()
    again = redolab("report", run.name)
    assert again.returncode == 0, again.stderr
    assert "eyes" in again.stdout
    assert (run.folder / "table.txt").exists()
    assert (run.folder / "plots/dice.svg").exists()
    assert run.record().state is State.COMPLETE


def test_what_does_not_fit_is_refused_before_anything_is_made() -> None:
    done = dice("--weight", str(2**39))
    assert done.returncode == 2
    assert "a run that takes 512G does not fit into this machine's" in done.stderr
    assert (runs(), list(BOX.glob("*"))) == ([], [])


def test_killed_it_is_settled_by_the_next_command_and_resumed() -> None:
    asked = ("run", "dice", "--sides", "6,20", "--pause-ms", "100", "--seed", "5")
    status, _ = signal_at("4 of 12", signal.SIGKILL, asked)
    assert status == -signal.SIGKILL
    (run,) = runs()
    done = dice("--resume", run.name)
    assert done.returncode == 0, done.stderr
    assert f"an earlier run was killed and left the run {run.name}, of which" in done.stdout
    assert len(throws(run)) == 12


def _as_on_another_machine(run: Run) -> None:
    record = run.record()
    machine = msgspec.structs.replace(record.sessions[0].machine, cpu="another CPU")
    sessions = [msgspec.structs.replace(session, machine=machine) for session in record.sessions]
    run.write_record(msgspec.structs.replace(record, sessions=sessions))
    assert json.loads((run.folder / "run.json").read_text())["sessions"][0]["machine"]["cpu"] == "another CPU"


def test_a_plan_is_not_asked_for_of_a_run_that_goes_on() -> None:
    run = stopped()
    refused = dice("--resume", run.name, "--plan")
    assert refused.returncode == 2
    assert "a run that is resumed has its plan already" in refused.stderr
    assert run.record().state is State.STOPPED


def test_what_is_there_on_another_machine_is_not_mixed_with_what_was_measured_on_this_one() -> None:
    run = stopped("--keep", "off", at="8 of 12")
    _as_on_another_machine(run)
    # The die came along with the clone, and still its throws are done anew.
    done = dice("--resume", run.name)
    assert done.returncode == 0, done.stderr
    assert "6 of 12 throws are done" in done.stdout
    assert "1 throw measured before not counted: on what is gone, or on another machine" in done.stdout
    assert len(throws(run)) == 12
    assert {each.session for each in run.trials(Thrown) if each.group == 1} == {1}


def test_killed_before_its_first_trial_a_run_that_keeps_nothing_still_knows_what_it_made() -> None:
    asked = ("run", "dice", "--pause-ms", "2000", "--keep", "off")
    status, _ = signal_at("1 of 6", signal.SIGKILL, asked)
    assert status == -signal.SIGKILL
    assert [path.name for path in BOX.glob("*")] == ["die-6"]
    (run,) = runs()
    done = dice("--resume", run.name)
    assert done.returncode == 0, done.stderr
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
