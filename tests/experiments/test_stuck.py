"""A recovery that never ends, on the server that has them: noticed, kept with its evidence, and the next one measured."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from redolab.crash.image_store import ImageStore
from redolab.crash.records.recovery import Outcome, RecoveryTrial
from redolab.errorlog import Phase
from redolab.lab import journal_of, native_folder
from redolab.machine import files
from redolab.project import PROJECT
from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore
from tests.command import UNCHECKED, checks, nothing_is_left, redolab

pytestmark = pytest.mark.server

# Redo that does not fit the pool in one batch, many records to the page, and only two threads that have to wait for each
# other: with these every recovery of the lab was stuck, with 64 threads none. The seed draws an order with those two last:
# whichever of the first two gets stuck, a recovery is measured after it.
STUCK, FREE = "innodb_read_io_threads=2", "innodb_read_io_threads=64"
SMALL_STUCK = [
    "run", "recovery", "--server", "mysql-9", "--log-size", "128M", "--dataset", "64M", "--pool", "256M",
    "--workload", "oltp_write_only", "--settings", f"{STUCK},{FREE}", "--stuck-after", "8s", "--repeat", "2", "--seed", "5",
    "--new-crash", "on",
    *UNCHECKED,
]  # fmt: skip


_CRASHES = 3


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    images = ImageStore(native_folder(PROJECT.lab))
    before = images.names()
    # Whether it gets stuck depends on what the crash left: most leave enough, one in some does not.
    for _ in range(_CRASHES):
        done = redolab(*SMALL_STUCK)
        made = RunStore().get("latest")
        if any(record.trial.outcome is Outcome.STUCK for record in made.trials(RecoveryTrial)):
            break
        RunStore().remove(made)
    else:
        pytest.fail(f"none of {_CRASHES} crashes left a log on which the server got stuck: {done.stdout}")
    assert done.returncode == 3, done.stdout
    yield made
    RunStore().remove(made)
    for name in set(images.names()) - set(before):
        images.remove(name, journal_of(PROJECT.lab))


@pytest.mark.thorough
def test_it_is_a_finding_and_the_next_recoveries_are_measured(run: Run) -> None:
    assert run.record().state is RunState.COMPLETE
    trials = [record.trial for record in run.trials(RecoveryTrial)]
    assert len(trials) == 4
    stuck = [position for position, trial in enumerate(trials) if trial.outcome is Outcome.STUCK]
    assert stuck
    assert {trials[position].settings for position in stuck} == {STUCK}
    assert [trial.outcome for trial in trials if trial.settings == FREE] == [Outcome.READY, Outcome.READY]
    # One that was measured after one that was stuck, and is right.
    after = [trial for trial in trials[min(stuck) :] if trial.outcome is Outcome.READY]
    assert after
    assert all(check.passed for check in checks(run))
    assert nothing_is_left()


@pytest.mark.thorough
def test_its_trial_says_where_progress_ended_and_what_the_server_did_meanwhile(run: Run) -> None:
    record = next(record for record in run.trials(RecoveryTrial) if record.trial.outcome is Outcome.STUCK)
    end = record.trial.unfinished
    assert end is not None
    assert end.phase is Phase.APPLY
    assert 8 < end.ended - end.progress_ended < 30
    assert end.cpu_seconds is not None
    # It waits: next to no processor time.
    assert end.cpu_seconds < 0.5 * (end.ended - end.progress_ended)
    assert "Difficult to find free blocks" in end.repeated[0].text
    assert end.repeated[0].times > 100
    (finding,) = record.findings
    for path in finding.evidence:
        assert (run.folder / path).stat().st_size > 0


@pytest.mark.thorough
def test_its_evidence_repeats_it_without_the_lab(run: Run) -> None:
    script = next((run.folder / "evidence").glob("*/repeat.sh"))
    assert os.access(script, os.X_OK)
    options = (line.partition("#")[0] for line in (script.parent / "my.cnf").read_text().splitlines())
    assert STUCK in [option.replace(" ", "") for option in options]
    images = ImageStore(native_folder(PROJECT.lab))
    image = images.get(run.trials(RecoveryTrial)[0].trial.image)
    assert str(images.data(image)) in script.read_text()
    # What it starts from is as the kill left it, whatever was tried on copies.
    assert files.hash_folder(images.data(image)) == image.hashes
