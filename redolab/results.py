"""What a run leaves, and reading it back: one folder a run under `data/runs/`, never overwritten.

run.json         what was asked, the machine, the lab's commit, how it ended
plan.json        of a recovery run: its crashes, and its recoveries in their order
disks.jsonl      one line a storage: asked for, and found by fio
trials.jsonl     one line a trial, on the disk as soon as it is measured
crashes/NAME/    of each crash image used: image.json, samples.csv, fill.log
instances/       of each server under inserts: its settings with their reasons, and its variables
logs/            the raw error log of every server started
table.*          the tables as text and Markdown, the first as CSV and Parquet
disks.*          what fio found of the storages, as CSV and Parquet
plots/           as SVG and PNG
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import msgspec

from redolab.crash import FILL_LOG, SAMPLES, CrashImage, ImageStore
from redolab.errors import Interrupted, InvalidInput, LabError
from redolab.hosts import Command, Host
from redolab.machine import Machine
from redolab.plan import RecoveryPlan
from redolab.project import PROJECT
from redolab.sampling import Sample, read_samples
from redolab.storage.figures import DiskCheck

T = TypeVar("T")

RUN_FORMAT = 1
_RECORD = "run.json"
_TRIALS = "trials.jsonl"
_PLAN = "plan.json"
_DISKS = "disks.jsonl"


class State(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    COMPLETE = "complete"
    STOPPED = "stopped"


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked of a run, where, and how it ended; `seconds` is the time each kind of stage took."""

    format: int
    name: str
    experiment: str
    options: Mapping[str, str]
    commit: str
    """The lab's own commit, with `+changes` when the tree was not as committed."""
    command: Sequence[str] = ()
    """The command line."""
    tools: Mapping[str, str] = {}
    """The versions of sysbench and bubblewrap, as they say them."""
    machine: Machine
    began: datetime
    state: State
    why_stopped: str = ""
    seconds: Mapping[str, float] = {}


class Run:
    """A run's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def name(self) -> str:
        """What it is called: when it began, and the experiment."""
        return self.folder.name

    def record(self) -> RunRecord:
        """What is known of it. Raises `LabError` if it was left by another version of the lab."""
        return self._read((self.folder / _RECORD).read_bytes(), RunRecord)

    def trials(self, kind: type[T]) -> list[T]:
        """What was measured, each as a `kind`; a torn last line is left out."""
        return [self._read(line, kind) for line in self._lines(_TRIALS)]

    def trial_count(self) -> int:
        """How many trials there are."""
        return len(self._lines(_TRIALS))

    def plan(self) -> RecoveryPlan:
        """What it was to do. Raises `InvalidInput` if it is no recovery run, or one of an earlier version of the lab."""
        path = self.folder / _PLAN
        if not path.exists():
            raise InvalidInput(f"the run {self.name} has no plan to go on with", "only a recovery run can be resumed")
        return self._read(path.read_bytes(), RecoveryPlan)

    def write_plan(self, plan: RecoveryPlan) -> None:
        """Keep what it is to do."""
        _write_whole(self.folder / _PLAN, msgspec.json.format(msgspec.json.encode(plan)))

    def disks(self) -> list[DiskCheck]:
        """Its storages as fio last found them."""
        checks = [self._read(line, DiskCheck) for line in self._lines(_DISKS)]
        return list({check.storage: check for check in checks}.values())

    def add_disk(self, check: DiskCheck) -> None:
        """Write how fio found one more storage to the disk."""
        self._add_line(_DISKS, check)

    def crashes(self) -> list[CrashImage]:
        """What the run's crash images were, whether or not they are still kept."""
        folders = sorted((self.folder / "crashes").glob("*/image.json"))
        return [self._read(path.read_bytes(), CrashImage) for path in folders]

    def image_names(self) -> list[str]:
        """The crash images it used, whichever version of the lab made them."""
        return sorted(path.name for path in (self.folder / "crashes").glob("*"))

    def samples(self, image: str) -> Sequence[Sample]:
        """The counters from the start of the fill to the kill."""
        return read_samples(self.folder / "crashes" / image / SAMPLES)

    def log(self, trial: str) -> Path:
        """Where the error log of a trial goes."""
        return self.folder / "logs" / f"{trial}.log"

    def new_log(self, trial: str) -> Path:
        """As `log`, beside what a trial of that name that failed has left."""
        path, number = self.log(trial), 1
        while path.exists():
            number += 1
            path = self.log(f"{trial}-again{number}")
        return path

    def add_trial(self, trial: msgspec.Struct) -> None:
        """Write one more trial to the disk."""
        self._add_line(_TRIALS, trial)

    def add_crash(self, images: ImageStore, image: CrashImage) -> None:
        """Keep how a crash image came about with the run, which may outlive the image."""
        kept = self.folder / "crashes" / image.name
        kept.mkdir(parents=True, exist_ok=True)
        for name in ("image.json", SAMPLES, FILL_LOG):
            beside = kept / f".{name}"
            shutil.copy(images.folder(image.name) / name, beside)
            beside.replace(kept / name)

    def keep_failed(self, instance: Path) -> None:
        """Keep the logs and samples of an instance that failed before there was an image of it."""
        for path in [*instance.glob("*.log"), *instance.glob("*.csv")]:
            kept = self.folder / "failed" / instance.name
            kept.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, kept)

    def _add_line(self, name: str, content: msgspec.Struct) -> None:
        path = self.folder / name
        whole = b"".join(self._lines(name))
        if path.exists() and path.stat().st_size > len(whole):
            # A line that a killed lab left torn must not run into this one.
            path.write_bytes(whole)
        with path.open("ab") as file:
            file.write(msgspec.json.encode(content) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def _lines(self, name: str) -> list[bytes]:
        path = self.folder / name
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [line for line in lines if line.endswith(b"\n")]

    def _read(self, content: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.DecodeError as error:
            raise LabError(
                f"the run {self.name} was made by another version of the lab ({error})", f"remove {self.folder}"
            ) from error

    def write_record(self, record: RunRecord) -> None:
        """Write what is known of it, whole or not at all."""
        _write_whole(self.folder / _RECORD, msgspec.json.format(msgspec.json.encode(record)))


class RunStore:
    """All runs of this clone."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or PROJECT.runs

    def all(self) -> list[Run]:
        """Every run, oldest first."""
        return [Run(path.parent) for path in sorted(self._folder.glob(f"*/{_RECORD}"))]

    def get(self, name: str) -> Run:
        """The run of that name, or the only one whose name begins so; `latest` is the newest. Raises `InvalidInput`."""
        runs = self.all()
        if name == "latest" and runs:
            return runs[-1]
        found = [run for run in runs if run.name == name] or [run for run in runs if run.name.startswith(name)]
        if len(found) != 1:
            problem = f"there is no run '{name}'" if not found else f"'{name}' could be {len(found)} runs"
            raise InvalidInput(problem, "'redolab runs' lists them")
        return found[0]

    def create(
        self, experiment: str, options: Mapping[str, str], machine: Machine, commit: str, tools: Mapping[str, str]
    ) -> Run:
        """A new run's folder."""
        began = datetime.now(UTC)
        folder = self._folder / f"{began:%Y%m%d-%H%M%S}-{experiment}"
        folder.mkdir(parents=True)
        run = Run(folder)
        run.write_record(
            RunRecord(
                format=RUN_FORMAT,
                name=run.name,
                experiment=experiment,
                options=options,
                commit=commit,
                command=sys.argv,
                tools=tools,
                machine=machine,
                began=began,
                state=State.RUNNING,
            )
        )
        return run

    def remove(self, run: Run) -> None:
        """Remove a run's folder."""
        shutil.rmtree(run.folder)

    def clear_unfinished(self) -> list[str]:
        """Settle the runs whose lab was killed: without a trial they go, with some they are marked; in words, which."""
        cleared = []
        for run in self.all():
            try:
                record = run.record()
            except LabError:
                continue
            if record.state is State.RUNNING:
                cleared.append(f"the run {run.name}, {self._settle(run, record, 'the lab was killed')}")
        return cleared

    def _settle(self, run: Run, record: RunRecord, why: str, *, keep: bool = False) -> str:
        if not keep and not run.trial_count():
            self.remove(run)
            return "which had no trial yet"
        run.write_record(msgspec.structs.replace(record, state=State.STOPPED, why_stopped=why))
        return f"of which {run.trial_count()} trials are kept"

    @contextmanager
    def running(self, run: Run, seconds: Mapping[str, float]) -> Iterator[Run]:
        """While in it the run is running; it is complete when left in order, else it is settled and says why."""
        try:
            yield run
        except BaseException as error:
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            record = _with_seconds(run.record(), seconds)
            # The logs of what failed are what its error speaks of; of what was stopped there is nothing to look into.
            self._settle(run, record, why, keep=not isinstance(error, Interrupted | KeyboardInterrupt))
            raise
        record = _with_seconds(run.record(), seconds)
        run.write_record(msgspec.structs.replace(record, state=State.COMPLETE))

    def reopen(self, run: Run) -> None:
        """Let a run that was stopped go on. Raises `InvalidInput` if it is complete."""
        record = run.record()
        if record.state is not State.STOPPED:
            raise InvalidInput(f"the run {run.name} is {record.state}", "'redolab show' prints it")
        run.write_record(msgspec.structs.replace(record, state=State.RUNNING, why_stopped=""))


def _with_seconds(record: RunRecord, seconds: Mapping[str, float]) -> RunRecord:
    """With the time that stages took added to what they took before it was resumed."""
    kinds = [*record.seconds, *seconds]
    return msgspec.structs.replace(
        record, seconds={kind: record.seconds.get(kind, 0.0) + seconds.get(kind, 0.0) for kind in kinds}
    )


def _write_whole(path: Path, content: bytes) -> None:
    beside = path.with_name(f".{path.name}")
    beside.write_bytes(content)
    beside.replace(path)


def lab_commit(host: Host) -> str:
    """The commit of this clone, `+changes` behind it if the tree differs; empty outside a git checkout."""
    git = ["git", "-C", str(PROJECT.root)]
    commit = host.run(Command([*git, "rev-parse", "--short=12", "HEAD"]), check=False)
    if commit.status != 0:
        return ""
    changed = host.run(Command([*git, "status", "--porcelain"]), check=False).out
    return commit.out.strip() + ("+changes" if changed else "")
