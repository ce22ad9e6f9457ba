"""Recoveries read from a run's folder, each with its crash image."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from redolab.crash.records.crash import MARK
from redolab.errors import LabError
from redolab.results.crashes import story_folder
from redolab.results.recoveries import recoveries_of
from redolab.runs.schema import GroupRecord, TrialRecord
from redolab.runs.store import RunStore, new_session
from tests.examples import MACHINE, NAME, image, trial


def test_a_run_that_lacks_the_crash_of_a_recovery_is_refused_by_its_name(tmp_path: Path) -> None:
    run = RunStore(tmp_path).create("recovery", {}, new_session(MACHINE, "", {}))
    run.add_group(GroupRecord(group=0, attempt=0, session=0, name=NAME, made=True, seconds=1.0))
    run.add_trial(TrialRecord(position=0, trial=trial()))
    with pytest.raises(LabError) as refused:
        recoveries_of(run)
    assert NAME in refused.value.problem

    story_folder(run, NAME).mkdir(parents=True)
    (story_folder(run, NAME) / MARK).write_bytes(msgspec.json.encode(image()))
    (recovery,) = recoveries_of(run)
    assert recovery.image == image()
