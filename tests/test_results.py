"""A run's folder, written and read back, whatever happened in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from redolab.errors import Interrupted, InvalidInput, LabError
from redolab.recovery import RecoveryTrial
from redolab.results import Run, RunStore, State
from tests.examples import MACHINE, trial


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path)


def create(store: RunStore) -> Run:
    return store.create("recovery", {"log_size": "1"}, MACHINE, "abc", {"sysbench": "1.0"})


def test_what_is_written_is_read_back(store: RunStore) -> None:
    run = create(store)
    run.add_trial(trial(repeat=1))
    run.add_trial(trial(repeat=2))
    assert run.trials(RecoveryTrial) == [trial(repeat=1), trial(repeat=2)]
    assert run.record().machine == MACHINE
    assert run.record().state is State.RUNNING
    assert store.get("latest").name == store.get(run.name[:8]).name == run.name


def test_a_torn_last_trial_is_left_out(store: RunStore) -> None:
    run = create(store)
    run.add_trial(trial())
    with (run.folder / "trials.jsonl").open("ab") as file:
        file.write(b'{"image": "half')
    assert run.trials(RecoveryTrial) == [trial()]


def test_a_complete_run_says_so_with_its_times(store: RunStore) -> None:
    run = create(store)
    with store.running(run, {"fill": 2.0}):
        run.add_trial(trial())
    assert (run.record().state, run.record().seconds) == (State.COMPLETE, {"fill": 2.0})


def test_an_interrupted_run_without_a_trial_goes(store: RunStore) -> None:
    run = create(store)
    with pytest.raises(Interrupted), store.running(run, {}):
        raise Interrupted("stopped")
    assert store.all() == []


def test_a_failed_run_stays_with_its_reason_and_its_evidence(store: RunStore, tmp_path: Path) -> None:
    run = create(store)
    instance = tmp_path / "instance"
    instance.mkdir()
    (instance / "fill.log").write_text("[ERROR] why")
    run.keep_failed(instance)
    with pytest.raises(LabError), store.running(run, {}):
        raise LabError("it broke", "mend it")
    assert (run.record().state, run.record().why_stopped) == (State.STOPPED, "it broke: mend it")
    assert (run.folder / "failed/instance/fill.log").read_text() == "[ERROR] why"


def test_a_killed_run_is_settled_by_the_next_command(store: RunStore) -> None:
    run = create(store)
    run.add_trial(trial())
    assert store.clear_unfinished() == [f"the run {run.name}, of which 1 trials are kept"]
    assert run.record().state is State.STOPPED
    assert store.clear_unfinished() == []


def test_a_run_of_another_version_of_the_lab_is_named_and_stops_no_other(store: RunStore) -> None:
    run = create(store)
    (run.folder / "run.json").write_text('{"format": 0}')
    with pytest.raises(LabError, match="was made by another version of the lab"):
        run.record()
    assert store.clear_unfinished() == []


def test_an_ambiguous_name_is_refused(store: RunStore) -> None:
    with pytest.raises(InvalidInput, match="there is no run 'latest'"):
        store.get("latest")
