"""What power cuts have lost: tables of the settings, and how long ago what is lost was acknowledged."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from redolab.report.contents import Plot, Report
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable
from redolab.runs.store import Run

from .cells import VARIATIONS, Cell
from .plots import plot_lost
from .promises import promise_of
from .trial import CutVerdict, DurabilityTrial


@dataclass(frozen=True, slots=True)
class CellResult:
    """All states of one cell."""

    cell: Cell
    version: str
    trials: Sequence[DurabilityTrial]

    @property
    def is_control(self) -> bool:
        """Whether it must lose."""
        return VARIATIONS[self.cell.variation].must_lose

    @property
    def verdicts(self) -> list[CutVerdict]:
        """Of all its states."""
        return [each for trial in self.trials for each in trial.verdicts]

    @property
    def sampled(self) -> list[CutVerdict]:
        """Of cuts at random moments."""
        return [each for trial in self.trials if trial.sampled for each in trial.verdicts]

    @property
    def distinct(self) -> int:
        """States with content of their own: what was recovered."""
        return len({(trial.recording, each.hash) for trial in self.trials for each in trial.verdicts})

    @property
    def recordings(self) -> int:
        """Loads that were recorded."""
        return len({trial.recording for trial in self.trials})

    @property
    def lost(self) -> list[int]:
        """Lost commits of every state that lost some."""
        return [each.ledger.lost for each in self.verdicts if each.ledger is not None and each.ledger.lost]

    @property
    def seconds_back(self) -> list[float]:
        """Of these, how long before the cut the oldest was acknowledged."""
        return [each.ledger.seconds_back for each in self.verdicts if each.ledger is not None and each.ledger.lost]

    @property
    def seen_then_lost(self) -> int:
        """States in which something is gone that another session had read."""
        return sum(each.ledger is not None and each.ledger.seen_then_lost > 0 for each in self.verdicts)

    @property
    def apart(self) -> int:
        """States in which tables and binary log hold something else."""
        return sum(each.is_apart for each in self.verdicts)

    @property
    def broken(self) -> int:
        """States that did not come up, or contradict themselves."""
        return sum(each.is_broken for each in self.verdicts)

    @property
    def has_red(self) -> bool:
        """Whether anything was lost or broken."""
        return bool(self.lost) or self.broken > 0


def results(trials: Sequence[DurabilityTrial]) -> list[CellResult]:
    """A result for each cell, in the order of the plan."""
    cells: dict[Cell, list[DurabilityTrial]] = {}
    for trial in trials:
        cells.setdefault(trial.cell, []).append(trial)
    return [CellResult(cell, of_it[0].version, of_it) for cell, of_it in cells.items()]


def report(run: Run) -> Report:
    """The answer and the tables of a run."""
    trials = [record.trial for record in run.trials(DurabilityTrial)]
    found = results(trials)
    return Report(
        answer=answer(found),
        tables=[lost_table(found)],
        details=[controls_table(found)],
        plots=[Plot("lost", partial(plot_lost, cells=found))] if any(each.lost for each in found) else [],
        rows={"table": [row for trial in trials for row in rows_of(trial)]},
    )


def answer(found: Sequence[CellResult]) -> str:
    """What was lost where nothing may be, and where it may."""
    promised = [each for each in found if promise_of(each.cell) is not None and not each.is_control]
    states = sum(each.distinct for each in found)
    hour = 3600 * states / max(1e-9, sum(trial.recovered_s for each in found for trial in each.trials))
    lost = sum(bool(each.lost) for each in promised)
    kept = (
        f"With settings that promise it, {sum(len(each.verdicts) for each in promised)} power cuts lost no acknowledged commit"
        if promised and not lost
        else f"{lost} of {len(promised)} settings that promise it lost acknowledged commits"
    )
    controls = [each for each in found if each.is_control]
    red = sum(each.has_red for each in controls)
    said = f"; {red} of {len(controls)} controls that must lose did" if controls else ""
    return f"{kept}{said}. {states} distinct states were recovered, {hour:,.0f} an hour."


def lost_table(found: Sequence[CellResult]) -> ReportTable:
    """A row for each cell but the controls."""
    rows = [each for each in found if not each.is_control]
    columns = [
        Column[CellResult]("server", lambda row: server_label(row.cell.server, row.version.split("-")[0]), shared=str),
        Column[CellResult]("settings", lambda row: row.cell.in_words),
        Column[CellResult]("recordings", lambda row: str(row.recordings), right=True),
        Column[CellResult]("states", lambda row: f"{len(row.verdicts)} ({row.distinct} distinct)", right=True),
        Column[CellResult]("states that lost", lambda row: str(len(row.lost)), right=True),
        Column[CellResult]("lost commits: median, 95 %, most", _lost, right=True),
        Column[CellResult]("seconds back: median, 95 %, most", _back, right=True),
        Column[CellResult]("seen, then lost", lambda row: str(row.seen_then_lost), right=True),
        Column[CellResult](
            "binary log apart", lambda row: "–" if row.cell.sync_binlog is None else str(row.apart), right=True
        ),
        Column[CellResult]("broken", lambda row: str(row.broken), right=True),
        Column[CellResult]("promised", lambda row: "yes" if promise_of(row.cell) else "no"),
    ]
    notes = [
        "Lost: acknowledged before the cut, and gone. Broken: the server does not come up, or holds transactions in part, out of order, or "
        "that nobody had sent. Half of the states are of cuts at random moments, the rest of moments at which a fault would show: "
        "counts are no shares.",
        *_bounds(rows),
    ]
    return ReportTable.brief("What power cuts lose", rows, columns, notes)


def _bounds(rows: Sequence[CellResult]) -> list[str]:
    """What of cells without a loss can be said."""
    clean = [each for each in rows if promise_of(each.cell) is not None and not each.lost and each.sampled]
    if not clean:
        return []
    fewest = min(len(each.sampled) for each in clean)
    return [
        f"Where none of {fewest} states at random moments lost anything, fewer than {3 / fewest:.1%} of such states of these recordings "
        "do, 95 % sure (the rule of three)."
    ]


def controls_table(found: Sequence[CellResult]) -> ReportTable:
    """The controls: what must lose, or the search finds nothing."""
    rows = [each for each in found if each.is_control]
    columns = [
        Column[CellResult]("server", lambda row: server_label(row.cell.server, row.version.split("-")[0])),
        Column[CellResult]("control", lambda row: VARIATIONS[row.cell.variation].about.removeprefix("control: ")),
        Column[CellResult]("states", lambda row: str(len(row.verdicts)), right=True),
        Column[CellResult]("lost", lambda row: str(len(row.lost)), right=True),
        Column[CellResult]("broken", lambda row: str(row.broken), right=True),
        Column[CellResult](
            "", lambda row: "red, as it must be" if row.has_red else "NOT RED: this search would find nothing"
        ),
    ]
    return ReportTable.of("Controls", rows, columns, [])


def _lost(row: CellResult) -> str:
    return "–" if not row.lost else f"{statistics.median(row.lost):.0f}, {_high(row.lost):.0f}, {max(row.lost)}"


def _back(row: CellResult) -> str:
    back = row.seconds_back
    return "–" if not back else f"{statistics.median(back):.2f}, {_high(back):.2f}, {max(back):.2f}"


def _high(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def rows_of(trial: DurabilityTrial) -> list[dict[str, object]]:
    """A row for each state, for programs."""
    found = []
    for each in trial.verdicts:
        ledger = each.ledger
        found.append(
            {
                "server": trial.cell.server,
                "version": trial.version,
                "trx_commit": trial.cell.trx_commit,
                "sync_binlog": trial.cell.sync_binlog,
                "variation": trial.cell.variation,
                "recording": trial.recording,
                "sampled": trial.sampled,
                "moment": str(each.moment),
                "cut_s": each.seconds,
                "survivors": str(each.cut.survivors),
                "place": each.cut.place,
                "seed": each.cut.seed,
                "state_hash": each.hash,
                "outcome": str(each.outcome),
                "acknowledged": None if ledger is None else ledger.acknowledged,
                "lost": None if ledger is None else ledger.lost,
                "seconds_back": None if ledger is None else ledger.seconds_back,
                "holes": None if ledger is None else ledger.holes,
                "torn": None if ledger is None else ledger.torn,
                "wrong": None if ledger is None else ledger.wrong,
                "money": None if ledger is None else ledger.money,
                "only_in_tables": None if ledger is None else ledger.only_in_tables,
                "only_in_binary_log": None if ledger is None else ledger.only_in_binary_log,
                "seen_then_lost": None if ledger is None else ledger.seen_then_lost,
                "failed_checks": len(each.failed),
            }
        )
    return found
