"""Repeated consistency checks of runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from redolab.crash.bench.crash_plan import CrashPlan
from redolab.crash.bench.judging import judge_positions, judgeable
from redolab.crash.records.verdict import Judgement
from redolab.errors import FindingsMade, InvalidInput, LabError
from redolab.lab import open_lab
from redolab.progress import Progress
from redolab.report.table import Column, ReportTable, print_lines, write_tables
from redolab.results.crashes import CRASHES
from redolab.runs.schema import Ruling, VerdictRecord
from redolab.runs.store import Run, RunStore
from redolab.units import noun


@dataclass(frozen=True, slots=True)
class _Row:
    """Check results of one image recovered by one server."""

    image: str
    server: str
    rulings: Counter[Ruling]
    checks: int


def judge_run(name: str, jobs: int, progress: Progress) -> None:
    """Recover the images of a run again, and add check results. Raises `LabError`; `FindingsMade` for an anomaly."""
    store = RunStore()
    with open_lab(progress, store.clear_unfinished) as lab:
        run = store.get(name)
        if not (run.files / CRASHES).exists() or not (positions := judgeable(run)):
            raise InvalidInput(f"the run {run.name} has recovered nothing", "'redolab runs' lists the others")
        plan: CrashPlan = run.plan(CrashPlan)
        gone = judge_positions(lab, run, plan, positions, jobs)
        for image in gone:
            progress.note(f"{image} is gone: what was recovered from it keeps the verdict it has")
        if len(gone) == len({record.name for record in run.groups().values()}):
            raise LabError(f"all crash images of the run {run.name} are gone", "its verdicts stay as they are")
        _show(run, progress)


def _show(run: Run, progress: Progress) -> None:
    """Print the check results, and store them for `redolab show`. Raises `FindingsMade` for an anomaly."""
    verdicts = run.verdicts(Judgement)
    answer = _answer(verdicts)
    table = _table(verdicts)
    write_tables(run.folder, "verdicts", answer, [table])
    progress.console.print()
    print_lines(progress.console, answer, style="bold")
    table.show(progress.console)
    progress.note(f"everything is in {run.folder}")
    findings = [finding for verdict in verdicts for finding in verdict.findings]
    if findings:
        what = f"{noun(len(findings), 'finding')} in {len(verdicts)} recoveries"
        raise FindingsMade(what, f"the evidence is in {run.folder}")


def _answer(verdicts: list[VerdictRecord[Judgement]]) -> str:
    rulings = Counter(each.verdict.ruling for each in verdicts)
    counts = ", ".join(f"{rulings[ruling]} {ruling}" for ruling in Ruling if rulings[ruling])
    return f"{len(verdicts)} recoveries judged: {counts}."


def _table(verdicts: list[VerdictRecord[Judgement]]) -> ReportTable:
    judgements: dict[tuple[str, str], list[Judgement]] = {}
    for each in verdicts:
        judgements.setdefault((each.verdict.image, each.verdict.server), []).append(each.verdict)
    rows = [
        _Row(image, server, Counter(each.ruling for each in own), sum(len(each.checks) for each in own))
        for (image, server), own in judgements.items()
    ]
    columns = [
        Column[_Row]("state", lambda row: row.image),
        Column[_Row]("server", lambda row: row.server),
        *(_column(ruling) for ruling in Ruling),
        Column[_Row]("checks", lambda row: f"{row.checks:,}", right=True),
    ]
    why = dict.fromkeys(each.verdict.why for each in verdicts if each.verdict.why)
    notes = [
        *(f"Unknown: {each}." for each in why),
        *(f"FINDING: {f.what}" for each in verdicts for f in each.findings),
    ]
    return ReportTable.of("Verdicts", rows, columns, notes)


def _column(ruling: Ruling) -> Column[_Row]:
    return Column(str(ruling), lambda row: str(row.rulings[ruling]), right=True)
