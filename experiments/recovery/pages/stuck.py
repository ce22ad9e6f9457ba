"""The page of recoveries that never end: which servers, with which buffer pools, how often, and what helps."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import scipy

from redolab.records.alike import grouped
from redolab.records.crash import filled_to
from redolab.records.plan import CrashPlan
from redolab.records.recovery import Outcome, RecoveryTrial
from redolab.report.contents import Page, Plot
from redolab.report.heat import HeatCell, draw_heat
from redolab.report.labels import server_label
from redolab.report.plots import plt, save
from redolab.report.table import Column, ReportTable
from redolab.report.template import filled
from redolab.results.alike import keyed_recoveries
from redolab.results.committed import INTEL_MACHINE, READ_THREADS
from redolab.results.crashes import crashes_of
from redolab.runs.store import Run
from redolab.servers.dialects import Version
from redolab.storage.profiles import HOME
from redolab.units import MIB, format_size

_TEMPLATE = Path(__file__).with_suffix(".md")
RUNS = ["stuck", READ_THREADS, INTEL_MACHINE]
"""Folders under data/measured whose runs the page is made from."""
_PICTURE = "map"
_REMEDY = "innodb_read_io_threads=64"
_WORKLOAD = "oltp_write_only"
_THREADS = "innodb_read_io_threads="
_SMALL_LOG = 512 * MIB
_MANY = 16
"""Read threads."""
_LEAST_DEFAULT = 4
"""Read threads: the default on hosts with few CPUs (8.4 Reference Manual, 17.8.5)."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Recoveries of one server with one log, one buffer pool and one set of settings; sizes in bytes."""

    server: str
    version: str
    log_size: int
    pool: int
    settings: str
    redo: int
    """Redo at the crash, of the largest of its crashes."""
    crashes: int
    seconds: tuple[float, ...]
    """To ready, of those that became ready."""
    stuck: int
    batches: int | None
    """Of those that became ready, the most."""

    @property
    def n(self) -> int:
        """All recoveries."""
        return len(self.seconds) + self.stuck


def cells(runs: Sequence[Run], *, filled_up: bool = True) -> list[Cell]:
    """The cells of all runs together, by server, log, pool and settings: on the native storage, under the workload.

    `filled_up`: of crashes with a full log; otherwise of those that were killed earlier.
    """
    wanted = [
        each
        for each in keyed_recoveries(runs)
        if each.image.spec.workload == _WORKLOAD and each.image.spec.kill.fills_up == filled_up
        if each.trial.storage == HOME
    ]
    ages = {each.image.name: each.image.last_sample.checkpoint_age or 0 for each in wanted}
    by_key = grouped([(each.key, each.trial) for each in wanted])
    known = [_cell(of_cell, ages) for of_cell in by_key.values()]
    return sorted(known, key=lambda cell: (_age_of(cell), cell.log_size, cell.pool, cell.settings))


def _age_of(cell: Cell) -> tuple[bool, Version]:
    """Families together, MySQL first, the oldest version first."""
    return cell.server.startswith("mariadb"), Version.parse(cell.version)


def _cell(trials: Sequence[RecoveryTrial], ages: Mapping[str, int]) -> Cell:
    first, images = trials[0], {trial.image for trial in trials}
    batches = [trial.timeline.batches for trial in trials if trial.timeline is not None and trial.unfinished is None]
    return Cell(
        server=first.server,
        version=first.version.split("-")[0],
        log_size=first.log_size,
        pool=first.buffer_pool,
        settings=first.settings,
        redo=max(ages[image] for image in images),
        crashes=len(images),
        seconds=tuple(trial.ready_s for trial in trials if trial.ready_s is not None),
        stuck=sum(trial.outcome is Outcome.STUCK for trial in trials),
        batches=max((count for count in batches if count is not None), default=None),
    )


def page(runs: Sequence[Run]) -> Page:
    """The page and its picture; read threads, and the machine of another class, have tables of their own."""
    elsewhere, by_threads = (
        [run for run in runs if run.folder.parent.name == folder] for folder in (INTEL_MACHINE, READ_THREADS)
    )
    runs = [run for run in runs if run not in elsewhere and run not in by_threads]
    known, threaded = cells(runs), cells(by_threads)
    plans: list[CrashPlan] = [run.plan(CrashPlan) for run in runs]
    asked = [cell for cell in known if not cell.settings]
    affected = _by_server(cell for cell in asked if cell.stuck)
    healthy = {server: of for server, of in _by_server(asked).items() if server not in affected}
    stuck_at = {(cell.server, cell.log_size, cell.pool) for cell in asked if cell.stuck}
    tried = [cell for cell in known if cell.settings and (cell.server, cell.log_size, cell.pool) in stuck_at]
    many = [cell for cell in tried if _THREADS in cell.settings and _read_threads(cell) >= _MANY]
    few, more = (
        _stuck_of(
            [
                cell
                for cell in threaded
                if cell.log_size == _SMALL_LOG and (_read_threads(cell) == _LEAST_DEFAULT) == is_few
            ]
        )
        for is_few in (True, False)
    )
    larger = [
        cell for cell in cells(elsewhere) if cell.server in affected and cell.log_size > max(_logs(asked, cell.server))
    ]
    filling = [image for run in runs for image in crashes_of(run) if image.spec.kill.fills_up]
    values = {
        "filled_to": filled_to(filling),
        "affected": [_title(of[0]) for of in affected.values()],
        "by_log": [_of_log(log, server, asked) for server in affected for log in _logs(asked, server)],
        "healthy": [_title(of[0]) for of in healthy.values()],
        "healthy_cells": sum(len(of) for of in healthy.values()),
        "healthy_recoveries": sum(cell.n for of in healthy.values() for cell in of),
        "stuck_cells": _stuck_table([cell for cell in asked if cell.stuck]).as_markdown(),
        "earlier": _stuck_table(cells(runs, filled_up=False)).as_markdown(),
        "settings": _settings_table(_by_settings(tried)).as_markdown(),
        "threads": _threads_table(threaded).as_markdown(),
        "threads_few": few,
        "threads_more": more,
        "threads_p": fisher(few, more),
        "filling": [_filled(of_runs, _SMALL_LOG) for of_runs in (runs, by_threads)],
        "threads_many": _stuck_of(many),
        "threads_many_crashes": max(cell.crashes for cell in many),
        "threads_recoveries": sum(run.trial_count() for run in by_threads),
        "threads_planned": [_planned(run) for run in by_threads],
        "threads_machine": by_threads[0].record().sessions[0].machine.in_words(),
        "larger": _settings_table(larger).as_markdown() if larger else "",
        "larger_stuck": _stuck_of([cell for cell in larger if not cell.settings]),
        "larger_helped": _ready_of([cell for cell in larger if cell.settings == _REMEDY]),
        "helped": sum(cell.n - cell.stuck for cell in tried if cell.settings == _REMEDY),
        "helped_of": sum(cell.n for cell in tried if cell.settings == _REMEDY),
        "again": _again(asked),
        "one_batch": max(_one_batch(server, log, asked) for server in affected for log in _logs(asked, server)),
        "servers": _server_table(_by_server(asked)).as_markdown(),
        "machine": runs[0].record().sessions[0].machine.in_words(),
        "runs": [run.name for run in runs],
        "recoveries": sum(run.trial_count() for run in runs),
        "patience": sorted({plan.conditions.stuck_after for plan in plans}),
        "quiet": _longest_quiet(runs),
        "share": max(_cpu_shares(runs)),
    }
    return Page(filled(_TEMPLATE, values), [Plot(_PICTURE, partial(plot_map, cells=asked))])


def _longest_quiet(runs: Sequence[Run]) -> dict[str, float]:
    """Storage → the longest stretch without progress, in seconds, of all recoveries on it that ended."""
    longest: dict[str, float] = {}
    for trial in (record.trial for run in runs for record in run.trials(RecoveryTrial)):
        if trial.outcome is Outcome.READY and trial.longest_quiet is not None:
            longest[trial.storage] = max(trial.longest_quiet, longest.get(trial.storage, 0.0))
    return longest


def _cpu_shares(runs: Sequence[Run]) -> Iterator[float]:
    """Of each recovery that was stuck, what it used of one core meanwhile."""
    for end in (record.trial.unfinished for run in runs for record in run.trials(RecoveryTrial)):
        if end is not None and end.cpu_seconds is not None:
            yield end.cpu_seconds / (end.ended - end.progress_ended)


def _by_server(of: Iterable[Cell]) -> dict[str, list[Cell]]:
    servers: dict[str, list[Cell]] = defaultdict(list)
    for cell in of:
        servers[cell.server].append(cell)
    return dict(servers)


@dataclass(frozen=True, slots=True)
class Filled:
    """What a load did until the log was full."""

    seconds: float
    pages_written: int


@dataclass(frozen=True, slots=True)
class Planned:
    """How many recoveries of a run were measured, and planned."""

    log: str
    measured: int
    planned: int


@dataclass(frozen=True, slots=True)
class OfLog:
    """What the page says of a server with one log."""

    log: str
    stuck: int
    """Cells in which a recovery was stuck."""
    cells: int
    crashes: int


def _logs(of: Sequence[Cell], server: str) -> list[int]:
    return sorted({cell.log_size for cell in of if cell.server == server})


def _of_log(log: int, server: str, of: Sequence[Cell]) -> OfLog:
    with_it = [cell for cell in of if (cell.server, cell.log_size) == (server, log)]
    stuck = sum(bool(cell.stuck) for cell in with_it)
    return OfLog(format_size(log), stuck, len(with_it), max(cell.crashes for cell in with_it))


def _one_batch(server: str, log: int, of: Sequence[Cell]) -> float:
    """The smallest pool that took all redo of a full log in one batch, in sizes of the redo."""
    with_it = [cell for cell in of if (cell.server, cell.log_size) == (server, log) and cell.batches == 1]
    return min(cell.pool / cell.redo for cell in with_it)


def _again(of: Sequence[Cell]) -> tuple[int, int]:
    """How many cells that were ever stuck always were, and how many there are."""
    ever = [cell for cell in of if cell.stuck]
    return sum(cell.stuck == cell.n for cell in ever), len(ever)


def _title(cell: Cell) -> str:
    return server_label(cell.server, cell.version)


def _stuck_table(of: Sequence[Cell]) -> ReportTable:
    columns = [
        Column[Cell]("server", _title),
        Column[Cell]("log", lambda cell: format_size(cell.log_size), right=True),
        Column[Cell]("redo at crash", lambda cell: format_size(cell.redo), right=True),
        Column[Cell]("pool", lambda cell: format_size(cell.pool), right=True),
        Column[Cell]("stuck", lambda cell: f"{cell.stuck} of {cell.n}", right=True),
        Column[Cell]("crashes", lambda cell: str(cell.crashes), right=True),
        Column[Cell](
            "ready after, s", lambda cell: ", ".join(f"{each:.1f}" for each in sorted(cell.seconds)) or "–"
        ),
    ]  # fmt: skip
    return ReportTable.of("Stuck", of, columns, ())


def _settings_table(of: Sequence[Cell]) -> ReportTable:
    columns = [
        Column[Cell]("log", lambda cell: format_size(cell.log_size), right=True),
        Column[Cell]("pool", lambda cell: format_size(cell.pool), right=True),
        Column[Cell]("setting", lambda cell: cell.settings.replace("+", ", ") or "none"),
        Column[Cell]("stuck", lambda cell: f"{cell.stuck} of {cell.n}", right=True),
        Column[Cell]("crashes", lambda cell: str(cell.crashes), right=True),
        Column[Cell]("ready after, s", lambda cell: ", ".join(f"{each:.1f}" for each in sorted(cell.seconds)) or "–"),
    ]
    return ReportTable.of("Settings", of, columns, ())


def _read_threads(cell: Cell) -> int:
    """Of a cell with no other setting."""
    return int(cell.settings.removeprefix(_THREADS))


def _by_threads(of: Iterable[Cell]) -> dict[int, list[Cell]]:
    found: dict[int, list[Cell]] = defaultdict(list)
    for cell in sorted(of, key=_read_threads):
        found[_read_threads(cell)].append(cell)
    return dict(found)


def _threads_table(of: Sequence[Cell]) -> ReportTable:
    """Read threads over logs: how many pools got stuck."""
    logs = sorted({cell.log_size for cell in of})

    def stuck(log: int, with_so_many: Sequence[Cell]) -> str:
        of_log = [cell for cell in with_so_many if cell.log_size == log]
        return f"{sum(cell.stuck for cell in of_log)} of {sum(cell.n for cell in of_log)}" if of_log else "–"

    columns = [
        Column[list[Cell]]("innodb_read_io_threads", lambda of: str(_read_threads(of[0])), right=True),
        Column[list[Cell]]("the default since 8.4 on", lambda of: _hosts(_read_threads(of[0]))),
        *(Column[list[Cell]](f"stuck, log {format_size(log)}", partial(stuck, log), right=True) for log in logs),
    ]
    return ReportTable.of("Read threads", list(_by_threads(of).values()), columns, ())


def _hosts(read_threads: int) -> str:
    """On which hosts it is the default: CPUs / 2, at least 4."""
    return "up to 8 CPUs" if read_threads == _LEAST_DEFAULT else f"{2 * read_threads} CPUs"


def fisher(some: tuple[int, int], others: tuple[int, int]) -> float:
    """Return how likely at least so many of some would get stuck if others did as often: Fisher's exact test, one-sided."""
    (stuck, n), (stuck_others, n_others) = some, others
    table = np.array([[stuck, n - stuck], [stuck_others, n_others - stuck_others]])
    return float(scipy.stats.fisher_exact(table, alternative="greater").pvalue)


def _filled(runs: Sequence[Run], log_size: int) -> Filled:
    """The medians over the affected server's crashes with a full log of that size."""
    images = [
        image
        for run in runs
        for image in crashes_of(run)
        if image.spec.kill.fills_up
        and image.spec.instance.log_size == log_size
        and image.spec.dataset.server == "mysql-9"
    ]
    last = [image.last_sample for image in images]
    return Filled(
        statistics.median(each.uptime or 0 for each in last),
        round(statistics.median(each.pages_written or 0 for each in last)),
    )


def _planned(run: Run) -> Planned:
    plan: CrashPlan = run.plan(CrashPlan)
    log = next(image.spec.instance.log_size for image in crashes_of(run))
    return Planned(format_size(log), run.trial_count(), len(plan.steps))


def _stuck_of(of: Sequence[Cell]) -> tuple[int, int]:
    """How many recoveries got stuck, and of how many."""
    return sum(cell.stuck for cell in of), sum(cell.n for cell in of)


def _ready_of(of: Sequence[Cell]) -> tuple[int, int]:
    """How many recoveries were ready, and of how many."""
    return sum(len(cell.seconds) for cell in of), sum(cell.n for cell in of)


def _by_settings(of: Sequence[Cell]) -> list[Cell]:
    return sorted(of, key=lambda cell: (cell.settings, cell.log_size, cell.pool))


def _server_table(servers: Mapping[str, Sequence[Cell]]) -> ReportTable:
    columns = [
        Column[Sequence[Cell]]("server", lambda of: _title(of[0])),
        Column[Sequence[Cell]]("cells", lambda of: str(len(of)), right=True),
        Column[Sequence[Cell]]("stuck cells", lambda of: str(sum(bool(cell.stuck) for cell in of)), right=True),
        Column[Sequence[Cell]]("recoveries", lambda of: str(sum(cell.n for cell in of)), right=True),
        Column[Sequence[Cell]]("stuck", lambda of: str(sum(cell.stuck for cell in of)), right=True),
        Column[Sequence[Cell]]("the others were ready after, s: median (min–max)", _ready, right=True),
    ]
    return ReportTable.of("Servers", list(servers.values()), columns, ())


def _ready(of: Sequence[Cell]) -> str:
    seconds = [each for cell in of for each in cell.seconds]
    return f"{statistics.median(seconds):.1f} ({min(seconds):.1f}–{max(seconds):.1f})" if seconds else "–"


def plot_map(folder: Path, cells: Sequence[Cell]) -> None:
    """Servers over pools, a panel for each log: seconds to ready, or stuck: `map.svg`, `.png`."""
    logs = sorted({_asked_log(cell) for cell in cells})
    servers = list(dict.fromkeys(_title(cell) for cell in cells))
    medians = [statistics.median(cell.seconds) for cell in cells if cell.seconds]
    figure, panels = plt.subplots(
        nrows=len(logs), squeeze=False, figsize=(11, 1.6 + 0.42 * len(servers) * len(logs)), layout="constrained"
    )
    for axes, log in zip(panels[:, 0], logs, strict=True):
        of_log = [cell for cell in cells if _asked_log(cell) == log]
        pools = [format_size(pool) for pool in sorted({cell.pool for cell in of_log})]
        heat = {(_title(cell), format_size(cell.pool)): _heat(cell) for cell in of_log}
        draw_heat(axes, servers, pools, heat, (min(medians), max(medians)))
        axes.set_xlabel(f"buffer pool of the recovery, redo log {format_size(log)}")
    stuck = list(dict.fromkeys(_title(cell) for cell in cells if cell.stuck))
    who = f"{' and '.join(stuck)} can get stuck for ever" if stuck else "every one ends"
    figure.suptitle(f"Recovering a crash under {_WORKLOAD}, seconds to ready: {who}", fontsize="large")
    save(figure, folder / _PICTURE)


def _heat(cell: Cell) -> HeatCell:
    if cell.stuck:
        return HeatCell(f"STUCK\n{cell.stuck} of {cell.n}", None)
    median = statistics.median(cell.seconds)
    return HeatCell(f"{median:.1f}", median)


def _asked_log(cell: Cell) -> int:
    """The log as it was asked for: old servers have files of whole megabytes, so that theirs is a little less."""
    return 1 << (cell.log_size - 1).bit_length()
