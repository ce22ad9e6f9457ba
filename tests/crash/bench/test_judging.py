"""Verdicts that are given later, and again: by RESUME and by `redolab judge`."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from redolab.crash.image_store import ImageStore
from redolab.crash.records.recovery import RecoveryTrial
from redolab.crash.records.verdict import Judgement
from redolab.lab import native_folder
from redolab.machine import files
from redolab.project import PROJECT
from redolab.runs.schema import Ruling, RunState
from redolab.runs.store import Run, RunStore
from redolab.servers.instance import DATA
from tests.command import SMALL, nothing_is_left, redolab, signal_at


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """A run that was interrupted while its first recovery was judged."""
    asked = ["run", "recovery", *SMALL, "--repeat", "2", "--keep", "off"]
    status, said = signal_at("… checking the recovered tables", signal.SIGINT, asked)
    assert status == 130, said
    made = RunStore().get("latest")
    yield made
    redolab("rm", made.name)
    assert nothing_is_left()


@pytest.mark.thorough
def test_what_was_measured_and_not_judged_is_judged_by_a_resume_and_not_timed_again(run: Run) -> None:
    assert run.record().state is RunState.STOPPED
    (first,) = run.trials(RecoveryTrial)
    assert run.verdicts(Judgement) == []
    done = redolab("run", "recovery", "--resume", run.name)
    assert done.returncode == 0, done.stderr
    trials = run.trials(RecoveryTrial)
    assert trials[0] == first
    assert len(trials) == 2
    verdicts = {each.position: each.verdict for each in run.verdicts(Judgement)}
    assert {verdict.ruling for verdict in verdicts.values()} == {Ruling.RIGHT}
    assert verdicts[first.position].afresh
    assert [each.afresh for position, each in verdicts.items() if position != first.position] == [False]


@pytest.mark.thorough
def test_a_run_is_judged_again_and_an_image_that_is_torn_is_a_finding() -> None:
    made = redolab("run", "recovery", *SMALL, "--repeat", "3")
    assert made.returncode == 0, made.stderr
    of_trials = RunStore().get("latest")
    images = ImageStore(native_folder(PROJECT.lab))
    name = of_trials.groups()[0].name
    image = images.get(name)
    try:
        right = redolab("judge", of_trials.name, "--jobs", "2")
        assert right.returncode == 0, right.stderr
        assert [each.verdict.afresh for each in of_trials.verdicts(Judgement)] == [True] * 3
        # The first page of the system tablespace, without which InnoDB does not start.
        system = images.data(image) / "ibdata1"
        content = system.read_bytes()
        system.write_bytes(b"torn" * 4096 + content[16384:])
        again = redolab("judge", of_trials.name)
        assert again.returncode == 3, again.stderr
        assert {each.verdict.ruling for each in of_trials.verdicts(Judgement)} == {Ruling.WRONG}
        finding = of_trials.findings()[-1]
        assert (of_trials.folder / finding.evidence[1] / DATA / "ibdata1").exists()
        # The figures stay as they were measured.
        assert of_trials.trials(RecoveryTrial)[0].trial.seconds_to_ready is not None
        files.remove(images.folder(name))
        gone = redolab("judge", of_trials.name)
        assert gone.returncode == 1
        assert nothing_is_left()
    finally:
        redolab("rm", of_trials.name)


def test_a_run_without_crashes_has_nothing_to_judge() -> None:
    (inflation,) = (PROJECT.measured / "inflation").iterdir()
    done = redolab("judge", inflation.name, environment={"REDOLAB_RUNS": str(inflation.parent)})
    assert done.returncode == 2
