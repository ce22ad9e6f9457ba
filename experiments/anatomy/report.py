"""Report of an anatomy run: the answer, a row for each level with the recovery time that it adds, and one picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import polars as pl
from matplotlib.figure import Figure

from redolab.crash.records.recovery import DISTURBED_SHARE
from redolab.report.contents import Plot, Report
from redolab.report.intervals import RelativeChange
from redolab.report.numbers import NONE, number, signed
from redolab.report.plots import COLOURS, MODEL, WIDTH, head, plt
from redolab.report.table import Column, ReportTable
from redolab.results.anatomy import BASELINE, effects
from redolab.results.marks import Off, StorageUse, disks_of, marks_of, storage_remarks
from redolab.results.measured import described, disturbed
from redolab.results.page import plot_changes
from redolab.runs.frames import run_rows
from redolab.runs.machines import machines_of
from redolab.runs.store import Run
from redolab.units import noun

from .experiment import Anatomy

Row: TypeAlias = Mapping[str, Any]
"""A level against the baseline of its server (`redolab.results.anatomy.effects`)."""


def report(run: Run) -> Report:
    """Return the answer, the table and the picture of a run."""
    cases = cases_of(run)
    rows = levels(cases)
    finding = answer(rows)
    disks, disk_rows = disks_of(run)
    return Report(
        answer=finding,
        tables=[levels_table(rows, warnings(cases, marks_of([run])))],
        details=disks,
        rows={"table": rows, **disk_rows},
        plots=[Plot("effects", partial(plot_levels, rows=rows, title=finding))] if rows else [],
    )


def cases_of(run: Run) -> pl.DataFrame:
    """Return the recoveries of a run as `effects` takes them, their machines named as in tables. Raises `LabError`."""
    recoveries = pl.DataFrame(run_rows(Anatomy, run), infer_schema_length=None)
    if recoveries.is_empty():
        return recoveries
    names = dict(enumerate(machines_of([run])[run.name]))
    return described(recoveries).with_columns(machine=pl.col("session").replace_strict(names, return_dtype=pl.String))


def levels(cases: pl.DataFrame) -> list[Row]:
    """Return the baseline of each server, and after it every level: the factor that adds the most first, its levels together."""
    machines = [] if cases.is_empty() else cases.partition_by("machine", maintain_order=True)
    found = [
        {**row, "label": row["label"] if len(machines) == 1 else f"{row['label']} on {own['machine'][0]}"}
        for own in machines
        for row in effects(own).iter_rows(named=True)
    ]
    labels = list(dict.fromkeys(row["label"] for row in found))
    most: dict[str, float] = {}
    for row in found:
        most[row["factor"]] = max(most.get(row["factor"], -1.0), _or_never(row["change"]))
    return sorted(
        found,
        key=lambda row: (
            labels.index(row["label"]),
            row["factor"] != BASELINE,
            -most[row["factor"]],
            row["factor"],
            _or_never(row["added"]),
        ),
    )


def _or_never(value: float | None) -> float:
    """Return a level's value; one that was never ready adds more than any other."""
    return math.inf if value is None else value


def answer(rows: Sequence[Row]) -> str:
    """Return the significant level that changes the most seconds, and how many are significant."""
    changed = [row for row in rows if row["factor"] != BASELINE]
    if not changed:
        return "No change of a baseline was measured."
    significant = [row for row in changed if row["stands"]]
    never = sum(not row["n"] for row in changed)
    tail = f"{len(significant)} of {noun(len(changed), 'change')} significant{f', {never} never ready' * bool(never)}."
    if not significant:
        return f"Recovery time: {tail}"
    most = max(significant, key=lambda row: abs(row["added"]))
    took = f"{abs(most['added']):.1f} s {'longer' if most['added'] > 0 else 'less'} ({100 * most['change']:+.0f} %)"
    return f"{most['label']} took {took} with {most['factor']}: {most['level']}; {tail}"


def levels_table(rows: Sequence[Row], notes: Sequence[str] = ()) -> ReportTable:
    """Return a row for each level."""
    columns = [
        Column[Row]("server", lambda row: row["label"]),
        Column[Row]("factor", lambda row: row["factor"]),
        Column[Row]("level", lambda row: row["level"]),
        Column[Row]("recovery, s", lambda row: number(row["ready"]), right=True),
        Column[Row]("added, s", _added, right=True),
        Column[Row]("of the baseline (95 % interval)", _change),
        Column[Row]("phase", lambda row: row["phase"] or NONE),
        Column[Row]("rollback, s", lambda row: number(row["rollback"]), right=True, spare=True),
        Column[Row]("n", lambda row: f"{row['n']} of {row['crashes']}", right=True),
        Column[Row]("storage", lambda row: row["storage"], shared="on {}".format),
        Column[Row]("baseline", lambda row: row["baseline"], shared="baseline: {}".format, spare=True),
    ]
    meaning = (
        "recovery: geometric mean over the crashes, whose 95 % interval is Student's t on logarithms; of a single crash by what "
        "the crashes of all baselines differ by. ?: leaves out 0, but may be chance among so many levels (Holm, 5 %). phase: the "
        "one that changed most. n: recoveries, and of how many crashes."
    )
    return ReportTable.brief("Anatomy of a recovery", rows, columns, [meaning, *notes])


def warnings(cases: pl.DataFrame, off: Off) -> list[str]:
    """Return what a reader must know of the storage and of what else ran, a sentence each."""
    if cases.is_empty():
        return []
    each = cases.select("machine", "storage", "late_share", "buffered").iter_rows()
    others = cases.filter(disturbed(), pl.col("ready_s").is_not_null()).height
    count = noun(others, "recovery was", "recoveries were")
    remark = f"{count} disturbed: other programs or the host took over {100 * DISTURBED_SHARE:g} % of the CPUs."
    return [*storage_remarks([StorageUse(*use) for use in each], off), *([remark] if others else [])]


def _added(row: Row) -> str:
    unready = f"NOT READY ({row['of'] - row['n']})"
    if not row["n"]:
        return unready
    added = "" if row["factor"] == BASELINE else signed(row["added"])
    return f"{added} {unready}".strip() if row["n"] < row["of"] else added


def _change(row: Row) -> str:
    if row["change"] is None:
        return ""
    ratio = RelativeChange(row["change"], row["low"], row["high"], row["crashes"])
    return ratio.with_interval() + " ?" * (ratio.excludes_zero and not row["stands"])


def plot_levels(rows: Sequence[Row], title: str) -> Figure | None:
    """Draw how much longer each level takes than its server's baseline, with 95 % intervals; None if there is no level.

    Levels that are significant on no server are left out, unless all are.
    """
    frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(name=pl.format("{}: {}", "factor", "level"))
    base, changed = frame.filter(factor=BASELINE), frame.filter(pl.col("factor") != BASELINE)
    if changed.is_empty():
        return None
    notable = changed.filter(pl.col("stands") | (pl.col("n") == 0))
    shown = (changed if notable.is_empty() else notable)["name"].unique(maintain_order=True).to_list()
    figure, axes = plt.subplots(figsize=(WIDTH, 2.2 + 0.36 * len(shown)), layout="constrained")
    for place, (label, ready) in enumerate(base.select("label", "ready").iter_rows()):
        shift, colour = 0.7 * (place + 0.5) / base.height - 0.35, COLOURS[place % len(COLOURS)]
        own = changed.filter(pl.col("name").is_in(shown), label=label)
        drawn = own.filter(pl.col("n") > 0)
        places = [shown.index(name) + shift for name in drawn["name"]]
        if places:
            plot_changes(axes, drawn, places, colour, f"{label}, {ready:.1f} s")
        for name in own.filter(n=0)["name"]:
            axes.text(0, shown.index(name) + shift, "  never ready", va="center", fontsize="small", color=colour)
    axes.axvline(0, color=MODEL, linewidth=1)
    axes.set_yticks(range(len(shown)), shown, fontsize="small")
    axes.set_ylim(len(shown) - 0.4, -0.6)
    left_out = changed["name"].n_unique() - len(shown)
    axes.set_xlabel(
        "% longer than the baseline, with the 95 % interval"
        + (f"\nleft out: {noun(left_out, 'level')} significant nowhere" if left_out else "")
    )
    head(figure, title.removesuffix("."), "")
    figure.legend(loc="outside lower center", ncols=2, fontsize="small", frameon=False)
    return figure
