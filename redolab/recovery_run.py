"""Recoveries of crash images, cell by cell, into a run: the part that the experiment and `redolab recover` share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from redolab.crash import CrashImage, ImageStore
from redolab.errors import InvalidInput
from redolab.hosts import Host
from redolab.lab import HOME, Lab, open_lab, server_catalogue, storage_catalogue
from redolab.machine import read_machine
from redolab.progress import Progress
from redolab.recovery import RecoveryTrial, check_format, recover
from redolab.report.recovery_table import RecoveryRow, recovery_rows, recovery_table, row_dictionaries
from redolab.report.table import ReportTable, write_table
from redolab.reporting import reported
from redolab.results import Run, RunStore, lab_commit
from redolab.servers.install import InstalledServer
from redolab.units import GIB, format_size

_LEFT_FOR_THE_SYSTEM = 1 * GIB


@dataclass(frozen=True, slots=True)
class RecoveryCell:
    """One combination of the factors: `repeat` recoveries of an image on a storage with a buffer pool of so many bytes."""

    image: CrashImage
    server: InstalledServer
    storage: str
    pool: int
    repeat: int


def run_recoveries(lab: Lab, run: Run, images: ImageStore, cells: Iterable[RecoveryCell]) -> None:
    """Measure every cell into the run's folder. Raises `LabError`."""
    for cell in cells:
        run.add_crash(images, cell.image)
        with storage_catalogue().get(cell.storage).attach(lab.host, lab.folder) as folder:
            for repeat in range(1, cell.repeat + 1):
                number = run.trial_count() + 1
                log = run.log(f"{number:03}-{cell.server.name}-{cell.storage}-{format_size(cell.pool)}-{repeat}")
                storage = (cell.storage, folder)
                run.add_trial(recover(lab, cell.image, cell.server, images, storage, cell.pool, repeat, log))


def report(run: Run, *, stopped: bool = False) -> ReportTable:
    """Write the table and the plots of the recoveries that a run has measured into its folder."""
    crashes = run.crashes()
    rows = recovery_rows(run.trials(RecoveryTrial), crashes)
    table = recovery_table(rows, crashes, stopped=stopped)
    write_table(run.folder, table, row_dictionaries(rows))
    _plot(run, rows)
    return table


def _plot(run: Run, rows: Sequence[RecoveryRow]) -> None:
    from redolab.report.recovery_plots import plot_age, plot_phases

    for image in run.crashes():
        plot_age(run.folder / "plots", image, run.samples(image.name))
    plot_phases(run.folder / "plots", rows)


def check_kept(lab: Lab, images: ImageStore, image: CrashImage) -> None:
    """Raises `LabError` if a crash image of an earlier run is no longer as the kill left it."""
    with lab.progress.stage(f"checking that {image.name} is as the kill left it", "hash"):
        images.check_unchanged(image)


def recover_image(name: str, server_name: str | None, pools: Sequence[int], repeat: int, progress: Progress) -> None:
    """A run of more recoveries from a kept crash image, by its own server and with its own buffer pool unless others are given.

    Raises `LabError`.
    """
    store = RunStore()
    with (
        open_lab(progress, store.clear_unfinished) as lab,
        storage_catalogue().get(HOME).attach(lab.host, lab.folder) as home,
    ):
        images = ImageStore(lab.host, home)
        image = images.get(name)
        recovering = server_name or image.spec.dataset.server
        check_format(image, recovering, server_catalogue().get(recovering).dialect())
        sizes = pools or [image.spec.instance.buffer_pool]
        check_memory(lab.host, home, sizes)
        server = lab.server(recovering)
        options = {
            "image": name,
            "server": recovering,
            "pool": ",".join(str(size) for size in sizes),
            "repeat": str(repeat),
        }
        check_kept(lab, images, image)
        machine, tools = read_machine(lab.host, home), lab.tools.versions()
        run = store.create("recovery", options, machine, lab_commit(lab.host), tools)
        with store.running(run, progress.seconds), reported(lab, run, report):
            run_recoveries(lab, run, images, [RecoveryCell(image, server, HOME, size, repeat) for size in sizes])


def check_memory(host: Host, folder: Path, pools: Sequence[int]) -> None:
    """Refuse buffer pools for which the host has no memory. Raises `InvalidInput`."""
    memory = read_machine(host, folder).memory
    largest = max(pools)
    if largest + _LEFT_FOR_THE_SYSTEM > memory:
        raise InvalidInput(
            f"a buffer pool of {format_size(largest)} does not fit into this machine's {format_size(memory)} of memory",
            "choose a smaller POOL, DATASET or LOGSIZE",
        )
