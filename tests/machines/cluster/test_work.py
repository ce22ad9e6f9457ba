"""A machine of a cluster refuses another lab's version, clears away killed jobs and reads a run's factors again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from redolab.errors import LabError
from redolab.lab import Lab
from redolab.machines.cluster.worker import JOB, JOBS, Task, clear_other_jobs, do_job_in
from redolab.runs.experiment_names import experiment_names
from redolab.runs.factors import read_factors
from redolab.runs.loading import load_experiment
from tests.command import QUIET


def test_another_commit_measures_for_nobody(tmp_path: Path) -> None:
    task = Task(mark="m", experiment="recovery", options={}, plan="{}", group=0, lab="0, commit 0", logs=[])
    (tmp_path / JOB).write_bytes(msgspec.json.encode(task))
    with pytest.raises(LabError):
        do_job_in(tmp_path, QUIET)


@pytest.mark.parametrize("name", [each for each in experiment_names() if load_experiment(each).check_cell is not None])
def test_what_a_run_keeps_of_its_factors_is_read_again_on_a_machine(name: str) -> None:
    experiment = load_experiment(name)
    asked = experiment.factors_type(beside_others=True)
    again = read_factors(experiment.factors_type, asked.in_words())
    assert again == asked
    assert experiment.check_cell is not None
    assert experiment.check_cell.factors(again).beside_others


def test_what_other_jobs_left_goes_and_what_lies_beside_a_job_elsewhere_stays(lab: Lab, tmp_path: Path) -> None:
    elsewhere, jobs = tmp_path / "job", lab.folder / JOBS
    for folder in (elsewhere, tmp_path / "photos", jobs / "this", jobs / "other"):
        folder.mkdir(parents=True)
    clear_other_jobs(jobs / "this", lab)
    assert [path.name for path in jobs.iterdir()] == ["this"]
    clear_other_jobs(elsewhere, lab)
    assert (tmp_path / "photos").exists()
    assert list(jobs.iterdir()) == []
