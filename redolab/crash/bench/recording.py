"""Writing of crashes, recoveries and check results to their run, with the findings about them."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import msgspec

from redolab.crash.image_store import ImageStore
from redolab.crash.records.crash import MARK, STORY, CrashImage
from redolab.crash.records.recovery import Outcome, RecoveryTrial, Unfinished, WarmRecord, WarmTime
from redolab.crash.records.verdict import Judgement
from redolab.crash.recovery.task import Recorder
from redolab.machine import files
from redolab.progress import Progress
from redolab.results.crashes import CRASHES, crashes_of
from redolab.results.recoveries import WARM
from redolab.runs.bench import StepContext
from redolab.runs.schema import Finding, Ruling, VerdictRecord
from redolab.runs.store import Run
from redolab.units import format_duration, format_size

_ROOM_FOR_TEXT = 40
_KILLED = 128 + signal.SIGKILL
"""Exit status of a process that SIGKILL ended, as a shell reports it."""


def keep_story(images: ImageStore, image: CrashImage, run: Run) -> None:
    """Keep the story of an image with a run, which may outlive it, and note with the image that the run uses it."""
    images.note_use(image.name, run.folder)
    kept = run.folder / CRASHES / image.name
    kept.mkdir(parents=True, exist_ok=True)
    for name in STORY:
        source = images.folder(image.name) / name
        if source.exists():
            partial = kept / f".{name}"
            shutil.copy(source, partial)
            partial.replace(kept / name)
    _drop_beginnings(image, run)
    # Only a recovery needs the hashes; those of 20,000 tables are megabytes.
    files.write_whole(kept / MARK, msgspec.json.encode(msgspec.structs.replace(image, hashes={})))


def _drop_beginnings(image: CrashImage, run: Run) -> None:
    """Leave the story to the last crash of a load: earlier ones have its beginning, and many would be megabytes."""
    of_load = [each for each in crashes_of(run) if each.load and each.load == image.load and each.name != image.name]
    for each in of_load:
        earlier = each if each.last_sample.monotonic < image.last_sample.monotonic else image
        for name in STORY:
            files.remove(run.folder / CRASHES / earlier.name / name)


def recorder(progress: Progress, at: StepContext[RecoveryTrial], log: Path) -> Recorder:
    """Return the destinations of a recovery's results in its run. Each is written with the findings about it."""
    run, position, group = at.run, at.position, at.group
    measured: list[RecoveryTrial] = []

    def trial(trial: RecoveryTrial) -> None:
        measured.append(trial)
        at.keep(trial, _findings(run, log, _bad_outcome(trial)))

    def judgement(judgement: Judgement) -> None:
        keep_judgement(run, progress, position, group, log, _recovered(measured[0]), judgement)

    def warm(warm: WarmTime) -> None:
        record = WarmRecord(position=position, group=group, attempt=run.groups()[group].attempt, warm=warm)
        run.add_line(WARM, record)

    return Recorder(
        log=log,
        evidence=evidence_of(run, log),
        instance=run.keep_once,
        trial=trial,
        warm=warm,
        judgement=judgement,
    )


def keep_judgement(
    run: Run, progress: Progress, position: int, group: int, log: Path, recovered: str, judgement: Judgement
) -> None:
    """Add a check result to a run, and print it if it is a finding. `recovered`: description of the recovery."""
    findings = _findings(run, log, _bad_verdict(recovered, judgement))
    run.add_verdict(
        VerdictRecord(
            position=position,
            group=group,
            attempt=run.groups()[group].attempt,
            session=len(run.record().sessions) - 1,
            findings=findings,
            verdict=judgement,
        )
    )
    for finding in findings:
        progress.note(f"FINDING: {finding.what}")


def evidence_of(run: Run, log: Path) -> Path:
    """Return the folder for the evidence of the recovery with this error log."""
    return run.folder / "evidence" / log.stem


def _findings(run: Run, log: Path, what: str | None) -> tuple[Finding, ...]:
    shown = tuple(str(path.relative_to(run.folder)) for path in (log, evidence_of(run, log)))
    return () if what is None else (Finding(what=what, evidence=shown),)


def _bad_outcome(trial: RecoveryTrial) -> str | None:
    """Return a finding about the outcome of a recovery; None if it ended in a ready server."""
    end = trial.unfinished
    if end is None:
        return None
    which = _recovered(trial)
    match trial.outcome:
        case Outcome.STUCK:
            quiet = format_duration(end.ended - end.progress_ended)
            return (
                f"{trial.server} was stuck recovering {which}: no progress for {quiet} at {end.where}{_repeated(end)}"
            )
        case Outcome.GAVE_UP:
            return f"{trial.server} gave up recovering {which}: {_ended(end.status)} at {end.where}"
        case Outcome.DIED:
            return f"{trial.server} died after it was ready on {which}: {_ended(end.status)}"
        case Outcome.REFUSED:
            return f"{trial.server} was ready on {which} and refused the first write ({end.why})"
        case _:
            return f"{trial.server} started on {which} without a crash recovery"


def _ended(status: int | None) -> str:
    """Return how a server ended, in words."""
    if status == _KILLED:
        return "it was killed by SIGKILL, which the lab did not send (the kernel does, where memory is short: dmesg)"
    return f"it ended with status {status}"


def _bad_verdict(which: str, judgement: Judgement) -> str | None:
    """Return a finding about the data of a recovered server; None if they are right, or could not be checked.

    `which`: name of the recovered image.
    """
    if judgement.ruling is not Ruling.WRONG:
        return None
    found = "; ".join(f"{each.what}: {each.found} instead of {each.expected}" for each in judgement.failed_checks)
    return f"{judgement.server} recovered {which} wrongly ({found})"


def _recovered(trial: RecoveryTrial) -> str:
    """Return a description of a recovery: image, storage, pool and settings."""
    settings = f" and {trial.settings}" if trial.settings else ""
    return f"{trial.image} on {trial.storage} with pool {format_size(trial.buffer_pool)}{settings}"


def _repeated(end: Unfinished) -> str:
    """Return the message that a server repeated, shortened to fit a line."""
    if not end.repeated:
        return ""
    most = end.repeated[0]
    text = most.text if len(most.text) <= _ROOM_FOR_TEXT else f"{most.text[:_ROOM_FOR_TEXT]}…"
    return f", saying {most.times:,} times '{text}'"
