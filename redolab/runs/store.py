"""Files of runs, written and read: one folder a run under `data/runs/`, never overwritten (docs/run-data.md)."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
import xxhash

from redolab.errors import Interrupted, InvalidInput, LabError
from redolab.machine import files
from redolab.machine.facts import Machine
from redolab.machine.lock import is_locked, locked
from redolab.project import PROJECT
from redolab.runs.packing import unpacked
from redolab.runs.schema import (
    RUN_FORMAT,
    FailureRecord,
    Finding,
    GroupRecord,
    RunRecord,
    RunState,
    Session,
    TrialRecord,
    VerdictRecord,
)

T = TypeVar("T")
R = TypeVar("R", bound=TrialRecord[Any] | VerdictRecord[Any] | FailureRecord)

_RECORD = "run.json"
_PLAN = "plan.json"
_TRIALS = "trials"
_VERDICTS = "verdicts"
_GROUPS = "groups"
_FAILED = "failed"
_LEFT_BY_STEPS = ("logs", "failed", "evidence")
_INSTANCES = "instances"
_LOCK = ".running"


class _Formatted(msgspec.Struct):
    """Part of a run's record that every format has."""

    format: int


class Run:
    """The folder of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[tuple[str, Any], tuple[bytes, list[Any]]] = {}
        """(file, kind of its lines) → lines read so far, and their records."""

    @property
    def name(self) -> str:
        """Name of the run: its start time and the experiment."""
        return self.folder.name

    @property
    def files(self) -> Path:
        """Path that holds the run's folders: its own folder, or an unpacked copy. Raises `LabError`."""
        return unpacked(self.folder)

    def record(self) -> RunRecord:
        """Return the run's record. Raises `LabError` if it cannot be read."""
        record: RunRecord = self._read(_RECORD, RunRecord)
        return record

    def write_record(self, record: RunRecord) -> None:
        """Write the run's record, whole or not at all."""
        self._write(_RECORD, record)

    def plan(self, plan_type: Any) -> Any:
        """Return the run's plan as `plan_type`. Raises `InvalidInput` if there is none to go on with."""
        if not (self.folder / _PLAN).exists():
            raise InvalidInput(f"the run {self.name} has no plan to go on with", "start a new run")
        return self._read(_PLAN, plan_type)

    def write_plan(self, plan: msgspec.Struct) -> None:
        """Store the run's plan."""
        self._write(_PLAN, plan)

    def trials(self, kind: type[T]) -> list[TrialRecord[T]]:
        """Return the trials that still count, in the order of measurement; a torn last line is skipped.

        Raises `LabError`.
        """
        records: list[TrialRecord[T]] = self.lines(_TRIALS, TrialRecord[kind])  # type: ignore[valid-type]
        return self._of_last_attempt(records)

    def verdicts(self, kind: type[T]) -> list[VerdictRecord[T]]:
        """Return the last verdict on each step that still counts, in the order of measurement. Raises `LabError`."""
        records: list[VerdictRecord[T]] = self.lines(_VERDICTS, VerdictRecord[kind])  # type: ignore[valid-type]
        last = {(record.position, record.attempt): record for record in records}
        return self._of_last_attempt(last.values())

    def add_verdict(self, record: VerdictRecord[Any]) -> None:
        """Write one more verdict to disk."""
        self.add_line(_VERDICTS, record)

    def findings(self, group: int | None = None) -> list[Finding]:
        """Return the findings of trials and of verdicts on them, for one group or all. Raises `LabError`."""
        records: list[TrialRecord[object] | VerdictRecord[object]] = [*self.trials(object), *self.verdicts(object)]
        return [finding for record in records if group in (None, record.group) for finding in record.findings]

    def trial_count(self) -> int:
        """Return the number of trials on disk."""
        return len(self._lines(_TRIALS))

    def add_trial(self, record: TrialRecord[Any]) -> None:
        """Write one more trial to disk."""
        self.add_line(_TRIALS, record)

    def groups(self) -> dict[int, GroupRecord]:
        """Return group → record of its last product."""
        return {record.group: record for record in self.group_records()}

    def group_records(self) -> list[GroupRecord]:
        """Return the records of all products, in order."""
        return self.lines(_GROUPS, GroupRecord)

    def add_group(self, record: GroupRecord) -> None:
        """Write a record of a group's product to disk."""
        self.add_line(_GROUPS, record)

    def failures(self) -> list[FailureRecord]:
        """Return failures that were neither measured since nor tried again. Raises `LabError`."""
        trials, groups = self.trials(object), self.group_records()
        failures = self.lines(_FAILED, FailureRecord)
        of_last_attempt = self._of_last_attempt(failures)
        measured = {trial.position for trial in trials}
        last = {(failure.group, failure.position): failure for failure in failures}
        tried = [
            *((trial.group, trial.session) for trial in trials),
            *((group.group, group.session) for group in groups),
            *((failure.group, failure.session) for failure in failures),
        ]

        def stands(failure: FailureRecord) -> bool:
            if failure.position is None:
                return not any(group == failure.group and session > failure.session for group, session in tried)
            return failure.position not in measured and failure in of_last_attempt

        return [each for each in failures if last[each.group, each.position] is each and stands(each)]

    def add_failure(self, record: FailureRecord) -> None:
        """Write a failure to disk."""
        self.add_line(_FAILED, record)

    def left_by_steps(self) -> set[str]:
        """Return the logs and evidence of steps: paths in the run's folder, or a whole subfolder by its name."""
        return {
            str(path.relative_to(self.folder))
            for name in _LEFT_BY_STEPS
            for each in (self.folder / name).glob("*")
            for path in (each.glob("*") if each.is_dir() else [each])
        }

    def lines(self, name: str, kind: type[T]) -> list[T]:
        """Return the lines of `NAME.jsonl`, which an experiment added, without a torn last one. Raises `LabError`."""
        content = b"".join(self._lines(name))
        known, records = self._known.get((name, kind), (b"", []))
        # Each step reads them again: decode only lines added since the last time.
        if not content.startswith(known):
            known, records = b"", []
        added = content[len(known) :].splitlines()
        records = records + [self._decoded(f"{name}.jsonl", line, kind) for line in added]
        self._known[name, kind] = (content, records)
        return list(records)

    def add_line(self, name: str, content: msgspec.Struct | Mapping[str, object]) -> None:
        """Write one more line of `NAME.jsonl` to disk."""
        with (self.folder / f"{name}.jsonl").open("ab+") as file:
            _cut_torn_end(file)
            file.write(msgspec.json.encode(content) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def keep_once(self, content: msgspec.Struct) -> str:
        """Store the settings and variables of a server unless equal ones are stored. Return their hash."""
        digest = xxhash.xxh3_64_hexdigest(msgspec.json.encode(content))
        name = f"{_INSTANCES}/{digest}.json"
        if not (self.folder / name).exists():
            self._write(name, content)
        return digest

    def log(self, trial: str) -> Path:
        """Return a path for the error log of a trial, distinct from that of a failed trial with the same name."""
        return _unused(self.folder / "logs" / f"{trial}.log", "-again")

    def evidence(self, trial: str) -> Path:
        """Return a folder for the evidence of a trial, distinct from that of an earlier session."""
        return _unused(self.folder / "evidence" / trial, "-again")

    def _of_last_attempt(self, records: Iterable[R]) -> list[R]:
        """Return the records whose group was not made anew after them."""
        attempts = {group: record.attempt for group, record in self.groups().items()}
        return [record for record in records if record.attempt >= attempts.get(record.group, 1)]

    def _lines(self, name: str) -> list[bytes]:
        path = self.folder / f"{name}.jsonl"
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [line for line in lines if line.endswith(b"\n")]

    def _write(self, name: str, record: msgspec.Struct) -> None:
        """Write a record as formatted JSON into the run's folder."""
        files.write_whole(self.folder / name, msgspec.json.format(msgspec.json.encode(record)))

    def _read(self, name: str, kind: Any) -> Any:
        """Return a file's content. Raises `LabError` if it cannot be read, or has an unknown format."""
        try:
            content = (self.folder / name).read_bytes()
        except OSError as error:
            raise self._unreadable(name, error) from error
        if name == _RECORD:
            self._check_format(self._decoded(name, content, _Formatted).format)
        return self._decoded(name, content, kind)

    def _decoded(self, name: str, content: bytes, kind: Any) -> Any:
        try:
            return msgspec.json.decode(content, type=kind, strict=False)
        except msgspec.DecodeError as error:
            raise self._unreadable(name, error) from error

    def _check_format(self, known: int) -> None:
        if known != RUN_FORMAT:
            which = "a newer" if known > RUN_FORMAT else "an older"
            raise LabError(
                f"the run {self.name} has format {known}, and this lab reads {RUN_FORMAT}",
                f"{which} redolab reads it; it is left as it is",
            )

    def _unreadable(self, name: str, why: object) -> LabError:
        return LabError(f"the run {self.name} cannot be read ({name}: {why})", f"it is left as it is in {self.folder}")


def _unused(path: Path, word: str) -> Path:
    """Return a path, with the word and a number from 2 on after its name while that is taken."""
    numbered = (path.with_name(f"{path.stem}{word}{number}{path.suffix}") for number in itertools.count(2))
    return next(each for each in itertools.chain([path], numbered) if not each.exists())


class RunStore:
    """All runs of this clone."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or PROJECT.runs

    def all(self) -> list[Run]:
        """Return every run, oldest first."""
        return [Run(path.parent) for path in sorted(self._folder.glob(f"*/{_RECORD}"))]

    def readable(self) -> tuple[list[tuple[Run, RunRecord]], list[LabError]]:
        """Return every run with its record, oldest first, and an error for each run that cannot be read."""
        runs, errors = [], []
        for run in self.all():
            try:
                runs.append((run, run.record()))
            except LabError as error:
                errors.append(error)
        return runs, errors

    def get(self, name: str) -> Run:
        """Return the run of that name, or the only one whose name begins so; `latest` is the newest.

        Raises `InvalidInput`.
        """
        runs = self.all()
        if name == "latest" and runs:
            return runs[-1]
        found = [run for run in runs if run.name == name] or [run for run in runs if name and run.name.startswith(name)]
        if len(found) != 1:
            problem = f"there is no run '{name}'" if not found else f"'{name}' could be {len(found)} runs"
            raise InvalidInput(problem, "'redolab runs' lists them")
        return found[0]

    def create(self, experiment: str, options: Mapping[str, str], session: Session) -> Run:
        """Make the folder of a new run."""
        # Another run may have begun in the same second.
        folder = _unused(self._folder / f"{session.began:%Y%m%d-%H%M%S}-{experiment}", "-")
        # Make it under another name first: nothing would clean up a folder without a record.
        making = Run(folder.with_name(f".{folder.name}"))
        making.folder.mkdir(parents=True)
        making.write_record(
            RunRecord(
                format=RUN_FORMAT,
                name=folder.name,
                experiment=experiment,
                options=options,
                state=RunState.RUNNING,
                sessions=[session],
            )
        )
        making.folder.rename(folder)
        return Run(folder)

    def remove(self, run: Run) -> None:
        """Remove a run's folder."""
        files.remove(run.folder)

    def names_used(self, but: Run) -> Collection[str]:
        """Return the names of the products that all other runs have measured on."""
        return {name for run in self.all() if run.name != but.name for name in used_names(run)}

    def clear_unfinished(self) -> list[str]:
        """Settle runs of killed labs: remove those without a trial, mark the others. Return a description of each."""
        return [words for run, _ in self.readable()[0] if (words := self.clear(run)) is not None]

    def clear(self, run: Run) -> str | None:
        """Settle a run if its lab was killed. Return its new state in words; None if there is nothing to settle."""
        record = run.record()
        if record.state is not RunState.RUNNING or is_locked(run.folder / _LOCK):
            return None
        return f"the run {run.name}, {self._settle(run, record, 'the lab was killed')}"

    def _settle(self, run: Run, record: RunRecord, why: str, *, keep: bool = False) -> str:
        # Keep an earlier session's evidence, and the run's products: only it knows of them.
        left = len(record.sessions) > 1 or any(group.made for group in run.group_records())
        if not (keep or left or run.trial_count() or run.verdicts(object) or run.failures()):
            self.remove(run)
            return "which had no trial yet"
        run.write_record(msgspec.structs.replace(record, state=RunState.STOPPED, why_stopped=why))
        return f"of which {run.trial_count()} trials are kept"

    @contextmanager
    def running(self, run: Run, seconds: Mapping[str, float]) -> Iterator[None]:
        """Mark the run as running, and as complete or incomplete at the end. After an exception, settle it with the reason.

        `seconds`: kind of stage → seconds in the run's present session.
        """
        session = len(run.record().sessions) - 1
        try:
            with _running(run.folder / _LOCK):
                yield
        except BaseException as error:
            why = str(error).partition("\n")[0] or type(error).__name__
            record = _with_seconds(run.record(), session, seconds)
            # A failure's message refers to its logs; a stopped run leaves nothing to look into.
            self._settle(run, record, why, keep=not isinstance(error, Interrupted | KeyboardInterrupt))
            raise
        record = _with_seconds(run.record(), session, seconds)
        state = RunState.INCOMPLETE if run.failures() else RunState.COMPLETE
        run.write_record(msgspec.structs.replace(record, state=state))

    def reopen(self, run: Run, session: Session) -> None:
        """Let a run that is not complete go on, in a new session. Raises `InvalidInput` if it is complete or runs."""
        record = run.record()
        if record.state in (RunState.COMPLETE, RunState.RUNNING):
            raise InvalidInput(f"the run {run.name} is {record.state}", "'redolab show' prints it")
        sessions = [*record.sessions, session]
        run.write_record(msgspec.structs.replace(record, state=RunState.RUNNING, why_stopped="", sessions=sessions))


@contextmanager
def _running(lock: Path) -> Iterator[None]:
    with locked(lock):
        try:
            yield
        finally:
            files.remove(lock)


def used_names(run: Run) -> set[str]:
    """Return the names of the products that a run has measured on, made by any version of the lab."""
    kept = {path.name for path in (run.files / "crashes").glob("*")}
    try:
        return kept | {record.name for record in run.group_records() if record.name}
    except LabError:
        return kept


def new_session(
    machine: Machine,
    commit: str,
    tools: Mapping[str, str],
    identity: str = "",
    servers: Mapping[str, str] | None = None,
) -> Session:
    """Return a session that begins now, on the machine with that id. `servers`: the expected versions."""
    return Session(
        began=datetime.now(UTC),
        commit=commit,
        command=sys.argv,
        tools=tools,
        machine=machine,
        servers=servers or {},
        identity=identity,
        address=os.environ.get("REDOLAB_MACHINE") or "local",
    )


def _with_seconds(record: RunRecord, session: int, seconds: Mapping[str, float]) -> RunRecord:
    """Return the record with the time that stages took in its session `session`."""
    sessions = list(record.sessions)
    sessions[session] = msgspec.structs.replace(sessions[session], seconds=dict(seconds))
    return msgspec.structs.replace(record, sessions=sessions)


def _cut_torn_end(file: IO[bytes]) -> None:
    """Cut off a torn last line of a killed lab, which the next line would run into."""
    end = file.seek(0, os.SEEK_END)
    if not end:
        return
    file.seek(end - 1)
    if file.read(1) == b"\n":
        return
    file.seek(0)
    file.truncate(file.read().rfind(b"\n") + 1)
    file.seek(0, os.SEEK_END)
