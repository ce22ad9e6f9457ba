"""How recoveries end, on real servers: each outcome is a trial on the disk, and none an error of the lab."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from redolab.crash.image_store import ImageStore
from redolab.crash.records.crash import CrashImage
from redolab.crash.records.recovery import Outcome, RecoveryTrial, WarmTime
from redolab.crash.records.verdict import Judgement
from redolab.crash.recovery import judge as judging
from redolab.crash.recovery import recovery
from redolab.crash.recovery.judge import judge
from redolab.crash.recovery.probe import Probe
from redolab.crash.recovery.task import Recorder, RecoveryTask
from redolab.crash.recovery.watching import WatchedRecovery, watch_recovery
from redolab.disks.place import Place
from redolab.lab import Lab, journal_of, native_folder
from redolab.machine import copies, files
from redolab.progress import Progress, Stage
from redolab.project import PROJECT
from redolab.runs.schema import Ruling
from redolab.servers.instance import DATA, Instance, prepare_folder
from redolab.units import MIB
from tests.small_crash import small_crash

pytestmark = pytest.mark.server

SERVER = "mariadb-10.11"
REFUSING = "mysql-9"


@pytest.fixture(scope="module")
def made() -> Iterator[dict[str, CrashImage]]:
    """Server → its crash, made once for all tests here."""
    made: dict[str, CrashImage] = {}
    yield made
    for image in made.values():
        ImageStore(native_folder(PROJECT.lab)).remove(image.name, journal_of(PROJECT.lab))


@pytest.fixture
def image(lab: Lab, made: dict[str, CrashImage]) -> CrashImage:
    if SERVER not in made:
        made[SERVER] = small_crash(lab, lab.server(SERVER))
    return made[SERVER]


class Kept:
    """A recorder that keeps what it is told."""

    def __init__(self, folder: Path) -> None:
        self.trials: list[RecoveryTrial] = []
        self.warm: list[WarmTime] = []
        self.judgements: list[Judgement] = []
        self.recorder = Recorder(
            log=folder / "error.log",
            evidence=folder / "evidence",
            instance=lambda used: used.variables.get("version", ""),
            trial=self.trials.append,
            warm=self.warm.append,
            judgement=self.judgements.append,
        )


def recovered(lab: Lab, home: Path, image: CrashImage, folder: Path, settings: str = "") -> Kept:
    kept = Kept(folder)
    server = lab.server(image.spec.dataset.server)
    task = RecoveryTask(image=image, server=server, pool=64 * MIB, repeat=1, settings=settings, stuck_after=20.0)
    recovery.recover(lab, task, ImageStore(home), Place(name="local", folder=home), kept.recorder)
    return kept


@contextmanager
def recovering(lab: Lab, home: Path, image: CrashImage, log: Path) -> Iterator[Instance]:
    """A server that has just been started on a copy."""
    server, folder = lab.server(image.spec.dataset.server), home / "instances/recovering"
    task = RecoveryTask(image=image, server=server, pool=64 * MIB, repeat=1)
    with lab.journal.making(folder, "the copy of a test"):
        prepare_folder(server, folder)
        files.remove(folder / DATA)
        copies.copy_folder(ImageStore(home).data(image), folder / DATA)
        with Instance.start(server, folder, task.request, log) as instance:
            yield instance


class Killed(Probe):
    """A probe of a server that is killed when it is ready, before it is asked anything."""

    def knock(self) -> None:
        if self.instance.is_ready:
            assert self.instance.pid is not None
            os.kill(self.instance.pid, signal.SIGKILL)
            time.sleep(0.2)
            super().knock()


class Frozen(Probe):
    """A probe of a server that hangs once it is ready and has accepted a connection."""

    def knock(self) -> None:
        if self.instance.is_ready:
            self.connection = self.instance.connections.connect(1.0, 2.0)
            self.instance.freeze()
            super().knock()


def ended(lab: Lab, home: Path, image: CrashImage, folder: Path, probe: type[Probe]) -> WatchedRecovery:
    place = Place(name="local", folder=home)
    with recovering(lab, home, image, folder / "error.log") as instance:
        return watch_recovery(probe(instance, Stage(None, ""), place, 20.0), "")


def test_a_server_that_dies_once_it_is_ready(lab: Lab, home: Path, image: CrashImage, tmp_path: Path) -> None:
    end = ended(lab, home, image, tmp_path, Killed)
    assert end.outcome is Outcome.DIED
    assert end.unfinished is not None
    assert end.unfinished.status not in (None, 0)


def test_a_server_that_hangs_in_what_the_probe_asks_does_not_hang_the_lab(
    lab: Lab, home: Path, image: CrashImage, tmp_path: Path
) -> None:
    began = time.monotonic()
    end = ended(lab, home, image, tmp_path, Frozen)
    assert end.outcome is Outcome.REFUSED
    assert end.unfinished is not None
    assert "timed out" in end.unfinished.why
    assert time.monotonic() - began < 60


def test_a_server_that_refuses_the_first_write(
    lab: Lab, home: Path, made: dict[str, CrashImage], tmp_path: Path
) -> None:
    made[REFUSING] = small_crash(lab, lab.server(REFUSING))
    kept = recovered(lab, home, made[REFUSING], tmp_path, "super_read_only=1")
    (trial,) = kept.trials
    assert trial.outcome is Outcome.REFUSED
    assert trial.seconds_to_ready is not None
    assert trial.first_write is None
    assert trial.unfinished is not None
    assert "super-read-only" in trial.unfinished.why
    assert kept.judgements == []
    assert (tmp_path / "evidence/repeat.sh").exists()


def test_a_state_that_no_crash_left(lab: Lab, home: Path, image: CrashImage, tmp_path: Path) -> None:
    with recovering(lab, home, image, tmp_path / "first.log") as instance:
        instance.wait_ready()
        instance.shut_down()
        images = ImageStore(home)
        crashed, clean = images.data(image), images.folder(image.name) / "crashed"
        files.move(crashed, clean)
        copies.copy_folder(instance.folder / DATA, crashed)
    try:
        (trial,) = recovered(lab, home, image, tmp_path).trials
    finally:
        files.remove(crashed)
        files.move(clean, crashed)
    assert trial.outcome is Outcome.NO_CRASH_RECOVERY
    assert trial.timeline is None


def test_what_was_measured_is_kept_though_the_judge_fails(
    lab: Lab, home: Path, image: CrashImage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(judging, "check_value", broken)
    kept = recovered(lab, home, image, tmp_path)
    assert [trial.outcome for trial in kept.trials] == [Outcome.READY]
    (judgement,) = kept.judgements
    assert judgement.ruling is Ruling.UNKNOWN
    assert "ZeroDivisionError: a bug" in judgement.why


def test_a_server_that_does_not_answer_the_judge_is_unknown_and_one_that_ends_is_wrong(
    lab: Lab, home: Path, image: CrashImage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "CONNECT", 1.0)
    stage = Progress(Console(quiet=True)).stage("judging")
    with stage as shown, recovering(lab, home, image, tmp_path / "error.log") as instance:
        instance.wait_ready()
        instance.freeze()
        silent = judge(instance, image, 1, shown)
        instance.thaw()
        assert silent.ruling is Ruling.UNKNOWN
        assert silent.why.startswith("no answer within")
        instance.kill()
        gone = judge(instance, image, 1, shown)
    assert gone.ruling is Ruling.WRONG
    assert [check.what for check in gone.failed_checks] == ["the server answers"]
