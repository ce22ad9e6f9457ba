"""Runs, crash images and datasets that are kept: listed, shown, removed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from redolab.crash.dataset_store import Dataset, dataset_names, datasets, remove_dataset
from redolab.crash.image_store import ImageStore
from redolab.crash.records.crash import KILL, CrashImage
from redolab.errors import InvalidInput
from redolab.lab import Lab, native_folder, open_lab
from redolab.machine import files
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.report.table import Column, ReportTable, known, print_lines
from redolab.runs.loading import load_experiment
from redolab.runs.reporting import ALL_TABLES, TABLE, write_report
from redolab.runs.schema import RunRecord, RunState
from redolab.runs.store import Run, RunStore, used_names
from redolab.units import format_duration, format_size

_WORTH_NAMING = ("server", "log_size", "storage", "pool", "repeat", "image")
_SIZES = ("log_size", "pool")


def _options(record: RunRecord) -> str:
    named = [(name, record.options[name]) for name in _WORTH_NAMING if name in record.options]
    return ", ".join(f"{name} {_sizes(value) if name in _SIZES else value}" for name, value in named)


def _sizes(text: str) -> str:
    return ",".join(format_size(int(part)) for part in text.split(",") if part)


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
    Column[tuple[CrashImage, int]]("crash image", lambda sized: sized[0].name),
    Column[tuple[CrashImage, int]]("made", lambda sized: f"{sized[0].made:%Y-%m-%d %H:%M} UTC"),
    Column[tuple[CrashImage, int]]("of", lambda sized: _crashed(sized[0])),
    Column[tuple[CrashImage, int]](
        "redo age", lambda sized: known(sized[0].last_sample.checkpoint_age, format_size), right=True
    ),
    Column[tuple[CrashImage, int]]("struck because", lambda sized: sized[0].why_killed),
    Column[tuple[CrashImage, int]]("on disk", lambda sized: format_size(sized[1]), right=True),
]
_DATASET_COLUMNS = [
    Column[Dataset]("dataset", lambda dataset: dataset.spec.key),
    Column[Dataset]("for", _loaded),
    Column[Dataset]("on disk", lambda dataset: format_size(dataset.size), right=True),
]


def runs_table(runs: Sequence[RunRecord]) -> ReportTable:
    """Return all runs as a table, oldest first."""
    return ReportTable.of("Runs", runs, _RUN_COLUMNS, [])


def images_table() -> ReportTable:
    """Return the crash images on this machine as a table with their bytes, oldest first."""
    images = ImageStore(native_folder(PROJECT.lab))
    sized = [(image, files.folder_size(images.folder(image.name))) for image in images.all()]
    return ReportTable.of("Crash images", sized, _IMAGE_COLUMNS, [])


def datasets_table() -> ReportTable:
    """Return the datasets on this machine as a table with their bytes, by name."""
    note = "Loaded tables that the next crash of the same kind starts from; one that is removed is loaded anew."
    return ReportTable.of("Datasets", datasets(native_folder(PROJECT.lab)), _DATASET_COLUMNS, [note])


def _older(path: Path, than: Path) -> bool:
    return path.stat().st_mtime < than.stat().st_mtime


def show_run(console: Console, run: Run, *, all_tables: bool) -> None:
    """Print the options of a run, its answer, and its main table or all tables."""
    record = run.record()
    print_lines(
        console,
        f"{record.name}: {record.state}{': ' + record.why_stopped if record.why_stopped else ''}",
        "asked for " + ", ".join(f"{name} {value}" for name, value in record.options.items()),
        *(
            f"on {each.address}: {each.machine.in_words()}, {each.machine.kernel}, {each.machine.system}, "
            f"{each.machine.virtualisation or 'virtualisation unknown'}, by redolab at commit "
            f"{each.commit or 'unknown'}, {each.began:%Y-%m-%d %H:%M} UTC"
            for each in record.sessions
        ),
        f"in {run.folder}",
    )
    table = run.folder / f"{ALL_TABLES if all_tables else TABLE}.txt"
    if run.trial_count() and (not table.exists() or _older(table, run.folder / "trials.jsonl")):
        # The lab was killed before it could write a report, or one with its last trials.
        write_report(load_experiment(record.experiment), run)
    if table.exists():
        console.print()
        print_lines(console, table.read_text())
    elif record.state is RunState.STOPPED:
        console.print("it was stopped before a trial was finished", markup=False)


def remove(progress: Progress, name: str) -> list[str]:
    """Remove a run, a crash image or a dataset. Return descriptions of the removed things. Raises `InvalidInput`.

    A run takes along the crash images that no other run used; an image or a dataset takes no result.
    """
    store = RunStore()
    with open_lab(progress, store.clear_unfinished) as lab:
        images = ImageStore(lab.home)
        if name in images.names():
            images.remove(name, lab.journal)
            return [f"removed the crash image {name}"]
        if name in dataset_names(lab.home):
            remove_dataset(lab.home, name, lab.journal)
            return [f"removed the dataset {name}"]
        return _remove_run(lab, store, name)


def _remove_run(lab: Lab, store: RunStore, name: str) -> list[str]:
    try:
        run = store.get(name)
    except InvalidInput as error:
        raise InvalidInput(
            f"{error.problem}, nor a crash image or dataset of that name",
            "'redolab runs' and 'redolab images' list what there is",
        ) from None
    if name not in (run.name, "latest"):
        raise InvalidInput(f"'{name}' is the beginning of a run's name", f"give it whole to remove it: {run.name}")
    if run.record().state is RunState.RUNNING:
        raise InvalidInput(f"the run {run.name} is running on a cluster", "interrupt it (Ctrl-C) where it was started")
    images = ImageStore(lab.home)
    used_elsewhere = store.names_used(run)
    removed = [
        image
        for image in images.names()
        if image in used_names(run) and image not in used_elsewhere and not images.used_by(image) - {run.folder}
    ]
    for image in removed:
        images.remove(image, lab.journal)
    store.remove(run)
    return [f"removed the run {run.name}", *(f"removed the crash image {image}" for image in removed)]
