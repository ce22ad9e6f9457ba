"""The recovery experiment from its command to its table, on a real server; and whatever goes wrong in between."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec
import polars
import psutil
import pytest

from redolab import load_runs
from redolab.counters.series import LSN_SLIPS
from redolab.crash.image_store import ImageStore
from redolab.crash.records.crash import CrashImage
from redolab.crash.records.recovery import Outcome, RecoveryTrial
from redolab.errorlog import Phase
from redolab.lab import journal_of, native_folder
from redolab.machine import files
from redolab.machine.clean_up_journal import OURS_ELSEWHERE
from redolab.machine.identity import MACHINE_FILE
from redolab.machine.lab_folder import claim_lab_folder
from redolab.project import PROJECT
from redolab.results.crashes import crashes_of, samples_of
from redolab.results.recoveries import recoveries_of
from redolab.runs.schema import RunState
from redolab.runs.store import Run, RunStore
from redolab.units import MIB
from tests.command import (
    SMALL,
    UNCHECKED,
    killed_when_seen,
    nothing_is_left,
    recoveries,
    redolab,
    run_of,
    signal_at,
    used_instance,
    wait_until_servers_are_gone,
)
from tests.small_disk import small_disk
from tests.thorough import mostly_thorough

pytestmark = pytest.mark.server

RECOVERY = ("run", "recovery")
EXPERIMENT = [*RECOVERY, *SMALL]


def images() -> ImageStore:
    return ImageStore(native_folder(PROJECT.lab))


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """One run with two pools, and its crash image."""
    for old in images().all():
        images().remove(old.name, journal_of(PROJECT.lab))
    done = redolab(*EXPERIMENT, "--repeat", "1", "--pool", "32M,128M", "--sample-every", "0.1s")
    assert done.returncode == 0, done.stderr
    made = RunStore().get("latest")
    (made.folder / "said").write_text(done.stdout)
    yield made
    RunStore().remove(made)


@pytest.fixture(scope="module")
def image(run: Run) -> CrashImage:
    (made,) = crashes_of(run)
    return images().get(made.name)


def test_the_run_is_complete_and_knows_its_machine_and_nothing_is_left_beside_it(run: Run, image: CrashImage) -> None:
    assert run.record().state is RunState.COMPLETE
    assert run.trial_count() == 2
    assert nothing_is_left()
    # All of the image but the hashes of its files.
    assert crashes_of(run) == [msgspec.structs.replace(image, hashes={})]
    identity = json.loads((PROJECT.lab / MACHINE_FILE).read_bytes())["id"]
    assert [session.identity for session in run.record().sessions] == [identity]
    assert ImageStore(native_folder(PROJECT.lab), identity).find(image.spec) == image
    assert ImageStore(native_folder(PROJECT.lab), "an equal machine").find(image.spec) is None


def test_the_age_reached_its_target(image: CrashImage) -> None:
    last = image.last_sample
    assert (last.checkpoint_age or 0) >= (last.sync_flush_point or 0) * 0.97 > 0
    assert (last.dirty_pages or 0) > 500


def test_each_recovery_is_timed_by_arriving_lines(run: Run) -> None:
    for trial in recoveries(run):
        assert trial.timeline is not None
        assert trial.timeline.clock == "arrival"
        assert trial.timeline.complete
        phases = [time.seconds or 0.0 for time in trial.timeline.phases if time.phase is not Phase.ROLLBACK]
        assert min(phases) >= 0
        assert sum(phases) == pytest.approx(trial.timeline.seconds_to_ready, abs=1e-3)
        assert 0 < (trial.first_connection or 0) <= (trial.first_write or 0)
        assert (trial.peak_memory or 0) > 32 * MIB


def test_the_log_was_read_from_the_checkpoint_of_the_last_sample_to_its_end(run: Run, image: CrashImage) -> None:
    for trial in recoveries(run):
        # The server ran on between the last sample and the signal, and may have moved its checkpoint on.
        last = image.last_sample
        assert trial.timeline is not None
        assert (last.checkpoint_lsn or 0) <= (trial.timeline.checkpoint_lsn or 0) <= (last.lsn or 0)
        assert (trial.timeline.end_lsn or 0) >= (last.flushed_lsn or 0)


def test_the_open_transaction_was_rolled_back_and_the_tables_checked(run: Run) -> None:
    for each in recoveries_of(run):
        assert each.trial.timeline is not None
        assert (each.trial.timeline.rows or 0) >= 5000
        assert each.trial.rollback_ended is not None
        assert each.judgement is not None
        assert each.judgement.failed_checks == ()
        assert any("EXTENDED" in check.what for check in each.judgement.checks)


def test_each_recovery_had_its_pool_and_the_log_its_size(run: Run) -> None:
    used = [used_instance(run, trial.instance).variables for trial in recoveries(run)]
    assert {each["innodb_buffer_pool_size"] for each in used} == {str(32 * MIB), str(128 * MIB)}
    assert {each["innodb_log_file_size"] for each in used} == {str(64 * MIB)}


def test_samples_go_from_the_start_of_the_fill_to_the_kill(run: Run, image: CrashImage) -> None:
    samples = samples_of(run, image.name)
    assert len(samples) >= 3
    # The sampler may have asked once more before the kill.
    assert 0 <= samples[-1].monotonic - image.last_sample.monotonic < 1
    lsns = [sample.lsn or 0 for sample in samples]
    assert all(after >= before - LSN_SLIPS for before, after in itertools.pairwise(lsns))
    assert lsns[-1] - lsns[0] > 10_000_000


def test_the_table_is_there_in_every_form(run: Run) -> None:
    frame = polars.read_parquet(run.folder / "table.parquet")
    with (run.folder / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert frame.height == len(rows)
    assert frame["buffer_pool_bytes"].to_list() == [128 * MIB, 32 * MIB]
    assert frame["configuration"].to_list() == [0, 1]
    for row in frame.iter_rows(named=True):
        phases = [row[f"{phase}_s"] for phase in ("start", "discover", "scan", "apply", "open", "accept")]
        assert sum(phases) == pytest.approx(row["ready_s"], abs=0.002)
        assert row["redo_bytes"] > 30 * MIB
    text = (run.folder / "table.txt").read_text()
    answer, *_ = text.splitlines()
    assert answer in (run.folder / "said").read_text()
    assert max(len(line) for line in text.splitlines() if " | " in line) <= 120
    assert (run.folder / "table.md").read_text().startswith(answer)
    with_details = (run.folder / "all-tables.txt").read_text()
    assert len(with_details) > len(text)
    assert redolab("show", run.name, "--all").stdout.strip().endswith(with_details.strip())


def test_an_image_is_not_changed_by_its_recoveries(image: CrashImage) -> None:
    assert files.hash_folder(images().data(image)) == image.hashes


def test_the_same_plan_uses_the_image_again(run: Run, image: CrashImage) -> None:
    with run_of(*EXPERIMENT[1:], "--repeat", "1") as again:
        assert [crash.name for crash in crashes_of(again)] == [image.name]
        # Another run used the image: it stays when this one is removed.
        assert redolab("rm", again.name).returncode == 0
    assert image.name in images().names()


def test_what_a_kept_image_decides_and_an_image_that_is_not_there_are_refused(image: CrashImage) -> None:
    for asked, named in (
        ((image.name, "--log-size", "1G", "--keep", "on"), "LOGSIZE, KEEP"),
        (("no-such-image",), image.name),
    ):
        done = redolab(*RECOVERY, "--image", *asked)
        assert (done.returncode, named in done.stderr) == (2, True), done.stderr


def test_a_server_of_another_redo_format_is_refused_and_one_of_the_same_recovers_it(image: CrashImage) -> None:
    refused = redolab(*RECOVERY, "--image", image.name, "--server", "mysql-9")
    assert refused.returncode == 2
    assert "MySQL 8.0.30" in refused.stderr
    with recoveries_from(image, "--server", "mariadb-11.8") as made:
        (trial,) = recoveries(made)
        assert (trial.server, trial.buffer_pool) == ("mariadb-11.8", 64 * MIB)
        # The run keeps no option that the image decides.
        assert made.record().options["image"] == image.name
        assert "log_size" not in made.record().options


def recoveries_from(image: CrashImage, *more: str, status: int = 0) -> AbstractContextManager[Run]:
    """While in it: a run of recoveries of the image with a pool of 64M."""
    asked = ("--image", image.name, "--repeat", "1", "--pool", "64M", *UNCHECKED, *more)
    return run_of("recovery", *asked, status=status)


@contextmanager
def replaced(path: Path, content: bytes) -> Iterator[None]:
    """While in it: the file has this content."""
    original = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(original)


def mark_of(image: CrashImage) -> Path:
    """The file that describes a kept image."""
    return images().folder(image.name) / "image.json"


def test_a_wrong_recovery_is_a_finding_with_its_evidence(image: CrashImage) -> None:
    # As if rows had been lost: one more is expected than there is.
    dataset = msgspec.structs.replace(
        image.spec.dataset, open_transaction_rows=image.spec.dataset.open_transaction_rows + 1
    )
    described = msgspec.structs.replace(image, spec=msgspec.structs.replace(image.spec, dataset=dataset))
    with replaced(mark_of(image), msgspec.json.encode(described)), recoveries_from(image, status=3) as run:
        assert run.record().state is RunState.COMPLETE
        (recovery,) = recoveries_of(run)
        assert recovery.judgement is not None
        assert [(check.expected, check.found) for check in recovery.judgement.failed_checks] == [("5001", "5000")]
        (finding,) = run.findings()
        log, evidence = (run.folder / path for path in finding.evidence)
        assert "Starting crash recovery" in log.read_text()
        assert (evidence / "data/ibdata1").exists()


def test_a_recovery_that_the_server_gives_up_is_a_finding_and_the_next_one_follows(image: CrashImage) -> None:
    system = images().data(image) / "ibdata1"
    # Its first page, without which InnoDB does not start.
    with replaced(system, b"torn" * 4096 + system.read_bytes()[16384:]):
        torn = {**image.hashes, "ibdata1": files.hash_folder(images().data(image))["ibdata1"]}
        described = msgspec.json.encode(msgspec.structs.replace(image, hashes=torn))
        with replaced(mark_of(image), described), recoveries_from(image, "--repeat", "2", status=3) as run:
            assert run.record().state is RunState.COMPLETE
            for record in run.trials(RecoveryTrial):
                assert record.trial.outcome is Outcome.GAVE_UP
                assert record.trial.unfinished is not None
                assert record.trial.unfinished.status not in (None, 0)
                assert any("InnoDB" in line for line in record.trial.unfinished.last_lines)
                (finding,) = record.findings
                assert set(files.names(run.folder / finding.evidence[-1])) >= {"my.cnf", "repeat.sh"}
            frame = load_runs().filter(run=run.name)
            assert frame["outcome"].to_list() == [Outcome.GAVE_UP] * 2
            assert frame["ready_s"].null_count() == 2


def test_beside_another_database_server_it_wants_to_be_told(image: CrashImage, tmp_path: Path) -> None:
    other = tmp_path / "mysqld"
    shutil.copy(shutil.which("sleep") or "", other)
    with subprocess.Popen([other, "600"]) as server:
        try:
            refused = redolab(*EXPERIMENT)
            told = redolab(*EXPERIMENT, "--beside-others", "--resume", "none")
            planned = redolab(*EXPERIMENT, "--plan")
        finally:
            server.kill()
    assert refused.returncode == 2
    assert f"(process {server.pid})" in refused.stderr
    assert f"(process {server.pid})" not in told.stderr
    assert planned.returncode == 0, planned.stderr


def test_killed_on_a_folder_of_the_users_it_leaves_nothing_there(image: CrashImage, tmp_path: Path) -> None:
    on_it = (*RECOVERY, "--image", image.name, "--storage", str(tmp_path), "--pool", "64M", "--repeat", "1", *UNCHECKED)
    status, _ = signal_at("… recovery 1", signal.SIGKILL, on_it)
    assert status == -signal.SIGKILL
    wait_until_servers_are_gone()
    cleaned = redolab("rm", "none")
    assert cleaned.returncode == 2
    assert str(tmp_path / OURS_ELSEWHERE) in cleaned.stdout
    assert list(tmp_path.iterdir()) == []
    assert nothing_is_left()


EACH_TIME = ("… filling",)
STAGES = ["… loading", "… copying the dataset", "… filling", "… copying mariadb", "… recovery 1", "… checking"]


def _fresh(stage: str) -> list[str]:
    """A run that comes to the stage: with a dataset of its own to load, or a crash of its own to fill for."""
    dataset = ["--dataset", "33M"] if stage == "… loading" else []
    return [*EXPERIMENT, *dataset, "--repeat", "1", "--new-crash", "on"]


@pytest.mark.parametrize("stage", mostly_thorough(STAGES, EACH_TIME))
def test_ctrl_c_leaves_nothing_at_any_stage(run: Run, stage: str) -> None:
    status, said = signal_at(stage, signal.SIGINT, _fresh(stage))
    assert status == 130, said
    assert "Traceback" not in said
    assert nothing_is_left()


@pytest.mark.parametrize("stage", mostly_thorough(STAGES, EACH_TIME))
def test_what_a_sigkill_leaves_is_named_and_cleaned_up_by_the_next_command(run: Run, stage: str) -> None:
    status, _ = signal_at(stage, signal.SIGKILL, _fresh(stage))
    assert status == -signal.SIGKILL
    wait_until_servers_are_gone()
    with recoveries_from(images().all()[-1]) as made:
        assert "cleaned up" in (made.folder / "said").read_text()


@pytest.mark.thorough
def test_a_workload_that_dies_is_a_failure_of_its_crash_and_the_run_goes_on(run: Run) -> None:
    two = ("--crashes", "2", "--repeat", "1")

    def sysbench(children: list[psutil.Process]) -> list[psutil.Process]:
        return [each for each in children if each.name() == "sysbench" and "run" in each.cmdline()][:1]

    with killed_when_seen(sysbench):
        done = redolab(*EXPERIMENT, "--workload", "oltp_write_only", "--new-crash", "on", *two)
    assert done.returncode == 1
    assert "sysbench" in done.stderr
    made = RunStore().get("latest")
    assert (made.record().state, len(recoveries(made))) == (RunState.INCOMPLETE, 1)
    (failure,) = made.failures()
    assert any(path.endswith("/workload.log") for path in failure.evidence), failure.evidence
    assert all((made.folder / path).exists() for path in failure.evidence)
    again = redolab(*RECOVERY, "--resume", made.name)
    assert again.returncode == 0, again.stderr
    assert (made.record().state, len(recoveries(made)), made.failures()) == (RunState.COMPLETE, 2, [])
    RunStore().remove(made)
    assert nothing_is_left()


def test_a_full_disk_is_one_line_and_leaves_nothing(run: Run, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1200M") as disk:
        small = ("--log-size", "16M", "--dataset", "16M", "--kill-after", "300s", "--repeat", "1", *UNCHECKED)
        claim_lab_folder(disk)
        (disk / "servers").mkdir()
        unpacked = (PROJECT.lab / "servers").glob("mariadb-10.11-*")
        subprocess.run(["cp", "--archive", *map(str, unpacked), str(disk / "servers")], check=True)
        filler = disk / "filler"

        def fill_up() -> None:
            deadline = time.monotonic() + 60
            while not list(disk.glob("storage/local/instances/*/workload.log")):
                if time.monotonic() > deadline:
                    return
                time.sleep(0.02)
            with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
                while True:
                    file.write(bytes(MIB))

        filling = threading.Thread(target=fill_up)
        filling.start()
        elsewhere = {"REDOLAB_LAB": str(disk), "REDOLAB_RUNS": str(tmp_path / "runs")}
        done = redolab(*RECOVERY, *small, environment=elsewhere)
        filling.join()
        assert done.returncode == 1
        assert done.stderr.startswith("redolab: ")
        assert filler.exists(), "the run ended before its workload began"
        filler.unlink()
        assert files.names(disk / "storage/local/instances") == []
        assert files.names(disk / "journal") == []
