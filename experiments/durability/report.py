"""Report on power cuts: answer, tables of the settings, and how long ago lost commits were acknowledged."""

from __future__ import annotations

from functools import partial

import polars as pl
from matplotlib.figure import Figure

from redolab.powercut.state_rows import CELL, by_cell, lost_writes, power_cuts, read_by_replicas, sigkills
from redolab.report.contents import Plot, Report
from redolab.report.numbers import number
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt
from redolab.report.table import PAGE
from redolab.results.page import report_table
from redolab.runs.store import Run

from .experiment import Durability
from .promises import promised
from .variations import PLAIN, variation_of

_OF_NONE = 3
"""Rule of three: if none of n states lost anything, 3/n is a 95 % upper bound of the share that does."""
_A_SECOND = 1.0
_SPARE = (
    *("recordings", "distinct", "commits lost, median", "seconds back, median"),
    *("seen, then lost", "while a table was defined"),
)
"""Columns that a terminal has no room for."""
_TERMS = (
    "That lost: states without commits that were acknowledged before the cut. Broken: the server does not come up, or "
    "holds transactions in part, out of order, or that nobody had sent. Only half of the cuts are at random times, the "
    "others are where a fault is likely: do not read counts as shares."
)


def report(run: Run) -> Report:
    """Return the answer, the tables and the plot of a run. Raises `LabError`."""
    results = Durability.results(run)
    if not results:
        return Report(answer="Nothing was measured.", tables=[])
    every = judged_cuts(run)
    states = every.filter(pl.col("cuts") != "killed")
    cuts, controls = states.filter(is_control=False), states.filter("is_control")
    seconds = sum(each.trial.recovered_s for each in results)
    table, found = lost(cuts), by_cell(controls).select(*CELL, "states", "that lost", "broken")
    notes = [_TERMS, *_bounds(cuts), _pace(states, seconds)]
    if found.height:
        red = (found["that lost"] + found["broken"] > 0).sum()
        notes.append(f"{red} of {found.height} controls lost, as each must: else this search would find nothing.")
    details = {
        "What a replica had read": read_by_replicas(cuts),
        "Controls": found,
        "SIGKILL instead": sigkills(every),
        "What had to be lost": lost_writes(states),
    }
    return Report(
        answer=answer(cuts),
        tables=[report_table("What power cuts lose", table, notes, spare=_SPARE)],
        details=[
            report_table("All that power cuts lose", table, widest=PAGE),
            *(report_table(title, frame) for title, frame in details.items() if not frame.is_empty()),
        ],
        plots=[Plot("lost", partial(plot_lost, cuts=cuts))] if cuts["is_lost"].any() else [],
        rows={"table": every.to_dicts()},
    )


def judged_cuts(run: Run) -> pl.DataFrame:
    """Return `power_cuts` of a run with `is_promised` (no fault may be left) and `is_control` (a fault must be)."""
    return power_cuts([run]).with_columns(
        is_promised=pl.struct("trx_commit", "sync_binlog", "variation").map_elements(
            lambda settings: bool(promised(**settings)), pl.Boolean
        ),
        is_control=pl.col("variation").map_elements(lambda name: variation_of(name).must_lose, pl.Boolean),
    )


def answer(cuts: pl.DataFrame) -> str:
    """Return a sentence: losses under settings that promise every commit, and under the others."""
    safe, others = cuts.filter("is_promised"), cuts.filter(~pl.col("is_promised"))
    back = others["seconds_back"].drop_nulls().to_list()
    lost = f"up to {number(max(back), 2)} s of commits" if back else "none"
    if not safe.height:
        return (
            f"Power cuts lost {lost}; no setting here promises every commit." if others.height else "Only controls ran."
        )
    said = (
        f"{safe['is_lost'].sum()} of {safe.height:,} power cuts under settings that promise every commit lost one, and "
        f"{safe['is_broken'].sum()} left a server or table unusable"
    )
    return f"{said}; others lost {lost}." if others.height else f"{said}."


def lost(cuts: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each configuration, with its promise."""
    yes_or_no = pl.when("is_promised").then(pl.lit("yes")).otherwise(pl.lit("no"))
    return by_cell(cuts).join(cuts.select(*CELL, promised=yes_or_no).unique(), on=CELL, maintain_order="left")


def _bounds(cuts: pl.DataFrame) -> list[str]:
    """Return an upper bound of the share of states that lose, for settings without a loss."""
    clean = (
        cuts.filter("is_promised")
        .group_by(*CELL)
        .agg(pl.col("is_lost").any(), sampled=(pl.col("cuts") == "at random").sum())
        .filter(~pl.col("is_lost"), pl.col("sampled") > 0)
    )
    fewest = min(clean["sampled"], default=0)
    if fewest <= _OF_NONE:
        return []
    return [
        f"Where none of {fewest} states at random times lost anything, fewer than {_OF_NONE / fewest:.1%} of such states "
        "of these recordings do, 95 % sure (3/n)."
    ]


def _pace(states: pl.DataFrame, seconds: float) -> str:
    distinct = states.select(*CELL, "recording", "hash").n_unique()
    return f"{distinct:,} distinct states were recovered, {number(3600 * distinct / max(1e-9, seconds), 0)} an hour."


def plot_lost(cuts: pl.DataFrame) -> Figure:
    """Draw the age of the oldest lost commit of each state, a row for each configuration."""
    back = pl.col("seconds_back").drop_nulls()
    # A variation has a row only if it lost commits. A replica that reads along changes nothing about losses.
    shown = (
        cuts.filter(pl.col("variation") != "replica")
        .group_by(*CELL, maintain_order=True)
        .agg(back=back)
        .filter((pl.col("variation") == PLAIN) | (pl.col("back").list.len() > 0))
    )
    figure, axes = plt.subplots(figsize=(WIDTH, 0.34 * shown.height + 1.6), layout="constrained")
    names = []
    for place, row in enumerate(shown.reverse().iter_rows(named=True)):
        log = "binary log off" if row["binlog"] == "off" else row["binlog"]
        varied = "" if row["variation"] == PLAIN else f", {row['variation']}"
        names.append(f"{row['label']}, trx_commit={row['trx_commit']}, {log}{varied}")
        axes.plot(row["back"], [place] * len(row["back"]), "|", color=MEASURED, markersize=11, alpha=0.6)
        if not row["back"]:
            axes.text(0.01, place, "none lost", va="center", fontsize="small", color=MODEL)
    axes.set_yticks(range(shown.height), names, fontsize="small")
    axes.set_ylim(-0.7, shown.height - 0.3)
    axes.axvline(_A_SECOND, color=LIMIT, linestyle="--", linewidth=1)
    axes.set_xlim(left=0)
    axes.set_xlabel("seconds taken back, a mark each state that lost some; dashed: a second")
    head(figure, answer(cuts).removesuffix("."), "")
    return figure
