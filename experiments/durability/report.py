"""What power cuts have lost: tables of the settings, and how long ago what is lost was acknowledged."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from redolab.powercut.explaining import Explanation
from redolab.powercut.ledger import LedgerVerdict
from redolab.report.contents import Plot, Report
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable
from redolab.runs.store import Run

from .cells import VARIATIONS
from .plots import plot_lost
from .promises import promise_of, unexpected
from .results import CellResult, results
from .trial import CutVerdict, DurabilityTrial

_WORDS = 3
"""Of what had to be lost so many are named in a table."""
_OF_NONE = 3
"""Where none of n had an event, so many of n bound their share from above, 95 % sure (the rule of three)."""
_TERMS = (
    "Lost: acknowledged before the cut, and gone. Broken: the server does not come up, or holds transactions in part, out of order, or "
    "that nobody had sent. Half of the states are of cuts at random moments, the rest of moments at which a fault would show: "
    "counts are no shares."
)


def report(run: Run) -> Report:
    """The answer and the tables of a run."""
    trials = [record.trial for record in run.trials(DurabilityTrial)]
    found = results(trials)
    return Report(
        answer=answer(found),
        tables=[lost_table(found)],
        details=[
            *replica_tables(found),
            controls_table(found),
            *killed_tables(found),
            *explained_tables(found),
        ],
        plots=[Plot("lost", partial(plot_lost, cells=found))] if any(each.lost for each in found) else [],
        rows={"table": [row for trial in trials for row in rows_of(trial)]},
    )


def answer(found: Sequence[CellResult]) -> str:
    """What was lost where nothing may be, and where it may."""
    promised = [each for each in found if promise_of(each.cell) is not None and not each.is_control]
    states = sum(each.distinct for each in found)
    hour = 3600 * states / max(1e-9, sum(trial.recovered_s for each in found for trial in each.trials))
    lost = sum(bool(each.lost) for each in promised)
    kept = f"{lost} of {len(promised)} settings that promise it lost acknowledged commits"
    if not promised:
        kept = "No setting here promises every commit"
    elif not lost:
        kept = f"With settings that promise it, {sum(len(each.verdicts) for each in promised)} power cuts lost no acknowledged commit"
    controls = [each for each in found if each.is_control]
    red = sum(each.has_red for each in controls)
    said = f"; {red} of {len(controls)} controls that must lose did" if controls else ""
    broken = sum(each.broken for each in promised)
    beside = f"; after {broken} of them a server did not come up, or a table could not be read" if broken else ""
    return f"{kept}{beside}{said}. {states} distinct states were recovered, {hour:,.0f} an hour."


def lost_table(found: Sequence[CellResult], *, with_terms: bool = True) -> ReportTable:
    """A row for each cell but the controls; `with_terms`: below it is what its words mean."""
    rows = [each for each in found if not each.is_control]
    columns = [
        Column[CellResult]("server", _label, shared=str),
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
    notes = [*([_TERMS] if with_terms else []), *_bounds(rows)]
    return ReportTable.brief("What power cuts lose", rows, columns, notes)


def _bounds(rows: Sequence[CellResult]) -> list[str]:
    """What of cells without a loss can be said."""
    clean = [each for each in rows if promise_of(each.cell) is not None and not each.lost and each.sampled]
    if not clean:
        return []
    fewest = min(len(each.sampled) for each in clean)
    if fewest <= _OF_NONE:
        return []
    return [
        f"Where none of {fewest} states at random moments lost anything, fewer than {_OF_NONE / fewest:.1%} of such states of these "
        "recordings do, 95 % sure (3/n)."
    ]


def controls_table(found: Sequence[CellResult]) -> ReportTable:
    """The controls: what must lose, or the search finds nothing."""
    rows = [each for each in found if each.is_control]
    columns = [
        Column[CellResult]("server", _label),
        Column[CellResult]("settings", lambda row: row.cell.settings_in_words, shared=str),
        Column[CellResult]("control", lambda row: VARIATIONS[row.cell.variation].about.removeprefix("control: ")),
        Column[CellResult]("states", lambda row: str(len(row.verdicts)), right=True),
        Column[CellResult]("lost", lambda row: str(len(row.lost)), right=True),
        Column[CellResult]("broken", lambda row: str(row.broken), right=True),
        Column[CellResult](
            "", lambda row: "red, as it must be" if row.has_red else "NOT RED: this search would find nothing"
        ),
    ]
    return ReportTable.of("Controls", rows, columns, [])


def replica_tables(found: Sequence[CellResult]) -> list[ReportTable]:
    """What a replica had read that the server has lost; no table where none read."""
    rows = [each for each in found if VARIATIONS[each.cell.variation].replica]
    columns = [
        Column[CellResult]("server", _label, shared=str),
        Column[CellResult]("settings", lambda row: row.cell.settings_in_words),
        Column[CellResult]("states", lambda row: str(len(row.verdicts)), right=True),
        Column[CellResult]("a replica had more", lambda row: str(len(row.only_on_replica)), right=True),
        Column[CellResult]("transactions: median, most", _more, right=True),
    ]
    return [ReportTable.of("What a replica had read", rows, columns, [])] if rows else []


def _more(row: CellResult) -> str:
    counts = row.only_on_replica
    return f"{statistics.median(counts):.0f}, {max(counts)}" if counts else "–"


@dataclass(frozen=True, slots=True)
class _Kills:
    """What SIGKILL left of one server's loads with one value of innodb_flush_log_at_trx_commit."""

    label: str
    trx_commit: int
    verdicts: Sequence[CutVerdict]


def killed_tables(found: Sequence[CellResult]) -> list[ReportTable]:
    """What SIGKILL left of the same loads; no table without any."""
    of_kind: dict[tuple[str, int], list[CutVerdict]] = {}
    for each in found:
        if each.killed:
            of_kind.setdefault((_label(each), each.cell.trx_commit), []).extend(each.killed)
    rows = [_Kills(label, commit, verdicts) for (label, commit), verdicts in of_kind.items()]
    columns = [
        Column[_Kills]("server", lambda row: row.label, shared=str),
        Column[_Kills]("trx_commit", lambda row: str(row.trx_commit), right=True),
        Column[_Kills]("kills", lambda row: str(len(row.verdicts)), right=True),
        Column[_Kills]("that lost", lambda row: str(sum(each.is_lost for each in row.verdicts)), right=True),
        Column[_Kills]("seconds back, most", lambda row: _most_back(row.verdicts), right=True),
        Column[_Kills]("broken", lambda row: str(sum(each.is_broken for each in row.verdicts)), right=True),
    ]
    return [ReportTable.of("SIGKILL instead", rows, columns, [])] if rows else []


def _most_back(verdicts: Sequence[CutVerdict]) -> str:
    back = [each.ledger.seconds_back for each in verdicts if each.ledger is not None and each.is_lost]
    return f"{max(back):.2f}" if back else "–"


@dataclass(frozen=True, slots=True)
class _Explained:
    """A state of which it was looked for what had to be lost."""

    result: CellResult
    verdict: CutVerdict
    why: Explanation


def explained_tables(found: Sequence[CellResult]) -> list[ReportTable]:
    """What had to be lost, of the first state of each kind; no table without any."""
    rows = [_Explained(each, verdict, why) for each in found for verdict, why in each.explanations]
    columns = [
        Column[_Explained]("server", lambda row: _label(row.result), shared=str),
        Column[_Explained]("settings", lambda row: row.result.cell.in_words),
        Column[_Explained](
            "what", lambda row: ", ".join(fault.name.lower() for fault in unexpected(row.result.cell, row.verdict))
        ),
        Column[_Explained]("lost writes", lambda row: f"{row.why.taken:,}", right=True),
        Column[_Explained]("that do it", lambda row: needed(row.why)),
    ]
    return [ReportTable.of("What had to be lost", rows, columns, [])] if rows else []


def needed(why: Explanation) -> str:
    """The fewest lost writes that do it, in words."""
    if not why.losses:
        return "nothing: the server never asked the disk to write it"
    shown = "; ".join(why.words[:_WORDS])
    rest = len(why.words) - _WORDS
    many = "1 write" if why.writes == 1 else f"{why.writes} writes"
    return f"{many}: {shown}" + (f"; and {rest} more ranges of sectors" if rest > 0 else "")


def _label(result: CellResult) -> str:
    return server_label(result.cell.server, result.version.split("-")[0])


def _lost(row: CellResult) -> str:
    return "–" if not row.lost else f"{statistics.median(row.lost):.0f}, {_high(row.lost):.0f}, {max(row.lost)}"


def _back(row: CellResult) -> str:
    back = row.seconds_back
    return "–" if not back else f"{statistics.median(back):.2f}, {_high(back):.2f}, {max(back):.2f}"


def _high(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def rows_of(trial: DurabilityTrial) -> list[dict[str, object]]:
    """Return a row for each state, for programs."""
    return [
        {
            "server": trial.cell.server,
            "version": trial.version,
            "trx_commit": trial.cell.trx_commit,
            "sync_binlog": trial.cell.sync_binlog,
            "variation": trial.cell.variation,
            "recording": trial.recording,
            "cuts": str(trial.cuts),
            "moment": str(each.moment),
            "cut_s": each.seconds,
            "survivors": str(each.cut.survivors),
            "place": each.cut.place,
            "seed": each.cut.seed,
            "state_hash": each.hash,
            "outcome": str(each.outcome),
            **{name: each.ledger and getattr(each.ledger, name) for name in LedgerVerdict.__struct_fields__},
            "failed_checks": len(each.failed),
        }
        for each in trial.verdicts
    ]
