"""What a run that keeps nothing has left goes when it is found: where the run goes on, and on a worker whose job was killed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from redolab.crash.bench.crash_bench import CrashBench
from redolab.crash.bench.crash_plan import CrashConditions, CrashPlan, PlannedCrash, PlannedRecovery
from redolab.crash.image_store import ImageStore
from redolab.crash.records.crash import MARK
from redolab.crash.records.verdict import Judgement
from redolab.disks.catalogue import storage_profile
from redolab.disks.profiles import HOME
from redolab.lab import Lab
from redolab.machine import files
from redolab.machine.description import read_machine
from redolab.machines.cluster import worker
from redolab.runs.estimate import Experience
from redolab.runs.execution import Execution
from redolab.runs.plan import draw_plan
from redolab.runs.schema import GroupRecord, Ruling, TrialRecord, VerdictRecord
from redolab.runs.store import Run, RunStore, new_session
from redolab.units import MIB
from tests.examples import image, trial


@pytest.fixture
def plan() -> CrashPlan:
    """One recovery of one crash, of which nothing is kept."""
    step = PlannedRecovery(storage=HOME, pool=128 * MIB)
    conditions = CrashConditions(storages={HOME: storage_profile(HOME)}, check_disks=False)
    crash = PlannedCrash(server="mariadb-10.11", spec=image().spec)
    return draw_plan([[(crash, [step])]], repeat=1, seed=1, conditions=conditions, keep=False)


def _ended_before_it_removed_its_image(lab: Lab, folder: Path, plan: CrashPlan) -> tuple[RunStore, Run]:
    """A run that was killed after its last recovery, and its image."""
    store = RunStore(folder)
    run = store.create("recovery", {}, new_session(read_machine(lab.home), "abc", {}))
    run.write_plan(plan)
    run.add_group(GroupRecord(group=0, attempt=1, session=0, name=image().name, made=True, seconds=1.0))
    run.add_trial(TrialRecord(position=0, trial=trial()))
    verdict = Judgement(
        image=image().name,
        server="mariadb-10.11",
        version="10.11.19",
        judged=datetime.now(UTC),
        thorough=False,
        ruling=Ruling.RIGHT,
    )
    run.add_verdict(VerdictRecord(position=0, group=0, attempt=1, session=0, verdict=verdict))
    images = ImageStore(lab.home)
    files.write_whole(images.folder(image().name) / MARK, msgspec.json.encode(image()))
    images.note_use(image().name, run.folder)
    return store, run


def test_a_run_that_goes_on_removes_what_it_had_made(lab: Lab, tmp_path: Path, plan: CrashPlan) -> None:
    store, run = _ended_before_it_removed_its_image(lab, tmp_path, plan)
    execution = Execution(lab, store, run, CrashBench(lab, plan), plan, Experience())
    assert execution.todo == []
    execution.execute()
    assert image().name not in ImageStore(lab.home).names()


def test_what_another_run_measures_on_stays(lab: Lab, tmp_path: Path, plan: CrashPlan) -> None:
    store, run = _ended_before_it_removed_its_image(lab, tmp_path, plan)
    images, other = ImageStore(lab.home), tmp_path / "other"
    other.mkdir()
    images.note_use(image().name, other)
    Execution(lab, store, run, CrashBench(lab, plan), plan, Experience()).execute()
    assert image().name in images.names()
    files.remove(images.folder(image().name))


def test_a_worker_removes_what_a_killed_job_had_made(lab: Lab, plan: CrashPlan) -> None:
    jobs = lab.folder / worker.JOBS
    _ended_before_it_removed_its_image(lab, jobs / "killed" / worker.GROUP, plan)
    worker.clear_other_jobs(jobs / "now", lab)
    assert image().name not in ImageStore(lab.home).names()
    assert files.names(jobs) == []
