"""Runs that are committed: small, of known kinds of files, and kept without what is not needed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from redolab.errorlog import timelines
from redolab.errorlog.files import arrivals_of, read_stamped_log
from redolab.errors import LabError
from redolab.project import PROJECT
from redolab.runs import pages
from redolab.runs.packing import PACKED, unpacked
from redolab.runs.schema import RunState, TrialRecord
from redolab.runs.store import Run, RunStore, new_session
from tests.examples import MACHINE, trial

KINDS = (
    # The run itself, read by every page.
    *("run.json", "plan.json", "groups.jsonl", "trials.jsonl", "verdicts.jsonl", "warm.jsonl", "storages.jsonl"),
    # What could not be measured: `redolab show`, and whoever counts.
    "failed.jsonl",
    # What was set, and why: docs/recovery.md sends its readers there.
    "instances/*.json",
    # Of the load: pages of it, and what the model of recovery times learns from.
    *("crashes/*/image.json", "crashes/*/samples.csv", "crashes/*/workload.csv", "crashes/*/machine.csv"),
    # Of each recovery: the page of `redolab follow`, timelines, and whoever checks.
    *("logs/*.log", "logs/*.log.arrivals", "logs/*.log.looks", "logs/*.clients.csv"),
    # Of findings: the page of what is stuck, and whoever repeats them.
    *("evidence/*/stacks.txt", "evidence/*/my.cnf", "evidence/*/repeat.sh", "evidence/*/cut.json"),
)
"""Every kind of file of a committed run."""


def test_every_committed_file_is_of_a_kind_that_something_reads() -> None:
    for page in PROJECT.measured.iterdir():
        for path in page.rglob("*"):
            if path.is_dir():
                continue
            if path.parent == page:
                # Read by people: the page itself has to send them there.
                assert f"data/measured/{page.name}/{path.name}" in (PROJECT.results / f"{page.name}.md").read_text()
                continue
            run = page / path.relative_to(page).parts[0]
            assert path.parent == run, path
            if path.name == PACKED:
                packed = (each.relative_to(unpacked(run)) for each in unpacked(run).rglob("*") if each.is_file())
                assert [each for each in packed if not _is_known(each)] == []
            else:
                assert _is_known(path.relative_to(run)), path


def _is_known(file: Path) -> bool:
    return any(file.match(kind) and len(file.parts) == len(Path(kind).parts) for kind in KINDS)


def test_a_committed_run_is_small() -> None:
    for run in PROJECT.measured.glob("*/*/run.json"):
        assert sum(path.stat().st_size for path in run.parent.iterdir()) < 2_000_000


def test_no_committed_file_is_too_large_or_tells_where_the_lab_lay() -> None:
    for path in PROJECT.measured.rglob("*"):
        if path.is_file():
            assert path.stat().st_size <= pages.LARGEST_FILE
            files = unpacked(path.parent).rglob("*") if path.name == PACKED else [path]
            assert [each for each in files if each.is_file() and b"/.lab" in each.read_bytes()] == []


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run to keep, in a project that keeps no other."""
    monkeypatch.setattr(type(PROJECT), "measured", property(lambda _: tmp_path / "measured"))
    store = RunStore(tmp_path / "runs")
    made = store.create("recovery", {}, new_session(MACHINE, "abc", {}))
    with store.running(made, {}):
        made.add_trial(TrialRecord(position=0, trial=trial()))
    return made


def test_a_run_is_kept_without_what_is_made_again_or_too_large(run: Run) -> None:
    (run.folder / "plots").mkdir()
    (run.folder / "table.txt").write_text("made again")
    load = run.folder / "crashes/image"
    load.mkdir(parents=True)
    (load / "fill.log").write_bytes(b" " * (pages.LARGEST_FILE + 1))
    (load / "samples.csv").write_text("read")
    (run.folder / "failed/x").mkdir(parents=True)
    (run.folder / "failed/x/fill.log").write_text("why it failed")
    (run.folder / "evidence/1/recording").mkdir(parents=True)
    (run.folder / "evidence/1/cut.json").write_text("what was lost")
    for name in ("base", "recording/data"):
        (run.folder / "evidence/1" / name).write_bytes(random.Random(2).randbytes(pages.LARGEST_FILE + 1))
    (run.folder / "noise.log").write_bytes(random.Random(1).randbytes(pages.LARGEST_FILE + 1))
    (run.folder / "my.cnf").write_text(f"basedir = {PROJECT.lab}/servers/mysql-9")
    kept = pages.keep_run("stuck", run)
    assert [str(path) for path in pages.too_large(run)] == ["noise.log"]
    assert sorted(path.name for path in kept.iterdir()) == [PACKED, "my.cnf", "run.json", "trials.jsonl"]
    files = {str(path.relative_to(Run(kept).files)) for path in Run(kept).files.rglob("*") if path.is_file()}
    assert files == {"crashes/image/samples.csv", "failed/x/fill.log", "evidence/1/cut.json"}
    assert (kept / "my.cnf").read_text() == "basedir = .lab/servers/mysql-9"
    assert Run(kept).record().state is RunState.COMPLETE
    assert [each.name for each in pages.measured_runs("stuck")] == [run.name]


@pytest.mark.parametrize(
    "lab", [str(PROJECT.lab), "/.lab", "/srv/the.other-clone_2/.lab"], ids=["this", "root", "another clone"]
)
def test_no_kept_file_names_the_folder_of_the_lab(run: Run, lab: str) -> None:
    (run.folder / "failed.jsonl").write_text(f"umount: {lab}/storage/disks/one/model: target is busy.\n")
    (run.folder / "my.cnf").write_text(f"basedir={lab}/servers/mysql-9\ntmpdir=/tmp/x.lab/y\n")
    kept = pages.keep_run("stuck", run)
    assert (kept / "failed.jsonl").read_text() == "umount: .lab/storage/disks/one/model: target is busy.\n"
    assert (kept / "my.cnf").read_text() == "basedir=.lab/servers/mysql-9\ntmpdir=/tmp/x.lab/y\n"


def test_a_log_is_read_from_a_packed_run_as_it_was(run: Run) -> None:
    log = run.folder / "logs/1.log"
    log.parent.mkdir()
    recovery = (PROJECT.root / "tests/logs/forms/mariadb-10.11.log").read_text()
    lines = [f"read from {PROJECT.lab}/x", *["nothing"] * (pages.LARGEST_FILE // 8), *recovery.splitlines()]
    log.write_text("".join(f"{line}\n" for line in lines))
    arrivals_of(log).write_text("".join(f"{number / 8:.6f}\n" for number in range(len(lines))))
    asked = list(timelines(read_stamped_log(log)))
    assert asked[0].clock == "arrival"

    packed = pages.keep_run("stuck", run)
    kept = Run(packed).files / "logs/1.log"
    assert pages.too_large(run) == []
    assert list(timelines(read_stamped_log(kept))) == asked
    assert kept.read_bytes().startswith(b"read from .lab/x\n")

    before = (packed / PACKED).read_bytes()
    (pages.keep_run("stuck", run) / PACKED).touch()
    assert (packed / PACKED).read_bytes() == before
    assert Run(packed).files != kept.parent.parent
    (packed / PACKED).write_bytes(before[: len(before) // 2])
    with pytest.raises(LabError):
        _ = Run(packed).files
