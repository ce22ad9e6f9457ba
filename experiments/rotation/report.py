"""Report on rotations: answer, tables and picture of a run, or of several together."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from redolab.report.contents import Plot, Report
from redolab.report.numbers import median_with_range, number, signed, span
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save
from redolab.report.quantities import quantities_of
from redolab.report.table import SCREEN, Column, ReportTable
from redolab.results.marks import Off, disks_of, marks_of, storage_label, storage_remarks
from redolab.runs.default_report import Configuration, configurations, configurations_table
from redolab.runs.store import Run
from redolab.runs.trial_results import rows_of
from redolab.units import format_size

from .experiment import Rotating, Rotation, RotationTrial, Server
from .methods import AGAIN, Method

_EXT3 = (
    "ext3 is mounted by the kernel's ext4 code since Linux 4.3; its files have ext3's lists of blocks, not extents. The kernel that "
    "made ext3 slow at truncating is not this one."
)


@dataclass(frozen=True, slots=True)
class Rotations:
    """The rotations of one configuration."""

    configuration: Configuration

    @property
    def group(self) -> Server:
        """Return the server and its disk."""
        group: Server = self.configuration.results[0].group
        return group

    @property
    def step(self) -> Rotating:
        """Return the step: method and options of the rotation."""
        step: Rotating = self.configuration.results[0].step
        return step

    @property
    def trials(self) -> Sequence[RotationTrial]:
        """Return the trials."""
        return [each.trial for each in self.configuration.results]

    @property
    def label(self) -> str:
        """Return the server's name for readers."""
        return self.configuration.factors["server"]

    @property
    def machine(self) -> str:
        """Return the machine's name for tables."""
        return self.configuration.results[0].machine

    @property
    def storage(self) -> str:
        """Name of the storage profile."""
        return self.group.storage

    @property
    def late_share(self) -> float | None:
        """Share of requests answered late, the median of its trials."""
        known = [each.late_share for each in self.trials if each.late_share is not None]
        return statistics.median(known) if known else None

    @property
    def buffered(self) -> bool:
        """Return True if a trial ran on a buffered disk."""
        return any(each.buffered for each in self.trials)

    @property
    def decided_by(self) -> None:
        """Figures that the storage decided; None: any may be."""
        return

    @property
    def during(self) -> list[float]:
        """Return the longest time of a statement in milliseconds, for each window with a rotation."""
        return [each.longest_ms for each in self.trials]

    @property
    def without(self) -> list[float]:
        """Return the longest time of a statement in milliseconds, for the window before each rotation."""
        return [each.longest_without_ms for each in self.trials]

    @property
    def flushed(self) -> str:
        """Return how many rotations closed tables that no client read, such as `3 of 6`."""
        return f"{sum(bool(each.flushed_tables) for each in self.trials)} of {len(self.trials)}"


def rotations(*runs: Run) -> list[Rotations]:
    """Return the configurations of some runs. Raises `LabError`."""
    return [Rotations(each) for each in configurations(Rotation, *runs)]


def report(run: Run) -> Report:
    """Return the answer, the tables and the plot of a run."""
    found = rotations(run)
    disks, disk_rows = disks_of(run)
    return Report(
        answer=answer(found),
        tables=[stalls_table(found, marks_of([run])), flushed_table(found)] if found else [],
        details=[parts_table(found), *disks] if found else [],
        plots=[Plot("stalls", partial(plot_stalls, found=found))] if found else [],
        rows={"table": rows_of(Rotation.results(run)), **disk_rows},
    )


def answer(found: Sequence[Rotations]) -> str:
    """Return the longest times of a statement with and without a rotation, and the losses, as a sentence."""
    if not found:
        return "Nothing was measured."
    longest, usual = (max(map(max, each)) for each in ([of.during for of in found], [of.without for of in found]))
    return (
        f"While logs were rotated a statement took up to {number(longest, 0)} ms, without a rotation {number(usual, 0)} ms. "
        f"{lost_in_words(found)}"
    )


def lost_in_words(found: Sequence[Rotations]) -> str:
    """Return how many statements a rotation lost, by methods that promise to keep all and by copytruncate."""
    said = []
    for name, methods in (("copytruncate", [each for each in found if not each.step.method.keeps_all]),):
        lost = [trial.lost for each in methods if not each.step.held for trial in each.trials]
        if lost:
            said.append(f"{name} lost {span(lost, 0)} statements of the log")
    kept = [trial for each in found if each.step.method.keeps_all for trial in each.trials]
    if kept:
        lost_or_torn = sum(each.lost + each.check.torn for each in kept)
        said.append(f"{'the others' if said else 'the methods'} lost {lost_or_torn or 'none'}")
    words = "; ".join(said)
    return f"{words[:1].upper()}{words[1:]}."


def flushed_in_words(found: Sequence[Rotations]) -> str:
    """Return which servers flushed tables at SIGHUP; nothing where none was sent."""
    hung = [each for each in found if each.step.method is Method.RENAME_HUP]
    flush = list(dict.fromkeys(each.label for each in hung if any(trial.flushed_tables for trial in each.trials)))
    keep = [each for each in dict.fromkeys(each.label for each in hung) if each not in flush]
    said = [f"flushes the tables of {', '.join(flush)}"] if flush else []
    said += [f"leaves those of {', '.join(keep)} open"] if keep else []
    return f"SIGHUP {' and '.join(said)} (bug 65481)." if said else ""


def again_in_words(found: Sequence[Rotations]) -> list[str]:
    """Return of which servers the log had to be opened once more; nothing where all opened it."""
    labels = dict.fromkeys(
        each.label for each in found if any(part.name.endswith(AGAIN) for trial in each.trials for part in trial.parts)
    )
    if not labels:
        return []
    return [
        f"{', '.join(labels)}: no new log was opened while log_output was NONE, and the old one was written on, until it was asked for "
        "once more after that."
    ]


def stalls_table(found: Sequence[Rotations], off: Off) -> ReportTable:
    """Return a row for each configuration."""
    marked = [
        replace(each.configuration, factors={**each.configuration.factors, "storage": storage_label(each, off)})
        for each in found
    ]
    more = [Column[Configuration]("tables flushed", lambda row: Rotations(row).flushed, right=True, spare=True)]
    notes = [
        "longest: the longest time of a statement in a window, from when it was due; without: in the window of equal length before; "
        "more: of the pairs.",
        "lost, unlogged: statements a rotation: gone with no reason for it; left out while logging was held. Of rm-flush what was sent "
        "before the new log was open went with the file, and does not count.",
        *again_in_words(found),
        *([_EXT3] if any(each.group.file_system == "ext3" for each in found) else []),
        *storage_remarks(found, off),
    ]
    return configurations_table("Rotations", marked, quantities_of(RotationTrial), notes, more)


def copied_table(found: Sequence[Rotations]) -> ReportTable | None:
    """Return the duration of each part of copytruncate, and the losses meanwhile; None if it was not tried."""
    copied = [each for each in found if each.step.method is Method.COPYTRUNCATE]
    if not copied:
        return None

    def part(name: str) -> Callable[[Rotations], str]:
        return lambda row: median_with_range(
            [1000 * each.seconds for trial in row.trials for each in trial.parts if each.name == name], 1
        )

    columns = [
        *_which(),
        *(Column[Rotations](f"{name}, ms", part(name), right=True) for name in ("copy", "sync", "truncate")),
        Column[Rotations](
            "lost, s", lambda row: number(statistics.median(each.check.lost_s for each in row.trials), 1), right=True
        ),
    ]
    return ReportTable.brief("What copytruncate waits for, and loses", copied, columns, [], SCREEN)


def _which() -> list[Column[Rotations]]:
    return [
        Column[Rotations]("server", lambda row: row.label, shared=str),
        Column[Rotations]("fs", lambda row: row.group.file_system, shared=str),
        Column[Rotations]("method", lambda row: str(row.step.method), shared=str),
        Column[Rotations]("held", lambda row: "on" if row.step.held else "off", shared="logging held: {}".format),
    ]


def flushed_table(found: Sequence[Rotations]) -> ReportTable:
    """Return a row for each server and method: whether tables were flushed."""
    together: dict[tuple[str, str], list[RotationTrial]] = {}
    for each in found:
        together.setdefault((each.label, str(each.step.method)), []).extend(each.trials)

    def grown(name: str) -> Callable[[tuple[tuple[str, str], list[RotationTrial]]], str]:
        return lambda row: signed(_median([each.grown(name) for each in row[1]]), 0)

    columns = [
        Column[tuple[tuple[str, str], list[RotationTrial]]]("server", lambda row: row[0][0], shared=str),
        Column[tuple[tuple[str, str], list[RotationTrial]]]("method", lambda row: row[0][1], shared=str),
        Column[tuple[tuple[str, str], list[RotationTrial]]](
            "tables flushed",
            lambda row: f"{sum(bool(each.flushed_tables) for each in row[1])} of {len(row[1])}",
            right=True,
        ),
        Column[tuple[tuple[str, str], list[RotationTrial]]](
            "open before", lambda row: number(_median([each.before.open_tables for each in row[1]]), 0), right=True
        ),
        Column[tuple[tuple[str, str], list[RotationTrial]]](
            "after", lambda row: number(_median([each.after.open_tables for each in row[1]]), 0), right=True
        ),
        *(
            Column[tuple[tuple[str, str], list[RotationTrial]]](name.capitalize(), grown(name), right=True)
            for name in ("flush_commands", "com_flush", "opened_tables")
        ),
    ]
    notes = [
        "Flushed: more than half of the idle tables that were open are closed after the rotation. Counters: by how much each grew, "
        "median; – where the server has none."
    ]
    return ReportTable.brief("Which server flushes its tables", list(together.items()), columns, notes)


def _median(values: Sequence[int | None]) -> float | None:
    known = [each for each in values if each is not None]
    return statistics.median(known) if known else None


def parts_table(found: Sequence[Rotations]) -> ReportTable:
    """Return a row for each part of each configuration's rotations."""
    rows = [
        (each, name, [part for trial in each.trials for part in trial.parts if part.name == name])
        for each in found
        for name in dict.fromkeys(part.name for trial in each.trials for part in trial.parts)
    ]
    cells = [
        [
            *(column.cell(of) for column in _which()),
            name,
            median_with_range([1000 * part.seconds for part in parts], 1),
            median_with_range([part.longest_ms for part in parts], 1),
        ]
        for of, name, parts in rows
    ]
    headings = [
        *((column.heading, False) for column in _which()),
        ("part", False),
        ("took, ms", True),
        ("longest answer, ms", True),
    ]
    notes = [
        "longest answer: of a statement that was on its way in that part, from when it was sent; the time that it waited to be sent "
        "is not in it. Median (least–most)."
    ]
    return ReportTable("Parts of rotations", headings, cells, notes)


def plot_stalls(folder: Path, found: Sequence[Rotations]) -> None:
    """Draw each rotation above its window without one, a panel a server, a row a configuration: `stalls.svg`."""
    servers = list(dict.fromkeys(each.label for each in found))
    panels = [[each for each in found if each.label == server] for server in servers]
    figure, axes = plt.subplots(
        len(panels),
        1,
        sharex=True,
        squeeze=False,
        figsize=(WIDTH, sum(0.24 * len(panel) + 0.4 for panel in panels) + 1.2),
        height_ratios=[len(panel) + 1 for panel in panels],
        layout="constrained",
    )
    for axis, server, panel in zip(axes.flat, servers, panels, strict=True):
        for place, each in enumerate(panel):
            with_it = LIMIT if each.step.held else MEASURED
            for values, colour, at in ((each.during, with_it, place - 0.16), (each.without, MODEL, place + 0.16)):
                axis.plot(values, [at] * len(values), "o", color=colour, markersize=4, alpha=0.55, markeredgewidth=0)
                axis.plot(statistics.median(values), at, "|", color=colour, markersize=9, markeredgewidth=2.2)
        labels = [
            f"{each.step.method}{', held' if each.step.held else ''} · {each.group.file_system}" for each in panel
        ]
        axis.set_yticks(range(len(panel)), labels, fontsize="small")
        axis.set_ylim(len(panel) - 0.4, -0.6)
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.grid(axis="x", color="#dddddd", linewidth=0.6)
        axis.text(0.995, 1.0, server, transform=axis.transAxes, ha="right", va="bottom", fontweight="bold")
    for colour, label in (
        (MEASURED, "with a rotation"),
        (LIMIT, "with one, logging held"),
        (MODEL, "without, before it"),
    ):
        axes.flat[0].plot([], [], "o", color=colour, label=label)
    axes.flat[-1].set_xlabel("longest time of a statement in a window, ms (logarithmic)")
    figure.legend(loc="outside lower center", ncols=3, fontsize="small", frameon=False)
    sizes = ", ".join(dict.fromkeys(format_size(each.step.log_file) for each in found))
    disks = ", ".join(dict.fromkeys(each.storage for each in found))
    head(figure, finding(found), f"a log of {sizes} on {disks}; a point each window, the bar their median")
    save(figure, folder / "stalls")


def finding(found: Sequence[Rotations]) -> str:
    """Return the message of the picture, in a sentence."""
    own = [each for each in found if each.step.method is Method.RENAME_SYNC_FLUSH] or found
    during, without = (
        max(map(max, values)) for values in ([each.during for each in own], [each.without for each in own])
    )
    what = "By redolab slowlog rotate" if own is not found else "With a rotation"
    return f"{what} a statement takes at most {number(during, 0)} ms, without a rotation {number(without, 0)} ms"
