"""Tables and plots of a run, written into its folder and shown, even for a stopped run, and again later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from redolab.machine import files
from redolab.report.table import ReportTable, print_lines, write_rows, write_tables
from redolab.runs.experiment import Declaration
from redolab.runs.failing import how_many, in_words
from redolab.runs.machines import machine_names, machines_table
from redolab.runs.schema import RunRecord, RunState, TrialRecord
from redolab.runs.store import Run
from redolab.servers.dialects import other_than_expected

TABLE, ALL_TABLES = "table", "all-tables"
"""Stems of the files in a run's folder: the tables shown to everybody, and those with the details."""
_PLOTS = "plots"


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """Report of a run as written to its folder."""

    answer: str
    tables: Sequence[ReportTable]
    details: Sequence[ReportTable]
    pictures: Sequence[Path]
    files: Sequence[Path]
    failed: Sequence[str]
    """Plots that could not be drawn, in words."""

    def show(self, console: Console) -> None:
        """Print the answer, the main tables, and the paths of the pictures."""
        print_lines(console, self.answer, style="bold")
        console.print()
        for table in self.tables:
            table.show(console)
            console.print()
        for what, paths in (("picture", self.pictures), ("file", self.files)):
            print_lines(console, *(f"{what}: {path}" for path in paths))


def write_report(experiment: type[Declaration], run: Run) -> WrittenReport:
    """Write the tables and plots of a run into its folder."""
    report = experiment.report(run)
    tables = [*_with_frame_notes(report.tables, experiment, run)]
    if (machines := machines_table(experiment, run)) is not None:
        tables.append(machines)
    write_tables(run.folder, TABLE, report.answer, tables)
    write_tables(run.folder, ALL_TABLES, report.answer, [*tables, *report.details])
    if report.tables and TABLE not in report.rows:
        write_rows(run.folder, TABLE, [row for _, row in experiment.rows(run)])
    for name, rows in report.rows.items():
        write_rows(run.folder, name, rows)
    for name, content in report.files.items():
        files.write_whole(run.folder / name, content)
    plots = run.folder / _PLOTS
    # A plot that an earlier version of the lab drew under another name would stay for ever.
    files.remove(plots)
    failed = []
    for plot in report.plots:
        try:
            plot.save(plots)
        except Exception as error:
            failed.append(f"the plot '{plot.name}' could not be drawn ({type(error).__name__}: {error})")
    pictures = sorted(plots.glob("*.png"), key=lambda path: path.stat().st_mtime_ns)
    written = [run.folder / name for name in report.files]
    return WrittenReport(report.answer, tables, report.details, pictures, written, failed)


def _with_frame_notes(tables: Sequence[ReportTable], experiment: type[Declaration], run: Run) -> Sequence[ReportTable]:
    """Add notes on the run: that it was stopped, its findings, and the machines of its rows."""
    if not tables:
        return tables
    first, *others = tables
    notes = [*first.notes, *_notes(experiment, run)]
    return [replace(first, notes=notes), *others]


def _notes(experiment: type[Declaration], run: Run) -> list[str]:
    record, trials = run.record(), run.trials(object)
    notes = [f"FINDING: {finding.what}{_evidence(finding.evidence)}" for finding in run.findings()]
    if record.state is RunState.STOPPED:
        notes.append(
            f"The run was stopped: these are the {experiment.step_noun.several} that had been finished; "
            f"'--resume {run.name}' goes on."
        )
    return [
        *notes,
        *_failures(experiment, run),
        *_versions(record, trials),
        *_machines(experiment, run, trials),
    ]


def _failures(experiment: type[Declaration], run: Run) -> list[str]:
    """Return sentences on steps of the plan that are missing in the answer and the tables."""
    if not (failures := run.failures()):
        return []
    plan = run.plan(experiment.plan_type)
    return [
        f"{how_many(failures, experiment, plan)}: answer and tables are of those measured; "
        f"'--resume {run.name}' tries again.",
        *(f"FAILED: {in_words(each, plan)}: {each.problem}{_evidence(each.evidence)}" for each in failures),
    ]


def _versions(record: RunRecord, trials: Sequence[TrialRecord[object]]) -> list[str]:
    """Return sentences on servers whose version differed from the catalogue's during measurement."""
    differing = {}
    for each in trials:
        # Trials of any experiment: read them as plain JSON.
        trial = each.trial if isinstance(each.trial, dict) else {}
        server, version = trial.get("server"), trial.get("version")
        expected = record.sessions[each.session].servers.get(server or "")
        if version and expected and other_than_expected(version, expected):
            differing[server, version] = f"{server} was {version}; the catalogue expected {expected}."
    return list(differing.values())


def _evidence(evidence: Sequence[str]) -> str:
    """Return the paths of evidence in the run's folder; several files in a folder become its name."""
    parents = [Path(path).parent for path in evidence]
    positions = dict.fromkeys(
        str(parent) if parents.count(parent) > 1 else path for path, parent in zip(evidence, parents, strict=True)
    )
    return f" (evidence: {', '.join(positions)})" if evidence else ""


def _machines(experiment: type[Declaration], run: Run, trials: Sequence[TrialRecord[object]]) -> list[str]:
    """Return a sentence on the machine of each group, if there is more than one."""
    sessions = run.record().sessions
    names = machine_names(sessions)
    groups: dict[str, dict[int, None]] = {}
    machines = {}
    for trial in trials:
        name = names[trial.session]
        machines[name] = sessions[trial.session].machine
        groups.setdefault(name, {})[trial.group] = None
    if len(groups) < 2:
        return []
    planned = run.plan(experiment.plan_type).groups
    parts = [
        f"{', '.join(' '.join(planned[group].described().values()) for group in of_one)} on {_called(name)}{machines[name].in_words()}"
        for name, of_one in groups.items()
    ]
    return [f"Measured on {len(groups)} machines, whose times do not compare: {'; '.join(parts)}."]


def _called(name: str) -> str:
    """Return a machine's name, to precede its description, if it has one of its own."""
    return "" if name.partition(" ")[0] == "local" else f"{name}: "
