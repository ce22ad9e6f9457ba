"""Effect of each level of a setting on a load and on the recovery after it, measured by the experiment `settings`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from redolab.report.intervals import holm
from redolab.report.plots import LIMIT, MEASURED, MODEL, plt
from redolab.results.crashes import crashes_of
from redolab.results.measured import beside_baseline
from redolab.results.page import plot_changes
from redolab.runs.store import Run
from redolab.units import MIB, format_size

if TYPE_CHECKING:
    import polars

LOADS = {"tpcc": "TPC-C", "large-rows": "large rows", "storm": "connections"}
"""Workload → words for it; the load most like production comes first."""
BASELINE = "baseline"
OF_LOAD = ("ready_s", "latency_95_ms", "failed_per_s", "log_waits", "load_cpu_share", "load_fillings")
_MADE = ("storage", "log_size_bytes", "fill_pool_bytes", "dataset_bytes", "threads")
"""Columns in which the baselines of runs that are compared together are equal."""
_WHERE = ("machine", "cpu", "label", "workload")
_BY = (*_WHERE, *(f"{name}_base" for name in _MADE))
_EFFECT = ("change", "low", "high", "chance")
_COLOURS = (LIMIT, MEASURED, MODEL, "black")


def variables_of(runs: Sequence[Run]) -> Mapping[str, Mapping[str, str]]:
    """Return crash image → the variables of the server before the crash. Raises `LabError`."""
    return {image.name: image.variables for run in runs for image in crashes_of(run)}


def changed_settings(trials: polars.DataFrame, variables: Mapping[str, Mapping[str, str]]) -> polars.DataFrame:
    """Return a row for each level of each setting, servers by age, significant changes of throughput first.

    `change` is the throughput's with its 95 % interval, and `change_recovery` the recovery time's; each `stands` if it
    is significant among all others (Holm's procedure). `before` and `used` are the values that the server reported for
    the baseline and for the level, from the `variables` of crash images: a level that it did not take has no change.
    Medians of the load follow, and those of the baseline in the same `blocks` as `NAME_base`. Of `n` loads those in
    which nothing succeeded are `barren`: no change counts them.
    """
    import polars as pl

    known = (
        trials.with_row_index("row")
        .with_columns(
            pl.col(*OF_LOAD).cast(pl.Float64),
            which=pl.format("{}={}", "setting", "level"),
            rate=pl.coalesce("notpm", "commits_per_s").cast(pl.Float64),
            block=pl.format("{} {}", "run", "crash_number"),
            load=pl.col("workload").replace(LOADS),
        )
        .with_columns(
            pl.col(*_MADE).filter(pl.col("setting") == BASELINE).first().over("run", *_WHERE).name.suffix("_base")
        )
        .with_columns(place=pl.col("row").min().over(*_BY))
    )
    levels, which = known.filter(pl.col("setting") != BASELINE), [*_BY, "which"]
    medians = levels.group_by(*which, "load", "setting", "level", maintain_order=True).agg(
        pl.col("age", "place", "image").first(),
        pl.col("rate", *OF_LOAD).median(),
        n=pl.len(),
        barren=(pl.col("rate") == 0).sum(),
    )
    figures = pl.col("image", "rate", *OF_LOAD)
    baseline = known.filter(setting=BASELINE).select(*_BY, "block", figures.name.suffix("_base"))
    bases = (
        levels.select(*which, "block")
        .unique(maintain_order=True)
        .join(baseline, on=[*_BY, "block"], maintain_order="left")
        .group_by(which, maintain_order=True)
        .agg(
            pl.col("image_base").first(),
            pl.col(*(f"{name}_base" for name in ("rate", *OF_LOAD))).median(),
            blocks=pl.col("block").n_unique(),
        )
    )
    throughput, recovery = (
        beside_baseline(known.filter(pl.col(name) > 0), name, "which", f"{BASELINE}={BASELINE}", _BY)
        for name in ("rate", "ready_s")
    )
    reported = _reported_in(variables)
    was_taken = (pl.col("used") != pl.col("before")) | (pl.col("used") == "")
    effects = (
        medians.join(bases, on=which, how="left", maintain_order="left")
        .join(throughput, on=which, how="left", maintain_order="left")
        .join(recovery, on=which, how="left", maintain_order="left", suffix="_recovery")
        .with_columns(
            before=pl.struct("setting", "image_base").map_elements(reported, pl.String),
            used=pl.struct("setting", "image").map_elements(reported, pl.String),
        )
        .with_columns(pl.when(was_taken).then(pl.col(*_EFFECT, *(f"{name}_recovery" for name in _EFFECT))))
    )
    chances = effects.select(pl.concat_list(pl.col("chance", "chance_recovery").fill_null(float("nan"))).explode())
    stand = holm(chances.to_series().to_list())
    return effects.with_columns(
        stands=pl.Series(stand[::2], dtype=pl.Boolean),
        stands_recovery=pl.Series(stand[1::2], dtype=pl.Boolean),
        setting=pl.col("setting").str.split(",").list.first(),
    ).sort("age", pl.when("stands").then(-pl.col("change").abs()).otherwise(1), "place", maintain_order=True)


def _reported_in(variables: Mapping[str, Mapping[str, str]]) -> Callable[[Mapping[str, str]], str]:
    """Return a function for the value of a setting in the load before a crash; a log's size counts all its files."""

    def reported(row: Mapping[str, str]) -> str:
        setting, image = row.values()
        name, _, of_all = setting.partition(",")
        of_server = variables.get(image, {})
        value = of_server.get(name, "")
        if not value.isdecimal():
            return value.rstrip("0").rstrip(".") if "." in value else value
        size = int(value) * (int(of_server.get("innodb_log_files_in_group", "1")) if of_all else 1)
        return format_size(size) if size >= MIB else value

    return reported


def effects_figure(effects: polars.DataFrame) -> Figure:
    """Draw the changes of throughput and recovery time by levels with a significant one on some server, or by all."""
    import polars as pl

    shown = effects.filter(pl.any_horizontal("stands", "stands_recovery").any().over("which", "workload"))
    shown = effects if shown.is_empty() else shown
    of_load = pl.when(pl.col("workload") == "tpcc").then(pl.lit("")).otherwise(pl.format(" ({})", "load"))
    names = pl.format("{}={}{}", "setting", "level", of_load)
    # One row for the size of the redo log, whatever a server calls it.
    names = names.str.replace("innodb_redo_log_capacity|innodb_log_file_size", "redo log")
    shown = shown.with_columns(name=names.str.replace("innodb_", "").str.replace(", half of the clients", ""))
    order = shown["name"].unique(maintain_order=True).to_list()
    labels = shown["label"].unique(maintain_order=True).to_list()
    figure, panels = plt.subplots(ncols=2, sharey=True, figsize=(11, 0.4 * len(order) + 1.4), layout="constrained")
    for place, label in enumerate(labels):
        rows, colour = shown.filter(label=label), _COLOURS[place % len(_COLOURS)]
        places = [order.index(name) + 0.3 * (place - (len(labels) - 1) / 2) for name in rows["name"]]
        plot_changes(panels[0], rows, places, colour, label)
        of_recovery = rows.select("change_recovery", "low_recovery", "high_recovery")
        plot_changes(panels[1], of_recovery.rename(lambda name: name.removesuffix("_recovery")), places, colour)
    for axes, title in zip(panels, ("throughput, %", "recovery time after a crash under load, %"), strict=True):
        axes.axvline(0, color=MODEL, linewidth=1)
        axes.set_xlabel(title)
    panels[0].set_yticks(range(len(order)), order)
    panels[0].invert_yaxis()
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    return figure
