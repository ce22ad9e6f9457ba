"""Pages of results: each made from the runs that are committed for it, by the experiment that it belongs to."""

from __future__ import annotations

import importlib
import lzma
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import msgspec

from redolab.errors import InvalidInput, LabError
from redolab.project import PROJECT
from redolab.report.contents import Page
from redolab.runs.experiment_names import page_templates
from redolab.runs.factors import one_of
from redolab.runs.packing import pack_folders, unpacked
from redolab.runs.schema import RunState
from redolab.runs.store import Run

NOTEBOOKS = PROJECT.root / "notebooks"
LARGEST_FILE = 1_000_000
"""Bytes of the largest file that is committed; of a run's folders, which are packed, of each file when it is compressed."""
_MADE_AGAIN = ("plots", "table.*", "all-tables.*", "disks.*", "calibration.json")
"""What `redolab report` makes again of a run."""
_READ_BY_NOTHING = "fill.log"
"""Of a crash: what the server said until then. Pages, models and `follow` are made without it."""
_CRASHES = "crashes"
_OF_A_CUT = "cut.json"
"""Of a power cut that was kept: the disk and all that was asked of it are made again by its seed."""
_USED = ("instances/*.json", "crashes/*/image.json")
"""What servers said of the settings that they used."""
_OF_THE_LAB = "1000"
"""`innodb_io_capacity` that no vendor ships: of `Purpose.PRODUCTION_1000`."""
_FLUSHED = (
    "\n[Production](../workloads.md#production-settings) had `innodb_io_capacity=1000` and `innodb_io_capacity_max=2000`\n"
    "here, as in the lab until 2026-11-28. MySQL 8.4 and later ship 10000 and 20000, earlier MySQL and MariaDB 200 and 2000.\n"
)
_MADE_BY = "<!-- Made by 'redolab results {name}' from the runs in {folders}. -->\n\n"


def folders_of(name: str) -> Sequence[str]:
    """Return the folders under data/measured whose runs a page is made from. Raises `InvalidInput` if there is no such page."""
    folders: Sequence[str] = getattr(_module_of(name), "RUNS", (name,))
    return folders


def _module_of(name: str) -> ModuleType:
    """Return the module that fills the template of a page. Raises `InvalidInput`."""
    one_of("page", lambda: sorted(page_templates()))(name)
    inside = page_templates()[name].relative_to(PROJECT.experiments).with_suffix("").parts
    return importlib.import_module(".".join([PROJECT.experiments_package, *inside]))


def measured_runs(name: str) -> list[Run]:
    """The runs in a folder under data/measured, oldest first. Raises `LabError` if there are none."""
    runs = [Run(path.parent) for path in sorted((PROJECT.measured / name).glob("*/run.json"))]
    if not runs:
        raise LabError(f"no run is kept in data/measured/{name}", f"'redolab results {name} --keep RUN' keeps one")
    return runs


def write_page(name: str, folder: Path) -> list[Path]:
    """Write a page and its pictures into a folder; what was written. Raises `LabError`."""
    _check_clone()
    runs = [run for each in folders_of(name) for run in measured_runs(each)]
    page: Page = _module_of(name).page(runs)
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / f"{name}.md"
    folders = ", ".join(f"data/measured/{each}" for each in folders_of(name))
    flushed = _FLUSHED if any(_flushed_by_the_lab(run) for run in runs if run.folder.parent.name == name) else ""
    text.write_text(_MADE_BY.format(name=name, folders=folders) + page.text + flushed)
    written = [text]
    with tempfile.TemporaryDirectory() as drawn:
        for plot in page.plots:
            plot.draw(Path(drawn))
        for picture in sorted(Path(drawn).glob("*.svg")):
            beside = folder / f"{name}-{picture.name}"
            shutil.copy(picture, beside)
            written.append(beside)
    return written


class _Used(msgspec.Struct):
    """The part of a record that has the variables of a server, as it said them."""

    variables: Mapping[str, str] = msgspec.field(default_factory=dict)


def _flushed_by_the_lab(run: Run) -> bool:
    """Return True if a server of the run had the I/O capacity that production had until 2026-11-28."""
    folder = unpacked(run.folder)
    used = (path.read_bytes() for pattern in _USED for path in folder.glob(pattern))
    return any(
        msgspec.json.decode(each, type=_Used).variables.get("innodb_io_capacity") == _OF_THE_LAB for each in used
    )


def keep_run(folder: str, run: Run) -> Path:
    """Copy a run to those that are committed, without what can be made again, what nothing reads, and what is too large.

    `folder`: one under data/measured, or the name of a notebook. The run's own folders are packed into one file. Where the lab lay
    on this machine is left out of all. Raises `LabError`.
    """
    _check_clone()
    known = sorted(
        {path.name for path in PROJECT.measured.glob("*/")} | {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
    )
    one_of("folder of data/measured", lambda: known)(folder)
    if run.record().state is RunState.RUNNING:
        raise InvalidInput(f"the run {run.name} is not over", "wait for its end")
    kept = PROJECT.measured / folder / run.name
    if kept.exists():
        shutil.rmtree(kept)
    shutil.copytree(run.folder, kept, ignore=_left_out)
    for path in sorted(kept.rglob("*")):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(str(PROJECT.lab).encode(), b".lab"))
    pack_folders(kept)
    return kept


def too_large(run: Run) -> list[Path]:
    """The files of a run that `keep_run` leaves out for their size, in the run's folder."""
    return [
        path.relative_to(run.folder)
        for path in sorted(run.folder.rglob("*"))
        if not _is_of_a_cut(path) and not _is_read_by_nothing(path) and _is_too_large(path)
    ]


def _left_out(folder: str, names: list[str]) -> set[str]:
    if _OF_A_CUT in names:
        return set(names) - {_OF_A_CUT}
    made = shutil.ignore_patterns(*_MADE_AGAIN)(folder, names)
    paths = [Path(folder) / name for name in names]
    return made | {path.name for path in paths if _is_too_large(path) or _is_read_by_nothing(path)}


def _is_read_by_nothing(path: Path) -> bool:
    return path.parent.parent.name == _CRASHES and path.name == _READ_BY_NOTHING


def _is_of_a_cut(path: Path) -> bool:
    return any((folder / _OF_A_CUT).is_file() for folder in path.parents[:2])


def _is_too_large(path: Path) -> bool:
    if not path.is_file() or path.stat().st_size <= LARGEST_FILE:
        return False
    return len(lzma.compress(path.read_bytes())) > LARGEST_FILE


def _check_clone() -> None:
    if not PROJECT.is_clone:
        raise InvalidInput("pages of results are part of a clone", "there is none here: redolab is installed")
