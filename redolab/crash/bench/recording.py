"""Ways of a recovery's results into its run."""

from __future__ import annotations

from pathlib import Path

from redolab.crash.bench.findings import bad_outcome, bad_verdict, recovered
from redolab.crash.records.recovery import RecoveryTrial, WarmRecord, WarmTime
from redolab.crash.records.verdict import Judgement
from redolab.crash.recovery.task import Recorder
from redolab.progress import Progress
from redolab.results.recoveries import WARM
from redolab.runs.bench import StepContext
from redolab.runs.schema import Finding, VerdictRecord


def recorder(progress: Progress, at: StepContext[RecoveryTrial], log: Path) -> Recorder:
    """Return where the results of a recovery go, each with what is bad about it for the server."""
    run, position, group = at.run, at.position, at.group
    evidence = run.folder / "evidence" / log.stem
    shown = (str(log.relative_to(run.folder)), str(evidence.relative_to(run.folder)))
    attempt, session = run.groups()[group].attempt, len(run.record().sessions) - 1
    measured: list[RecoveryTrial] = []

    def findings(what: str | None) -> tuple[Finding, ...]:
        return () if what is None else (Finding(what=what, evidence=shown),)

    def trial(trial: RecoveryTrial) -> None:
        measured.append(trial)
        at.keep(trial, findings(bad_outcome(trial)))

    def judgement(judgement: Judgement) -> None:
        found = findings(bad_verdict(recovered(measured[0]), judgement))
        run.add_verdict(
            VerdictRecord(
                position=position, group=group, attempt=attempt, session=session, findings=found, verdict=judgement
            )
        )
        for finding in found:
            progress.note(f"FINDING: {finding.what}")

    def warm(warm: WarmTime) -> None:
        run.add_line(WARM, WarmRecord(position=position, group=group, attempt=attempt, warm=warm))

    return Recorder(log=log, evidence=evidence, instance=run.keep_once, trial=trial, warm=warm, judgement=judgement)
