"""A run's folder, written and read back, whatever happened in between."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from redolab.crash.records.recovery import RecoveryTrial
from redolab.errors import Interrupted, InvalidInput, LabError
from redolab.runs.schema import GroupRecord, RunState, TrialRecord
from redolab.runs.store import Run, RunStore, new_session, used_names
from redolab.servers.instance import UsedInstance
from tests.command import used_instance
from tests.examples import MACHINE, trial


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path)


def create(store: RunStore) -> Run:
    return store.create("recovery", {"log_size": "1"}, new_session(MACHINE, "abc", {"sysbench": "1.0"}))


def record(position: int = 0) -> TrialRecord[RecoveryTrial]:
    return TrialRecord(position=position, trial=trial(repeat=position + 1))


def test_an_interrupted_run_without_a_trial_goes(store: RunStore) -> None:
    run = create(store)
    with pytest.raises(Interrupted), store.running(run, {}):
        raise Interrupted("stopped")
    assert store.all() == []


def test_a_failed_run_stays_with_its_reason_and_its_evidence(store: RunStore) -> None:
    run = create(store)
    evidence = run.folder / "failed/instance/fill.log"
    evidence.parent.mkdir(parents=True)
    evidence.write_text("[ERROR] why")
    with pytest.raises(LabError), store.running(run, {}):
        raise LabError("it broke", "mend it")
    assert (run.record().state, run.record().why_stopped) == (RunState.STOPPED, "it broke: mend it")
    assert evidence.read_text() == "[ERROR] why"


@pytest.mark.parametrize("content", ['{"format": 0}', '{"format": 3}', "not even JSON", '{"format": 99}'])
def test_a_run_that_cannot_be_read_is_named_and_stops_no_other(store: RunStore, content: str) -> None:
    run = create(store)
    (run.folder / "run.json").write_text(content)
    with pytest.raises(LabError) as unreadable:
        run.record()
    assert run.name in unreadable.value.problem
    assert store.clear_unfinished() == []
    readable, errors = store.readable()
    assert (readable, len(errors)) == ([], 1)


def test_what_is_added_after_a_torn_line_stands_by_itself(store: RunStore) -> None:
    run = create(store)
    run.add_trial(record(0))
    with (run.folder / "trials.jsonl").open("ab") as file:
        file.write(b'{"position": 1, "tri')
    run.add_trial(record(1))
    assert run.trials(RecoveryTrial) == [record(0), record(1)]


@pytest.mark.parametrize("name", ["../../elsewhere", "/elsewhere", "..", ".", "image/../..", "image\n/x", "a\0b"])
def test_a_fetched_run_names_nothing_outside_the_images(store: RunStore, name: str) -> None:
    """What a run has made is removed by its name when it goes on."""
    run = create(store)
    run.add_group(GroupRecord(group=0, attempt=1, session=0, name=name, made=True, seconds=1.0))
    with pytest.raises(LabError):
        run.groups()
    assert used_names(run) == set()


def test_equal_settings_and_variables_are_kept_once(store: RunStore) -> None:
    run = create(store)
    used = UsedInstance(settings=(), variables={"a": "1"})
    assert run.keep_once(used) == run.keep_once(UsedInstance(settings=(), variables={"a": "1"}))
    other = run.keep_once(UsedInstance(settings=(), variables={"a": "2"}))
    assert len(list((run.folder / "instances").iterdir())) == 2
    assert used_instance(run, other).variables == {"a": "2"}


def test_a_write_that_fails_loses_no_trial_that_is_there(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    run = create(store)
    run.add_trial(record(0))
    with (run.folder / "trials.jsonl").open("ab") as file:
        file.write(b'{"position": 1, "tri')

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, check=lambda error: error.errno == errno.ENOSPC):
        run.add_trial(record(1))
    monkeypatch.undo()
    assert run.trials(RecoveryTrial)[0] == record(0)


def test_of_a_run_that_is_a_link_only_the_link_is_removed(store: RunStore, tmp_path: Path) -> None:
    run, kept = create(store), tmp_path / "elsewhere/kept"
    kept.parent.mkdir()
    run.folder.rename(kept)
    run.folder.symlink_to(kept)
    store.remove(run)
    assert store.all() == []
    assert (kept / "run.json").exists()


def test_no_name_is_no_beginning_of_a_name(store: RunStore) -> None:
    """As of a variable of the shell that was not set."""
    run = create(store)
    assert store.get(run.name[:6]).name == run.name
    with pytest.raises(InvalidInput):
        store.get("")
