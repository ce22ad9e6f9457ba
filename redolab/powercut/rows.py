"""Power cuts of runs as a frame: one row for each state of a disk that was recovered and checked."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from redolab.powercut.explaining import Explanation
from redolab.powercut.ledger import Fault, LedgerVerdict, faults_of
from redolab.report.labels import server_label
from redolab.runs.store import Run
from redolab.workloads.data import TableCheck

if TYPE_CHECKING:
    import polars

_WORDS = 3


class _Cuts(StrEnum):
    SAMPLED = "at random"
    SEARCHED = "searched"
    KILLED = "killed"
    MACHINE = "of the machine"


class _Cell(msgspec.Struct):
    server: str
    trx_commit: int
    sync_binlog: int | None
    variation: str


class _State(msgspec.Struct):
    hash: str
    ledger: LedgerVerdict | None = None
    failed: tuple[TableCheck, ...] = ()
    explanation: Explanation | None = None


class _Trial(msgspec.Struct):
    cell: _Cell
    version: str
    recording: int
    cuts: _Cuts
    verdicts: tuple[_State, ...]


def power_cuts(runs: Sequence[Run]) -> polars.DataFrame:
    """Return a row for each crash state, in the order of measuring.

    Columns: the configuration (`label`, `trx_commit`, `binlog` in words, `variation`), the `recording` and the `hash`
    of the state's content. `cuts`: choice of the cut. Counts of transactions as in `LedgerVerdict`, null if the
    server did not come up, and the faults: `is_lost`, `is_apart`, `is_broken`. `writes_lost` and `explained`: the
    losses that cause the fault, if they were searched for.
    """
    import polars as pl

    rows = [
        {
            "run": run.name,
            "server": trial.cell.server,
            "label": server_label(trial.cell.server, trial.version),
            "trx_commit": trial.cell.trx_commit,
            "binlog": "off" if trial.cell.sync_binlog is None else f"sync_binlog={trial.cell.sync_binlog}",
            "variation": trial.cell.variation,
            "recording": f"{run.name} {trial.recording}",
            "cuts": str(trial.cuts),
            **_state(state),
        }
        for run in runs
        for trial in (record.trial for record in run.trials(_Trial))
        for state in trial.verdicts
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _state(state: _State) -> dict[str, object]:
    ledger, why, faults = state.ledger, state.explanation, faults_of(state.ledger, state.failed)
    counts = ("lost", "seen_then_lost", "only_in_tables", "only_in_binary_log", "only_on_replica", "defining")
    return {
        "hash": state.hash,
        **{name: None if ledger is None else int(getattr(ledger, name)) for name in counts},
        "seconds_back": ledger.seconds_back if ledger is not None and ledger.lost else None,
        "misdefined": "" if ledger is None else ledger.misdefined,
        "is_lost": Fault.LOST in faults,
        "is_apart": Fault.APART in faults,
        "is_broken": Fault.BROKEN in faults,
        "writes_lost": None if why is None else why.taken,
        "explained": None if why is None else _in_words(why),
    }


def _in_words(why: Explanation) -> str:
    """Return the fewest lost writes that show the fault."""
    if not why.losses:
        return "nothing: the server never asked the disk to write it"
    rest = len(why.words) - _WORDS
    many = "1 write" if why.writes == 1 else f"{why.writes} writes"
    return f"{many}: {'; '.join(why.words[:_WORDS])}" + (f"; and {rest} more ranges of sectors" if rest > 0 else "")


def by_cell(cuts: polars.DataFrame) -> polars.DataFrame:
    """Return a row for each server and its settings: how many states lost, how much, and what else was wrong."""
    import polars as pl

    lost = pl.col("lost").filter("is_lost")
    has_binlog = (pl.col("binlog") != "off").first()
    return cuts.group_by("label", "trx_commit", "binlog", "variation", maintain_order=True).agg(
        pl.col("recording").n_unique().alias("recordings"),
        pl.len().alias("states"),
        pl.struct("recording", "hash").n_unique().alias("distinct"),
        pl.col("is_lost").sum().alias("that lost"),
        lost.median().round().cast(pl.Int64).alias("commits lost, median"),
        lost.max().alias("most"),
        pl.col("seconds_back").median().alias("seconds back, median"),
        pl.col("seconds_back").max().alias("longest"),
        (pl.col("seen_then_lost") > 0).sum().alias("seen, then lost"),
        pl.when(has_binlog).then(pl.col("is_apart").sum()).alias("binary log apart"),
        pl.col("is_broken").sum().alias("broken"),
        pl.col("defining").sum().alias("while a table was defined"),
    )
