"""The page of recoveries that never end: which servers, with which buffer pools, how often, and what helps."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

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
from redolab.results.committed import INTEL_MACHINE
from redolab.results.crashes import crashes_of
from redolab.runs.store import Run
from redolab.servers.dialects import Version
from redolab.storage.profiles import HOME
from redolab.units import format_size

_TEMPLATE = Path(__file__).with_suffix(".md")
_PICTURE = "map"
_REMEDY = "innodb_read_io_threads=64"
_WORKLOAD = "oltp_write_only"


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
    """The page and its picture; the machine of another class has a table of its own."""
    elsewhere = [run for run in runs if run.folder.parent.name == INTEL_MACHINE]
    runs = [run for run in runs if run not in elsewhere]
    known = cells(runs)
    plans: list[CrashPlan] = [run.plan(CrashPlan) for run in runs]
    asked = [cell for cell in known if not cell.settings]
    affected = _by_server(cell for cell in asked if cell.stuck)
    healthy = {server: of for server, of in _by_server(asked).items() if server not in affected}
    stuck_at = {(cell.server, cell.log_size, cell.pool) for cell in asked if cell.stuck}
    tried = [cell for cell in known if cell.settings and (cell.server, cell.log_size, cell.pool) in stuck_at]
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
