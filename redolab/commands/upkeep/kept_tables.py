"""Runs, crash images and datasets as tables, and the display of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from redolab.crash.dataset_store import Dataset
from redolab.crash.records.crash import KILL, CrashImage
from redolab.report.table import Column, ReportTable
from redolab.runs.loading import load_experiment
from redolab.runs.reporting import ALL_TABLES, TABLE, write_report
from redolab.runs.schema import RunRecord, RunState
from redolab.runs.store import Run
from redolab.units import format_duration, format_size

_WORTH_NAMING = ("server", "log_size", "storage", "pool", "repeat", "image")
_SIZES = ("log_size", "pool")


def _options(record: RunRecord) -> str:
    named = [(name, record.options[name]) for name in _WORTH_NAMING if name in record.options]
    return ", ".join(f"{name} {_sizes(value) if name in _SIZES else value}" for name, value in named)


def _sizes(text: str) -> str:
    return ",".join(format_size(int(part)) for part in text.split(",") if part)


def _age(image: CrashImage) -> str:
    age = image.last_sample.checkpoint_age
    return "–" if age is None else format_size(age)


def _crashed(image: CrashImage) -> str:
    """Return a description of an image, as in `bulk-update, log 1G, tables 512M`."""
    spec = image.spec
    kind = "" if spec.crash == KILL else f"{spec.crash}, "
    log, tables = format_size(spec.instance.log_size), format_size(spec.dataset.size)
    return f"{kind}{spec.workload}, log {log}, tables {tables}"


def _loaded(dataset: Dataset) -> str:
    """Return the use of a dataset, as in `crashes of mariadb-10.11 10.11.19, tables of 512M (sysbench)`."""
    spec = dataset.spec
    kind = spec.data.__struct_config__.tag
    return f"crashes of {spec.server} {spec.version}, tables of {format_size(spec.size)} ({kind})"


_RUN_COLUMNS = [
    Column[RunRecord]("run", lambda record: record.name),
    Column[RunRecord]("state", lambda record: record.state + (f": {record.why_stopped}" if record.why_stopped else "")),
    Column[RunRecord]("took", lambda record: format_duration(sum(record.seconds.values())), right=True),
    Column[RunRecord]("asked for", _options),
]
_IMAGE_COLUMNS = [
    Column[tuple[CrashImage, int]]("crash image", lambda kept: kept[0].name),
    Column[tuple[CrashImage, int]]("made", lambda kept: f"{kept[0].made:%Y-%m-%d %H:%M} UTC"),
    Column[tuple[CrashImage, int]]("of", lambda kept: _crashed(kept[0])),
    Column[tuple[CrashImage, int]]("redo age", lambda kept: _age(kept[0]), right=True),
    Column[tuple[CrashImage, int]]("struck because", lambda kept: kept[0].why_killed),
    Column[tuple[CrashImage, int]]("on disk", lambda kept: format_size(kept[1]), right=True),
]


_DATASET_COLUMNS = [
    Column[Dataset]("dataset", lambda dataset: dataset.spec.key),
    Column[Dataset]("for", _loaded),
    Column[Dataset]("on disk", lambda dataset: format_size(dataset.size), right=True),
]


def runs_table(runs: Sequence[RunRecord]) -> ReportTable:
    """Return all runs as a table, oldest first."""
    return ReportTable.of("Runs", runs, _RUN_COLUMNS, [])


def images_table(images: Sequence[tuple[CrashImage, int]]) -> ReportTable:
    """Return all crash images as a table with their bytes, oldest first."""
    return ReportTable.of("Crash images", images, _IMAGE_COLUMNS, [])


def datasets_table(datasets: Sequence[Dataset]) -> ReportTable:
    """Return all datasets as a table with their bytes."""
    note = "Loaded tables that the next crash of the same kind starts from; one that is removed is loaded anew."
    return ReportTable.of("Datasets", datasets, _DATASET_COLUMNS, [note])


def _older(path: Path, than: Path) -> bool:
    return path.stat().st_mtime < than.stat().st_mtime


def show_run(console: Console, run: Run, *, all_tables: bool) -> None:
    """Print the options of a run, its answer, and its main table or all tables."""
    record = run.record()
    for line in (
        f"{record.name}: {record.state}{': ' + record.why_stopped if record.why_stopped else ''}",
        "asked for " + ", ".join(f"{name} {value}" for name, value in record.options.items()),
        *(
            f"on {each.address}: {each.machine.in_words()}, {each.machine.kernel}, {each.machine.system}, "
            f"{each.machine.virtualisation or 'virtualisation unknown'}, by redolab at commit "
            f"{each.commit or 'unknown'}, {each.began:%Y-%m-%d %H:%M} UTC"
            for each in record.sessions
        ),
        f"in {run.folder}",
    ):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    table = run.folder / f"{ALL_TABLES if all_tables else TABLE}.txt"
    if run.trial_count() and (not table.exists() or _older(table, run.folder / "trials.jsonl")):
        # The lab was killed before it could write a report, or one with its last trials.
        write_report(load_experiment(record.experiment), run)
    if table.exists():
        console.print()
        console.print(table.read_text(), highlight=False, markup=False, soft_wrap=True)
    elif record.state is RunState.STOPPED:
        console.print("it was stopped before a trial was finished", markup=False)
