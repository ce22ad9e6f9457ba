"""Report of a recovery run: the answer, a row for each configuration, every phase of it, and two pictures."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import polars as pl
from matplotlib.figure import Figure

from redolab.crash.records.crash import KILL
from redolab.crash.records.kill_rule import STOPPED_GROWING
from redolab.crash.records.recovery import BACK, DISTURBED_SHARE, WINDOW, Outcome
from redolab.report.contents import Plot, Report
from redolab.report.intervals import median_of_known
from redolab.report.numbers import NONE, median_with_range, number, span
from redolab.report.plots import COLOURS, LIMIT, MODEL, WIDTH, head, plt
from redolab.report.table import Column, ReportTable
from redolab.results.alike import Keyed, keyed_recoveries
from redolab.results.comparable import comparable
from redolab.results.load_figures import per_second
from redolab.results.marks import (
    MARK,
    Off,
    StorageUse,
    decided_by,
    disks_of,
    is_late,
    marks_of,
    storage_label,
    storage_remarks,
)
from redolab.results.measured import disturbed, typical
from redolab.results.recoveries import median_or_never
from redolab.results.series import read_reports
from redolab.runs.store import Run
from redolab.servers.dialects import family_of
from redolab.units import GIB, KIB, MIB, format_size, noun
from redolab.workloads.catalogue import workload_catalogue
from redolab.workloads.data import WorkloadReport

Row: TypeAlias = Mapping[str, Any]
"""A configuration: its recovery nearest to the median, and what all its recoveries say (`configurations`)."""
_DISTURBED = "*"
_RANGED = ("scan", "apply", "open")
_LAB_IS_BUSY = 0.1
"""Share of a CPU above which a remark says how much the lab's watching took."""
_FEW_CPUS = 2
# Light to dark, so that they differ in grey too; Okabe and Ito's colours for the colour-blind.
_OTHER = ("start, discover, open, accept", "#BBBBBB")
_PARTS = {
    **dict.fromkeys(("start", "discover", "open", "accept"), _OTHER),
    "scan": ("scan", "#56B4E9"),
    "untimed": ("not timed by the log", "#7A9CC6"),
    "apply": ("apply", "#0072B2"),
    "rollback": ("rollback after the recovery", "#FFFFFF"),
    "warm": ("clients below 90 %", "#F0E442"),
}
"""Phase → its name in the legend, and its colour."""


def report(run: Run) -> Report:
    """Return the answer, the tables and the plots of the recoveries that a run has measured."""
    recoveries, off = comparable(_as_asked(run)), marks_of([run])
    rows = configurations(recoveries)
    disks, disk_rows = disks_of(run)
    return Report(
        answer=answer(rows),
        tables=[recoveries_table(rows, recoveries, off)],
        details=[phases_table(rows, off), usage_table(rows, off), *disks],
        rows={"table": recoveries.to_dicts(), **disk_rows},
        plots=_plots(run, rows, off),
    )


def _as_asked(run: Run) -> list[Keyed]:
    """Return the recoveries of a run in the order in which their configurations were asked for. Raises `LabError`."""
    found = keyed_recoveries([run])
    machines = list(dict.fromkeys(each.machine for each in found))
    storages = {name: place for place, name in enumerate(run.record().options.get("storage", "").split(","))}
    return sorted(
        found,
        key=lambda each: (
            machines.index(each.machine),
            each.record.group,
            storages.get(each.trial.storage, len(storages)),
            -each.trial.buffer_pool,
            # Of one setting the smaller number comes first.
            (len(each.trial.settings), each.trial.settings),
        ),
    )


def configurations(recoveries: pl.DataFrame) -> list[Row]:
    """Return a row for each configuration, in the order of `recoveries`, which `comparable` has made."""
    if recoveries.is_empty():
        return []
    was_followed = pl.col("followed_s").is_not_null()
    found = typical(
        recoveries,
        "configuration",
        crashes=pl.col("image").n_unique(),
        wrong=(pl.col("failed_checks") > 0).sum(),
        outcomes=pl.col("outcome"),
        ends=pl.col("ended_at"),
        disturbances=(disturbed() & pl.col("ready_s").is_not_null()).sum(),
        any_buffered=pl.col("buffered").any(),
        first_commits=pl.col("first_commit_s"),
        backs=pl.col("back_s").filter(was_followed),
        **{f"all_{phase}_s": pl.col(f"{phase}_s") for phase in _RANGED},
    )
    return list(found.iter_rows(named=True))


def answer(rows: Sequence[Row]) -> str:
    """Return how long recovery took in one configuration, or the least and the greatest median of several; and what went wrong."""
    every, measured = sum(row["of"] for row in rows), [row for row in rows if row["n"]]
    bad = every - sum(row["n"] - row["wrong"] for row in rows)
    tail = f"; {bad} of {noun(every, 'recovery', 'recoveries')} ended badly." if bad else "."
    if not measured:
        return f"No recovery {'became ready' if rows else 'was measured'}{tail}"
    if len(rows) == 1:
        (row,) = rows
        redo = f" of {_redo(row)} of redo" if _redo(row) != NONE else ""
        took = f"{median_with_range(row['ready'])} s ({noun(row['n'], 'recovery', 'recoveries')})"
        return f"{row['label']}: recovery{redo} in a log of {format_size(row['log_size_bytes'])} took {took}{tail}"
    longest = max(measured, key=lambda row: statistics.median(row["ready"]))
    medians = span([statistics.median(row["ready"]) for row in measured], 1)
    machines = len({row["machine"] for row in rows})
    which = names_and_shared(rows, {})[0][rows.index(longest)]
    where = f" on {machines} machines, which do not compare" if machines > 1 else f", longest with {which}"
    labels, logs = {row["label"] for row in rows}, {row["log_size_bytes"] for row in rows}
    subject = f"{labels.pop()}: recovery" if len(labels) == 1 else "Recovery"
    redo_log = f" with redo log {format_size(logs.pop())}" if len(logs) == 1 else ""
    return f"{subject}{redo_log} took {medians} s (medians of {noun(len(measured), 'configuration')}){where}{tail}"


def recoveries_table(rows: Sequence[Row], recoveries: pl.DataFrame, off: Off) -> ReportTable:
    """Return a row for each configuration: recovery time with its range and n, what it consists of, and marks that warn."""
    with_clients = [row for row in rows if row["backs"]]
    columns = [
        *_identity_columns(rows, off),
        Column[Row]("redo", _redo, right=True, shared="{} of redo at the crash".format),
        _count("dirty pages", "dirty_pages", shared="{} dirty pages".format, spare=True),
        Column[Row]("recovery, s", _recovery, right=True),
        Column[Row]("n", _n, right=True, shared="n={} each".format),
        _count("batches", "batches"),
        _seconds("scan"),
        _seconds("apply"),
        Column[Row]("other", _other, right=True),
        Column[Row]("bound by", lambda row: row["bound"] or NONE, shared="bound by {}".format, spare=True),
        *(_CLIENTS if with_clients else ()),
        _seconds("rollback", "rollback after", spare=True),
    ]
    notes = [
        "recovery: median (range) of n; scan, apply and other (start, discover, open, accept) are of the recovery nearest to the "
        "median. A dash: the log does not say ('--all' has the reason)."
    ]
    if any(row["disturbances"] for row in rows):
        notes.append(
            f"{_DISTURBED} disturbed: meanwhile other programs or the host took over {100 * DISTURBED_SHARE:g} % of the CPUs."
        )
    if with_clients:
        notes.append(
            "first trx, 90 % again: medians from the start of the server until clients, started anew after the recovery, completed "
            f"a first transaction, and until {WINDOW:g} s began with {100 * BACK:g} % of the throughput before the crash "
            "(docs/workloads.md)."
        )
    return ReportTable.brief("Crash recovery", rows, columns, [*notes, *_remarks(rows, recoveries, off)])


def phases_table(rows: Sequence[Row], off: Off) -> ReportTable:
    """Return every phase of each configuration, with the reasons of those that are blank."""
    columns = [
        *_identity_columns(rows, off),
        Column[Row]("redo (last sample)", _redo_and_age, right=True),
        Column[Row]("dirty pages (undo up to)", _dirty, right=True),
        _count("pages read", "pages_read"),
        Column[Row]("recovery, s", _recovery, right=True),
        _count("batches", "batches"),
        *map(_seconds, ("start", "discover", "scan", "apply", "open", "accept")),
        _seconds("rollback", "rollback after"),
    ]
    notes = [
        "Seconds of the recovery nearest to the median. redo: its end LSN less its checkpoint LSN; in brackets the checkpoint age in "
        "the last sample before the crash. docs/recovery.md has every column."
    ]
    for row, name in zip(rows, names_and_shared(rows, off)[0], strict=True):
        blank = f"blank: {row['why_blank']}" if row["why_blank"] else ""
        if remark := "; ".join(filter(None, (blank, row["log_notes"]))):
            notes.append(f"{name or row['label']}: {remark}.")
    return ReportTable.of("Phases", rows, columns, notes)


def usage_table(rows: Sequence[Row], off: Off) -> ReportTable:
    """Return what disk and CPUs did in each configuration."""
    columns = [
        *_identity_columns(rows, off),
        _seconds("ready", "recovery, s"),
        Column[Row]("bound by", lambda row: row["bound"] or NONE),
        _seconds("cpu", "CPU, s"),
        _seconds("busiest_thread", "busiest thread, s"),
        _seconds("lab_cpu", "the lab's CPU, s"),
        Column[Row]("disk busy, s", lambda row: number(row["device_busy"]), right=True),
        Column[Row]("queue", lambda row: number(row["device_queue"], 1), right=True),
        Column[Row]("reads", partial(_requests, count="device_reads", size="device_read_bytes"), right=True),
        Column[Row]("writes", partial(_requests, count="device_writes", size="device_written_bytes"), right=True),
        *(Column[Row](f"{phase}, s", partial(_range, name=f"all_{phase}_s"), right=True) for phase in _RANGED),
        Column[Row]("late", lambda row: NONE if row["late"] is None else f"{row['late']:.1%}", right=True),
    ]
    notes = [
        "From the start to ready, in the recovery nearest to the median; scan, apply and open: the range of all. queue: mean number of "
        "requests in flight while there were any. docs/storage.md says what 'bound by' means."
    ]
    if any(is_late(_use(row)) for row in rows):
        notes.append(
            f"late: by how much the disk model overran the modelled disk, as a share of all its latencies; over 10 % the storage is "
            f"marked {MARK}."
        )
    return ReportTable.of("Limits", rows, columns, notes)


def _identity_columns(rows: Sequence[Row], off: Off) -> list[Column[Row]]:
    """Return the columns that identify a configuration."""
    machines, settings, kinds = ({row[name] for row in rows} for name in ("machine", "settings", "crash_kind"))
    return [
        *([Column[Row]("machine", lambda row: row["machine"])] if len(machines) > 1 else []),
        Column[Row]("server", lambda row: row["label"], shared=str),
        Column[Row]("storage", lambda row: storage_label(_use(row), off), shared="on {}".format),
        Column[Row]("log", lambda row: format_size(row["log_size_bytes"]), right=True, shared="redo log {}".format),
        Column[Row]("pool", lambda row: format_size(row["buffer_pool_bytes"]), right=True, shared="pool {}".format),
        *([Column[Row]("settings", lambda row: row["settings"], shared=str)] if any(settings) else []),
        *([Column[Row]("crash", lambda row: row["crash_kind"], shared="{}".format)] if kinds - {KILL} else []),
    ]


def names_and_shared(rows: Sequence[Row], off: Off) -> tuple[list[str], str]:
    """Return a name for each configuration, of the cells that differ, and the cells that all of them share."""
    columns = _identity_columns(rows, off)
    cells = [[f"{column.heading} " * column.right + column.cell(row) for column in columns] for row in rows]
    varies = [len(set(of_column)) > 1 for of_column in zip(*cells, strict=True)]
    names = [", ".join(filter(None, itertools.compress(line, varies))) for line in cells]
    shared = [cell for line in cells[:1] for cell, differs in zip(line, varies, strict=True) if cell and not differs]
    return names, ", ".join(shared)


def _use(row: Row) -> StorageUse:
    return StorageUse(row["machine"], row["storage"], row["late"], row["any_buffered"], decided_by(row["bound"]))


def _count(heading: str, name: str, *, shared: Callable[[str], str] | None = None, spare: bool = False) -> Column[Row]:
    return Column(heading, lambda row: number(row[name], 0), right=True, shared=shared, spare=spare)


def _seconds(phase: str, heading: str = "", *, spare: bool = False) -> Column[Row]:
    return Column(heading or phase, lambda row: number(row[f"{phase}_s"]), right=True, spare=spare)


def _size(size: int | None) -> str:
    return NONE if size is None else format_size(size)


def _redo(row: Row) -> str:
    """Return the redo that recovery read; where its log does not tell, or it did not come to the end, the last checkpoint age."""
    return _size(row["redo"] if row["n"] else row["checkpoint_age_bytes"])


def _redo_and_age(row: Row) -> str:
    return f"{_redo(row)} ({_size(row['checkpoint_age_bytes'])})"


def _dirty(row: Row) -> str:
    undo = "" if row["undo_pages"] is None else f" ({number(min(row['undo_pages'], row['dirty_pages'] or 0), 0)})"
    return number(row["dirty_pages"], 0) + undo


def _recovery(row: Row) -> str:
    """Return words as in `12.10 (11.90–12.80)*, STUCK at 50 % of apply (2 of 5)`."""
    seconds = median_with_range(row["ready"]) + _DISTURBED * bool(row["disturbances"]) if row["n"] else ""
    return ", ".join(filter(None, (seconds, went_wrong(row))))


def went_wrong(row: Row) -> str:
    """Return words as in `1 WRONG, STUCK at 50 % of apply (2 of 5)`; empty if nothing went wrong."""
    problems = [f"{row['wrong']} WRONG"] if row["wrong"] else []
    ended = [each for each in zip(row["outcomes"], row["ends"], strict=True) if each[0] != Outcome.READY]
    for outcome, times in Counter(outcome for outcome, _ in ended).items():
        where = ", ".join(dict.fromkeys(end for each, end in ended if each == outcome and end))
        problems.append(f"{outcome.upper()}{where and f' at {where}'} ({times} of {row['of']})")
    return ", ".join(problems)


def _n(row: Row) -> str:
    return str(row["n"]) if row["crashes"] == 1 else f"{row['n']} of {row['crashes']} crashes"


def _other(row: Row) -> str:
    """Return the time to ready without scan and apply; a dash where the log does not time these."""
    if None in (row["ready_s"], row["scan_s"], row["apply_s"]):
        return NONE
    return number(row["ready_s"] - row["scan_s"] - row["apply_s"])


def _range(row: Row, name: str) -> str:
    """Return the range of all recoveries of a configuration; a dash where one of them does not tell."""
    return NONE if None in row[name] else span(row[name], between="–")


def _requests(row: Row, count: str, size: str) -> str:
    if row[count] is None:
        return NONE
    mean = f", {row[size] / row[count] / KIB:.0f} KiB each" if row[count] else ""
    return f"{row[count]:,} of {row[size] / 1e6:,.0f} MB{mean}"


def _again(row: Row) -> str:
    """Return when throughput was back, as a median in which never counts; or how far it got."""
    back, never = median_or_never(row["backs"]), row["backs"].count(None)
    if back is not None:
        return number(back) + (f", {never} not" if never else "")
    if row["followed_s"] is None:
        return NONE
    return f"not by {row['followed_s']:.0f} ({100 * (row['best_share'] or 0.0):.0f} %)"


_CLIENTS = (
    _count("NOTPM before", "notpm_before", shared="{} NOTPM before the crash".format, spare=True),
    Column[Row]("first trx", lambda row: number(median_of_known(row["first_commits"])), right=True),
    Column[Row]("90 % again", _again, right=True),
)


def _remarks(rows: Sequence[Row], recoveries: pl.DataFrame, off: Off) -> list[str]:
    """Return what a reader must know before using the rows, a sentence each."""
    every = recoveries.to_dicts()
    known = workload_catalogue().names()
    workloads = [name for name in dict.fromkeys(each["workload"] for each in every) if name in known]
    remarks = [
        *(
            f"{each['image']} was killed when {each['why_killed']}."
            for each in every
            if STOPPED_GROWING in each["why_killed"]
        ),
        *(caveat for name in workloads for caveat in workload_catalogue().get(name).caveats),
        *storage_remarks([_use(row) for row in rows], off),
    ]
    ready = [each for each in every if each["ready_s"]]
    # Runs made before the lab recorded its own CPU time.
    unrecorded = [each["version"] for each in ready if each["lab_cpu_s"] is None and each["cores"] <= _FEW_CPUS]
    if "mariadb" in map(family_of, unrecorded):
        remarks.append("The lab's own watching then made MariaDB's recoveries on two CPUs 13 to 14 % longer.")
    if (busy := max(((each["lab_cpu_s"] or 0.0) / each["ready_s"] for each in ready), default=0.0)) > _LAB_IS_BUSY:
        remarks.append(f"Watching took the lab up to {busy:.2f} of a CPU.")
    if not all(each["cache_dropped"] for each in every):
        remarks.append(
            "The page cache was not dropped before the recoveries (no root): part of the files came from memory."
        )
    return list(dict.fromkeys(remarks))


def _plots(run: Run, rows: Sequence[Row], off: Off) -> list[Plot]:
    """Return two plots for each machine: what stands in one picture is compared."""
    machines = list(dict.fromkeys(row["machine"] for row in rows))
    plots = []
    for machine in machines:
        own = [row for row in rows if row["machine"] == machine]
        on = f"-on-{machine.replace(' ', '-')}" if len(machines) > 1 else ""
        title = f"On {machine}: {answer(own)}" if on else answer(own)
        plots.append(Plot(f"phases{on}", partial(plot_phases, rows=own, off=off, title=title)))
        files = [(row, run.files / row["series"]) for row in own if row["series"]]
        if series := [(row, read_reports(path)) for row, path in files if path.exists()]:
            plots.append(Plot(f"clients{on}", partial(plot_clients, series=series)))
        else:
            plots.append(Plot(f"redo{on}", partial(plot_redo, rows=own)))
    return plots


def plot_phases(rows: Sequence[Row], off: Off, title: str) -> Figure:
    """Draw the phases of each configuration as one bar, with the range of its recoveries."""
    names, shared = names_and_shared(rows, off)
    figure, axes = plt.subplots(figsize=(WIDTH, 1.9 + 0.42 * len(rows)), layout="constrained")
    labels: set[str] = set()
    furthest = 0.0
    for place, row in enumerate(rows):
        end = 0.0
        for phase, width in bar_segments(row):
            label, colour = _PARTS[phase]
            axes.barh(
                place, width, left=end, height=0.62, color=colour, edgecolor=MODEL, linewidth=0.4,
                label=None if label in labels else label,
            )  # fmt: skip
            labels.add(label)
            end += width
        if row["n"] > 1:
            axes.hlines(place, min(row["ready"]), max(row["ready"]), color="black", linewidth=1.2)
        end = max([end, *row["ready"]])
        text = _recovery(row) if not row["n"] or went_wrong(row) else f"{_recovery(row)} s"
        axes.annotate(
            text, (end, place), xytext=(5, 0), textcoords="offset points", va="center", fontsize="small",
            color=LIMIT if went_wrong(row) else "black",
        )  # fmt: skip
        furthest = max(furthest, end)
    # The bars of servers that gave up at once have no length.
    axes.set_xlim(0, 1.3 * (furthest or 1.0))
    axes.set_yticks(range(len(rows)), names)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("seconds since the start of the server (line: range of all recoveries)")
    head(figure, title.removesuffix("."), shared)
    figure.legend(loc="outside lower center", ncols=4, fontsize="small", frameon=False)
    return figure


def bar_segments(row: Row) -> list[tuple[str, float]]:
    """Return the bar of a configuration: (phase, seconds) to ready, one segment for all that the log does not time, and what follows."""
    phases = ("start", "discover", "scan", "apply", "open", "accept")
    is_ready = row["ready_s"] is not None
    # How long the process of a server that never was ready took to start is unknown: it is part of the untimed seconds.
    seconds = {phase: row[f"{phase}_s"] for phase in (phases if is_ready else phases[1:])}
    whole = row["ready_s"] if is_ready else row["progress_ended_s"] or 0.0
    untimed = whole - sum(known for known in seconds.values() if known is not None)
    # A server that never was ready spent the rest in the phase in which it ended.
    rest = "untimed" if is_ready else row["ended_phase"] or "untimed"
    segments: list[tuple[str, float]] = []
    for phase, known in seconds.items():
        if known is not None:
            segments.append((phase, known))
        elif (rest, untimed) not in segments:
            segments.append((rest, untimed))
    if row["rollback_s"]:
        segments.append(("rollback", row["rollback_s"]))
    # The clients come back while the server still rolls back.
    below = (row["back_s"] or 0.0) - sum(width for _, width in segments)
    return [*segments, ("warm", below)] if below > 0 else segments


def plot_redo(rows: Sequence[Row]) -> Figure | None:
    """Draw recovery time against redo, each storage with its mark; None if no two configurations differ."""
    known = [row for row in rows if row["n"] and row["redo"] is not None]
    if len({(row["storage"], row["redo"]) for row in known}) < 2:
        return None
    unit, unit_name = (GIB, "GiB") if max(row["redo"] for row in known) >= GIB else (MIB, "MiB")
    figure, axes = plt.subplots(figsize=(WIDTH, 5), layout="constrained")
    storages = dict.fromkeys(row["storage"] for row in known)
    for storage, marker, colour in zip(storages, itertools.cycle("osD^vP*Xh<>"), itertools.cycle(COLOURS)):
        points = [(row["redo"] / unit, each) for row in known if row["storage"] == storage for each in row["ready"]]
        axes.plot(*zip(*points, strict=True), marker, color=colour, alpha=0.7, label=storage)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.set_xlim(0, 1.05 * max(row["redo"] for row in known) / unit)
    axes.set_xlabel(f"redo read by recovery, {unit_name}")
    axes.set_ylabel("recovery, s (a mark for each)")
    head(figure, "Recovery time by the redo that a recovery read", names_and_shared(rows, {})[1])
    figure.legend(loc="outside lower center", ncols=4, fontsize="small", frameon=False)
    return figure


def plot_clients(series: Sequence[tuple[Row, Sequence[WorkloadReport]]]) -> Figure:
    """Draw commits a second from the start of the server, as a share of the mean before the crash."""
    rows = [row for row, _ in series]
    names, shared = names_and_shared(rows, {})
    figure, axes = plt.subplots(figsize=(WIDTH, 4.5), layout="constrained")
    for (row, reports), name, colour in zip(series, names, itertools.cycle(COLOURS)):
        seconds, before = per_second(reports), row["commits_before_per_s"] or 1.0
        axes.plot(
            [each.end for each in seconds],
            [each.commits / before for each in seconds],
            color=colour,
            linewidth=1.2,
            label=name or "after",
        )
        if row["back_s"] is not None:
            axes.plot([row["back_s"]], [BACK], marker="o", color=colour, linestyle="")
    axes.axhline(BACK, color=LIMIT, linestyle="--", linewidth=1, label=f"{100 * BACK:g} % of the mean before the crash")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"seconds since the start of the server (dot: the {WINDOW:g} s from here on have {100 * BACK:g} %)")
    axes.set_ylabel("commits/s, share of the mean before the crash")
    backs = [row["back_s"] for row in rows if row["back_s"] is not None]
    back = f"Throughput was back at {100 * BACK:g} % after {span(backs, 1)} s" if backs else "Throughput was not back"
    head(figure, f"{back} in {len(backs)} of {noun(len(rows), 'recovery', 'recoveries')} shown", shared)
    figure.legend(loc="outside lower center", ncols=3, fontsize="small", frameon=False)
    return figure
