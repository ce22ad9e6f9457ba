"""Power cuts of runs as a frame: one row for each state of a disk that was recovered and checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from redolab.powercut.cut_verdict import CutVerdict
from redolab.powercut.explaining import Explanation
from redolab.powercut.ledger import Fault, LedgerVerdict
from redolab.report.labels import server_label
from redolab.runs.loading import load_experiment
from redolab.runs.store import Run

if TYPE_CHECKING:
    import polars

CELL = ("label", "trx_commit", "binlog", "variation")
"""Columns of a server and its settings."""
_COUNTS = tuple(name for name in LedgerVerdict.__struct_fields__ if name not in {"seconds_back", "misdefined"})
"""Fields of a verdict that are counts, or true or false."""
_WORDS = 3
"""Most ranges of lost sectors to list."""


def power_cuts(runs: Sequence[Run]) -> polars.DataFrame:
    """Return a row for each crash state, in the order of measuring.

    Columns: the configuration (`label`, `trx_commit`, `sync_binlog`, also as `binlog` in words, and `variation`), the
    `recording` and the `hash` of the state's content. `cuts`: choice of the cut. `moment`: its time in the load, and
    `cut_s`: seconds from the clients' beginning to it. `place`, `survivors` and `seed`: what makes the cut again.
    `outcome`: of the recovery. Counts as in `LedgerVerdict`, null if they could not be read, and the faults: `is_lost`,
    `is_apart`, `is_broken`. `writes_lost` and `explained`: the losses that cause the fault, if they were searched for.
    """
    import polars as pl

    durability: Any = load_experiment("durability")
    rows: list[dict[str, object]] = []
    for run in runs:
        for result in durability.results(run):
            group, trial = result.group, result.trial
            of_trial: dict[str, object] = {
                "run": run.name,
                "server": group.server,
                "version": trial.version,
                "label": server_label(group.server, trial.version),
                "trx_commit": group.trx_commit,
                "sync_binlog": group.sync_binlog,
                "binlog": "off" if group.sync_binlog is None else f"sync_binlog={group.sync_binlog}",
                "variation": group.variation,
                "recording": f"{run.name} {group.recording}",
                "cuts": str(result.step.cuts),
            }
            rows += [{**of_trial, **_state(state)} for state in trial.verdicts]
    # A column without any value would otherwise have no type.
    types: dict[str, type[pl.DataType]] = {"seconds_back": pl.Float64, "explained": pl.String}
    types |= dict.fromkeys([*_COUNTS, "sync_binlog", "writes_lost"], pl.Int64)
    return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)


def _state(state: CutVerdict) -> dict[str, object]:
    ledger, why, faults = state.ledger, state.explanation, state.faults
    return {
        "moment": str(state.moment),
        "cut_s": state.seconds,
        "survivors": str(state.cut.survivors),
        "place": state.cut.place,
        "seed": state.cut.seed,
        "hash": state.hash,
        "outcome": str(state.outcome),
        **{name: None if ledger is None else int(getattr(ledger, name)) for name in _COUNTS},
        "seconds_back": ledger.seconds_back if ledger is not None and ledger.lost else None,
        "misdefined": "" if ledger is None else ledger.misdefined,
        "failed_checks": len(state.failed),
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
    """Return a row for each configuration: the number of states that lost commits, the losses, and other faults."""
    import polars as pl

    lost = pl.col("lost").filter("is_lost")
    has_binlog = (pl.col("binlog") != "off").first()
    return cuts.group_by(*CELL, maintain_order=True).agg(
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


def sigkills(every: polars.DataFrame) -> polars.DataFrame:
    """Return a row for each server and value of trx_commit: losses after SIGKILL of the same loads."""
    import polars as pl

    return (
        every.filter(cuts="killed")
        .group_by("label", "trx_commit", maintain_order=True)
        .agg(
            pl.len().alias("kills"),
            pl.col("is_lost").sum().alias("that lost"),
            pl.col("seconds_back").max().alias("seconds back, most"),
            pl.col("is_broken").sum().alias("broken"),
        )
    )


def read_by_replicas(cuts: polars.DataFrame) -> polars.DataFrame:
    """Return a row for each configuration: transactions that a replica had read and the recovered server lacks."""
    import polars as pl

    more = pl.col("only_on_replica").filter(pl.col("only_on_replica") > 0)
    return (
        cuts.filter(variation="replica")
        .group_by(*CELL[:3], maintain_order=True)
        .agg(
            pl.len().alias("states"),
            more.len().alias("a replica had more"),
            more.median().round().cast(pl.Int64).alias("transactions, median"),
            more.max().alias("most"),
        )
    )


def lost_writes(states: polars.DataFrame) -> polars.DataFrame:
    """Return a row for each explained state: its faults, and the fewest lost writes that cause one."""
    import polars as pl

    faults = [pl.when(f"is_{fault}").then(pl.lit(fault)) for fault in ("broken", "lost", "apart")]
    return states.drop_nulls("explained").select(
        *CELL,
        pl.concat_str(faults, separator=", ", ignore_nulls=True).alias("what"),
        pl.col("writes_lost").alias("lost writes"),
        pl.col("explained").alias("that do it"),
    )
