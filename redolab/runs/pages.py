"""Pages of results: each made from the runs that are committed for it, by the experiment that it belongs to."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path

from redolab.errors import InvalidInput, LabError
from redolab.project import PROJECT
from redolab.runs.experiment import BrokenExperiment, Experiment, load_experiment
from redolab.runs.experiment_folders import experiment_names
from redolab.runs.factors import one_of
from redolab.runs.schema import RunState
from redolab.runs.store import Run
from redolab.timeline import compressed

LARGEST_FILE = 1_000_000
"""Bytes of the largest file of a run that is committed."""
_LOGS = ("*.log", "*.log.arrivals", "*.log.looks")
"""What is committed compressed where it is larger: readers of logs find it there (`redolab.timeline.compressed`)."""
_MADE_AGAIN = ("plots", "table.*", "all-tables.*", "disks.*", "calibration.json")
"""What `redolab report` makes again of a run."""
_READ_BY_NOTHING = ("fill.log", "fill.log.gz")
"""Of a crash: what the server said until then. Pages, models and `follow` are made without it."""
_CRASHES = "crashes"
_MADE_BY = "<!-- Made by 'redolab results {name}' from the runs in {folders}. -->\n\n"


def pages() -> Mapping[str, Experiment]:
    """Name → the experiment that makes the page of that name."""
    found: dict[str, Experiment] = {}
    for name in experiment_names():
        # The pages of the others can be made all the same.
        with suppress(BrokenExperiment):
            experiment = load_experiment(name)
            found |= dict.fromkeys(experiment.pages, experiment)
    return found


def folders_of(name: str) -> Sequence[str]:
    """The folders under data/measured whose runs a page is made from. Raises `InvalidInput` if there is no such page."""
    one_of("page", lambda: list(pages()))(name)
    return pages()[name].page_runs.get(name, (name,))


def measured_runs(name: str) -> list[Run]:
    """The runs in a folder under data/measured, oldest first. Raises `LabError` if there are none."""
    runs = [Run(path.parent) for path in sorted((PROJECT.measured / name).glob("*/run.json"))]
    if not runs:
        raise LabError(f"no run is kept for the page '{name}'", f"'redolab results {name} --keep RUN' keeps one")
    return runs


def write_page(name: str, folder: Path) -> list[Path]:
    """Write a page and its pictures into a folder; what was written. Raises `LabError`."""
    _check_clone()
    runs = [run for each in folders_of(name) for run in measured_runs(each)]
    page = pages()[name].pages[name](runs)
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / f"{name}.md"
    folders = ", ".join(f"data/measured/{each}" for each in folders_of(name))
    text.write_text(_MADE_BY.format(name=name, folders=folders) + page.text)
    written = [text]
    with tempfile.TemporaryDirectory() as drawn:
        for plot in page.plots:
            plot.draw(Path(drawn))
        for picture in sorted(Path(drawn).glob("*.svg")):
            beside = folder / f"{name}-{picture.name}"
            shutil.copy(picture, beside)
            written.append(beside)
    return written


def keep_run(name: str, run: Run) -> Path:
    """Copy a run to those that are committed for a page, without what can be made again, what nothing reads, and what is too large.

    Where the lab lay on this machine is left out of it. Raises `LabError`.
    """
    _check_clone()
    if name not in folders_of(name):
        known = ", ".join(folders_of(name))
        raise InvalidInput(
            f"the page '{name}' has no runs of its own", f"it is made from those that are kept for {known}"
        )
    if run.record().state is RunState.RUNNING:
        raise InvalidInput(f"the run {run.name} is not over", "wait for its end")
    kept = PROJECT.measured / name / run.name
    if kept.exists():
        shutil.rmtree(kept)
    shutil.copytree(run.folder, kept, ignore=_left_out)
    for path in sorted(kept.rglob("*")):
        if path.is_file():
            _keep(path)
    return kept


def too_large(run: Run, kept: Path) -> list[Path]:
    """The files of a run that `keep_run` left out of the folder `kept` for their size, in the run's folder."""
    large = (
        path.relative_to(run.folder)
        for path in sorted(run.folder.rglob("*"))
        if _is_large(path) and not _is_read_by_nothing(path)
    )
    return [path for path in large if not compressed.exists(kept / path)]


def _left_out(folder: str, names: list[str]) -> set[str]:
    made = shutil.ignore_patterns(*_MADE_AGAIN)(folder, names)
    paths = [Path(folder) / name for name in names]
    large = {path.name for path in paths if _is_large(path) and not _is_log(path.name)}
    return made | large | {path.name for path in paths if _is_read_by_nothing(path)}


def _keep(path: Path) -> None:
    """Leave out of a copied file where the lab lay; compress it if it is large, and leave it out if that is large too."""
    content = path.read_bytes().replace(str(PROJECT.lab).encode(), b".lab")
    if len(content) <= LARGEST_FILE:
        path.write_bytes(content)
        return
    path.unlink()
    packed = compressed.compressed(content)
    if len(packed) <= LARGEST_FILE:
        path.with_name(path.name + compressed.ENDING).write_bytes(packed)


def _is_read_by_nothing(path: Path) -> bool:
    return path.parent.parent.name == _CRASHES and path.name in _READ_BY_NOTHING


def _is_log(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in _LOGS)


def _is_large(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > LARGEST_FILE


def _check_clone() -> None:
    if not PROJECT.is_clone:
        raise InvalidInput("pages of results are part of a clone", "there is none here: redolab is installed")
