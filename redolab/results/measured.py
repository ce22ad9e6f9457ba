"""Runs as frames: committed ones for the notebooks of the pages of results, and what a table says of recoveries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import redolab
from redolab.crash.records.recovery import DISTURBED, DISTURBED_SHARE
from redolab.project import PROJECT
from redolab.report.intervals import p_values, relative_changes
from redolab.report.labels import server_label
from redolab.results.bound import BOUND_COLUMNS, bound_of
from redolab.results.committed import HOSTS
from redolab.servers.dialects import Version

if TYPE_CHECKING:
    import polars

DISKS = {
    "local": "local disk",
    "gp3-3000": "gp3, 3,000 IOPS",
    "gp3-6000": "gp3, 6,000 IOPS",
    "gp3-16000": "gp3, 16,000 IOPS",
    "hdd": "hard disk",
    "hdd-raid10": "RAID 10 of hard disks",
}
"""Storage profile → words for it."""


def measured(*folders: str, experiment: str = "recovery") -> polars.DataFrame:
    """Return the trials of an experiment in folders of data/measured, MySQL before MariaDB, old versions first.

    A row has the columns of docs/run-data.md and its `folder` and `host`. `label` names the server, as in `MySQL 9.7.4`,
    and `age` is its place in that order. With a redo log, a buffer pool and a storage, `log` and `pool` have their bytes
    and `disk` the words.
    """
    import polars as pl

    frames = [
        redolab.load_runs(experiment, PROJECT.measured / folder).with_columns(
            folder=pl.lit(folder), host=pl.lit(HOSTS.get(folder))
        )
        for folder in folders
    ]
    return described(pl.concat(frames, how="diagonal_relaxed"))


def described(trials: polars.DataFrame) -> polars.DataFrame:
    """Return trials as `measured` has them: by the `age` of their servers, with `label`, `log`, `pool` and `disk`."""
    import polars as pl

    short = {
        "log": pl.col("log_size_bytes"),
        "pool": pl.col("buffer_pool_bytes"),
        "disk": pl.col("storage").replace(DISKS),
    }
    return by_age(
        trials.with_columns(
            **{name: column for name, column in short.items() if column.meta.root_names()[0] in trials.columns}
        )
    )


def by_age(trials: polars.DataFrame) -> polars.DataFrame:
    """Return trials sorted by the `age` of their servers, MySQL before MariaDB, old versions first, with their `label`."""
    import polars as pl

    servers = trials.select("server", "version").unique().rows()
    ages = {server: place for place, server in enumerate(sorted(servers, key=_family_and_age))}
    server = pl.struct("server", "version")
    return trials.with_columns(
        label=server.map_elements(lambda each: server_label(*each.values()), pl.String),
        age=server.map_elements(lambda each: ages[tuple(each.values())], pl.Int64),
    ).sort("age", maintain_order=True)


def beside_baseline(
    trials: polars.DataFrame, value: str, treatment: str, baseline: str, by: Sequence[str] = ("label",)
) -> polars.DataFrame:
    """Return each treatment's relative difference from the baseline in the same blocks, for each combination of `by`.

    `change` has the 95 % interval `low` to `high`, and `chance` the p-value. The baseline itself is left out, as are
    trials without a block: nothing says that they were measured close to others.
    """
    import polars as pl

    rows = []
    for key, of_key in trials.drop_nulls("block").group_by(*by, maintain_order=True):
        values = list(of_key.select("block", treatment, value).iter_rows())
        changes, probabilities = relative_changes(values, baseline), p_values(values, baseline)
        rows += [
            {
                **dict(zip(by, key, strict=True)),
                treatment: name,
                "change": ratio.change,
                "low": ratio.low,
                "high": ratio.high,
                "chance": probabilities[name],
            }
            for name, ratio in changes.items()
        ]
    schema: dict[str, Any] = {name: trials.schema[name] for name in (*by, treatment)}
    return pl.DataFrame(rows, schema | dict.fromkeys(("change", "low", "high", "chance"), pl.Float64))


def _family_and_age(server: tuple[str, str]) -> tuple[bool, Version]:
    name, version = server
    return name.startswith("mariadb"), Version.parse(version)


def outcomes(recoveries: polars.DataFrame, *by: str) -> polars.DataFrame:
    """Return the outcomes of each server's recoveries, for each combination of `by`.

    `n` is their number, `stuck` the stuck ones, `share` both (`2 of 4`), `crashes` the number of crashes and `redo` the
    largest. `ready` has the seconds of those that were ready, `batches` the most apply batches among them.
    """
    import polars as pl

    ready = pl.col("outcome") == "ready"
    counted = recoveries.group_by("label", *by, maintain_order=True).agg(
        n=pl.len(),
        stuck=(pl.col("outcome") == "stuck").sum(),
        crashes=pl.col("image").n_unique(),
        redo=pl.col("checkpoint_age_bytes").max(),
        ready=pl.col("ready_s").filter(ready),
        batches=pl.col("batches").filter(ready).max(),
    )
    return counted.with_columns(share=pl.format("{} of {}", "stuck", "n"))


_PHASES = ("start_s", "discover_s", "scan_s", "apply_s", "open_s", "accept_s")


def typical(recoveries: polars.DataFrame, *by: str, **more: polars.Expr) -> polars.DataFrame:
    """Return a row for each server and combination of `by`: all `ready` seconds, and details of the median recovery.

    Details are its phases in seconds (`scan_s`, `apply_s`, and `other_s`), apply `batches`, `redo` in bytes,
    `dirty_pages`, and the resource it was `bound` by. `n` of `of` are ready; `late` is the largest share of simulator
    overruns. `more` are further columns, over all recoveries of a row.
    """
    import polars as pl

    other = pl.sum_horizontal(pl.col(name).fill_null(0.0) for name in _PHASES if name not in {"scan_s", "apply_s"})
    known = recoveries.with_columns(
        other_s=other,
        redo=pl.coalesce("redo_bytes", "checkpoint_age_bytes"),
        bound=pl.struct(BOUND_COLUMNS).map_elements(bound_of, pl.String),
    )
    nearest = (
        pl.exclude("label", *by)
        .sort_by((pl.col("ready_s") - pl.col("ready_s").median()).abs(), nulls_last=True)
        .first()
    )
    return known.group_by("label", *by, maintain_order=True).agg(
        nearest,
        ready=pl.col("ready_s").drop_nulls(),
        n=pl.col("ready_s").count(),
        of=pl.len(),
        late=pl.col("late_share").max(),
        began=pl.col("started").min(),
        **more,
    )


def undisturbed(recoveries: polars.DataFrame) -> polars.DataFrame:
    """Return the recoveries during which neither other programs nor the host took much of the CPUs."""
    return recoveries.filter(~disturbed())


def disturbed() -> polars.Expr:
    """Return the expression that is true of a recovery while others, or the host, took much of the CPUs."""
    import polars as pl

    taken = pl.col("others_cpu_s").fill_null(0.0) + pl.col("steal_s").fill_null(0.0)
    allowed = pl.max_horizontal(pl.lit(DISTURBED), DISTURBED_SHARE * pl.col("cores") * pl.col("ready_s"))
    return (taken > allowed).fill_null(False)
