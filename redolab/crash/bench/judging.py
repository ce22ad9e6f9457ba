"""Repeated recoveries of a run's images, which add check results and time nothing."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.crash.bench.crash_plan import CrashPlan
from redolab.crash.bench.recording import evidence_of, keep_judgement
from redolab.crash.image_store import ImageStore, check_format
from redolab.crash.records.recovery import Outcome, RecoveryTrial
from redolab.crash.records.verdict import Judgement
from redolab.crash.recovery.checked import CheckedRecovery, ImageTask, checks_of_images, recover_checked
from redolab.crash.recovery.evidence import keep_data
from redolab.crash.recovery.task import recovery_request
from redolab.disks.place import own_place
from redolab.lab import Lab
from redolab.runs.schema import Ruling
from redolab.runs.store import Run
from redolab.servers.dialects import other_than_expected
from redolab.servers.instance import DATA

JOBS = 2
"""Number of recoveries at a time, by default."""


def unjudged(run: Run) -> list[int]:
    """Return the indexes of the recoveries with a ready server and without a check result. Raises `LabError`."""
    judged = {
        (each.position, each.attempt) for each in run.verdicts(Judgement) if each.verdict.ruling is not Ruling.UNKNOWN
    }
    return [
        record.position
        for record in run.trials(RecoveryTrial)
        if record.trial.outcome is Outcome.READY and (record.position, record.attempt) not in judged
    ]


def judgeable(run: Run) -> list[int]:
    """Return the indexes of all recoveries that ended in a ready server. Raises `LabError`."""
    return [record.position for record in run.trials(RecoveryTrial) if record.trial.outcome is Outcome.READY]


def next_turn(run: Run, image: str) -> int:
    """Return which check of this image comes next, 1 for the first; checks without a ruling do not count."""
    return 1 + sum(
        each.verdict.image == image and each.verdict.ruling is not Ruling.UNKNOWN for each in run.verdicts(Judgement)
    )


def judge_positions(lab: Lab, run: Run, plan: CrashPlan, positions: Sequence[int], jobs: int = JOBS) -> list[str]:
    """Recover the images of these steps again, `jobs` at a time, and add a check result for each.

    Return the names of missing images.

    Raises `LabError`.
    """
    images, groups = ImageStore(lab.home), run.groups()
    versions = {each.position: each.trial.version for each in run.trials(RecoveryTrial)}
    tasks: list[ImageTask] = []
    gone: dict[str, None] = {}
    turns: dict[str, int] = {}
    for position in positions:
        planned = plan.steps[position]
        name = groups[planned.group].name
        image = images.read(name)
        if image is None:
            gone[name] = None
            continue
        timed = versions[position]
        server = lab.server(plan.groups[planned.group].server, timed)
        if other_than_expected(server.version, timed):
            lab.progress.note(
                f"{name}: recovered by {server.name} {timed}, and only {server.version} is here: another version's verdict "
                "would be of another recovery"
            )
            continue
        turns[name] = turns.get(name, next_turn(run, name) - 1) + 1
        check_format(image, server.name, server.dialect)
        tasks.append(
            ImageTask(
                number=position,
                server=server,
                request=recovery_request(image, planned.step.pool, planned.step.settings),
                log=run.log(f"{position + 1:03}-judged"),
                settings=planned.step.settings,
                stuck_after=plan.conditions.stuck_after,
                image=image,
                turn=turns[name],
            )
        )

    def done(checked: CheckedRecovery[ImageTask, Judgement]) -> None:
        task = checked.task
        group = plan.steps[task.number].group
        keep_judgement(run, lab.progress, task.number, group, task.log, task.image.name, checked.verdict)
        if checked.verdict.ruling is Ruling.WRONG:
            keep_data(lab, checked.folder / DATA, evidence_of(run, task.log) / DATA)

    if tasks:
        recover_checked(lab, tasks, checks_of_images(lab, images, own_place(lab.home)), jobs, done)
    return list(gone)
