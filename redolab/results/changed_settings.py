"""Effect of each level of a setting on a load and on the recovery after it, measured by the experiment `settings`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redolab.models.intervals import stand_together
from redolab.results.crashes import crashes_of
from redolab.results.measured import beside_baseline
from redolab.runs.pages import measured_runs
from redolab.units import MIB, format_size

if TYPE_CHECKING:
    import polars

OF_LOAD = ("ready_s", "latency_95_ms", "failed_per_s", "log_waits", "load_cpu_share", "load_fillings")
_BASELINE = "baseline=baseline"
_BY = ("label", "workload")


def changed_settings(folder: str, trials: polars.DataFrame) -> polars.DataFrame:
    """Return a row for each level of each setting, from the trials of a folder of data/measured, servers by age.

    `change` is the throughput's with its 95 % interval, and `change_recovery` the recovery time's; each `stands` if it
    is significant among all others (Holm's procedure). `before` and `used` are the values that the server reported for
    the baseline and for the level. Medians of the load follow, those with the baseline as `NAME_base`.
    """
    import polars as pl

    known = trials.with_columns(
        which=pl.format("{}={}", "setting", "level"),
        rate=pl.coalesce("notpm", "commits_per_s"),
        block=pl.format("{} {}", "run", "crash_number"),
    )
    effects = beside_baseline(known, "rate", "which", _BASELINE, _BY).join(
        beside_baseline(known, "ready_s", "which", _BASELINE, _BY),
        maintain_order="left",
        on=[*_BY, "which"],
        suffix="_recovery",
    )
    stand = stand_together(effects.select(pl.concat_list("chance", "chance_recovery").explode()).to_series().to_list())
    medians = known.group_by(*_BY, "which", "setting", "level", maintain_order=True).agg(
        pl.col("age", "image").first(), pl.col(*OF_LOAD).median(), pl.len().alias("n")
    )
    bases = medians.filter(which=_BASELINE).select(*_BY, pl.col("image", *OF_LOAD).name.suffix("_base"))
    used = _Used(folder)
    return (
        effects.with_columns(stands=pl.Series(stand[::2]), stands_recovery=pl.Series(stand[1::2]))
        .join(medians, maintain_order="left", on=[*_BY, "which"])
        .join(bases, on=_BY)
        .with_columns(
            before=pl.struct("setting", "image_base").map_elements(lambda row: used(*row.values()), pl.String),
            used=pl.struct("setting", "image").map_elements(lambda row: used(*row.values()), pl.String),
            setting=pl.col("setting").str.split(",").list.first(),
        )
        .sort("age", pl.when("stands").then(-pl.col("change").abs()).otherwise(1), maintain_order=True)
    )


class _Used:
    """Values of settings that servers reported."""

    def __init__(self, folder: str) -> None:
        self._variables = {image.name: image.variables for run in measured_runs(folder) for image in crashes_of(run)}

    def __call__(self, setting: str, image: str) -> str:
        """Return the value of a setting in the load before a crash; for the log's size, the sum of its files."""
        name, _, of_all = setting.partition(",")
        variables = self._variables[image]
        value = variables.get(name, "")
        if not value.isdecimal():
            return value.rstrip("0").rstrip(".") if "." in value else value
        size = int(value) * (int(variables.get("innodb_log_files_in_group", "1")) if of_all else 1)
        return format_size(size) if size >= MIB else value
