"""Pictures of the model: recovery time over log size, and predictions against what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redolab.models.recovery_time.fit import Fitted, Observation
from redolab.models.recovery_time.held_out import HeldOut, HeldOutPrediction
from redolab.models.recovery_time.terms import Part
from redolab.models.sizing import SHOWN, possible_sizes
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save
from redolab.sizing.question import Model
from redolab.units import GIB, MIB, format_duration, format_size

HEADLINE_SHARE = 0.25
"""The buffer pool of the picture over log sizes, as a share of the log."""
_ACROSS = 3
_RATIOS = (0.2, 0.5, 1, 2, 5)
_SECONDS = (1, 3, 10, 30, 100, 300, 1000)
_TICKS = (1, 3, 10, 30, 60, 180, 600, 1800, 3600, 10_800)

_FULL = 0.75
"""Of the redo that is predicted for: a crash with less is none that belongs beside it."""


def log_size_within(model: Model, rto: float) -> int | None:
    """The largest log that recovers within so many seconds nineteen times in twenty, with that share of it as pool."""
    found = None
    for size in possible_sizes(256 * MIB, 64 * GIB):
        if model.with_pool(int(size * HEADLINE_SHARE)).at(size).ninety[1] > rto:
            return found
        found = size
    return found


def plot_over_log_size(folder: Path, model: Model, measured: Sequence[Observation], rto: float, label: str) -> None:
    """The predicted band from 256M to 64G, measured points, and the time that is wanted: `over-log-size.svg`, `.png`."""
    at = [model.with_pool(int(size * HEADLINE_SHARE)).at(size) for size in SHOWN]
    sizes = [size / GIB for size in SHOWN]
    figure, axes = plt.subplots(figsize=(WIDTH, 4.4), layout="constrained")
    low, high = [each.ninety[0] for each in at], [each.ninety[1] for each in at]
    axes.fill_between(sizes, low, high, color=MEASURED, alpha=0.2, linewidth=0, label="nine in ten, predicted")
    axes.plot(sizes, [each.seconds for each in at], color=MEASURED, label="predicted")
    points = [
        each
        for each in measured
        if math.isclose(each.pool / each.log_size, HEADLINE_SHARE, rel_tol=0.1) and _of_worst(each, model) >= _FULL
    ]
    axes.plot(
        [each.log_size / GIB for each in points], [each.ready for each in points], "o", color="black", markersize=5,
        label=_of_that_redo(points, model),
    )  # fmt: skip
    axes.axhline(rto, color=LIMIT, linestyle="--", label=f"limit: {rto:.0f} s")
    within = log_size_within(model, rto)
    if within is not None:
        axes.axvline(within / GIB, color=LIMIT, linestyle=":", linewidth=1)
        axes.annotate(
            format_size(within), (within / GIB, low[0]), xytext=(4, 0), textcoords="offset points", color=LIMIT
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [format_size(size) for size in SHOWN])
    ticks = [tick for tick in _TICKS if low[0] / 1.5 <= tick <= high[-1] * 1.5]
    axes.set_yticks(ticks, [_tick(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("redo log; predicted for redo up to the hard limit")
    axes.set_ylabel("time to ready")
    answer = "no log of 256M or more" if within is None else f"up to {format_size(within)}"
    head(figure, f"Recovery within {rto:.0f} s here: a redo log of {answer}", label)
    axes.legend(loc="upper left", fontsize="small")
    save(figure, folder / "over-log-size")


def _of_that_redo(points: Sequence[Observation], model: Model) -> str:
    """As in `measured, with 83% to 98% of that redo`."""
    shares = [_of_worst(each, model) for each in points]
    return f"measured, with {min(shares):.0%} to {max(shares):.0%} of that redo" if shares else "measured"


def _of_worst(one: Observation, model: Model) -> float:
    """The redo of a crash, as a share of the most that its log can leave."""
    return one.crash.redo / model.worst_age(one.log_size)


@dataclass(frozen=True, slots=True)
class PoolPanel:
    """Recoveries of one crash of a server with many pools, and what was learnt of the server."""

    label: str
    fitted: Fitted
    recoveries: Sequence[Observation]


def plot_pools(folder: Path, panels: Sequence[PoolPanel]) -> None:
    """Scan and apply over the buffer pool, measured and by the model, a panel each server: `pools.svg`, `.png`."""
    figure, grid = plt.subplots(
        ncols=len(panels), squeeze=False, figsize=(3.1 * len(panels) + 0.6, 3.6), layout="constrained"
    )
    for axes, panel in zip(grid[0], panels, strict=True):
        first = panel.recoveries[0]
        pools = sorted({each.pool for each in panel.recoveries})
        between = [pools[0] + (pools[-1] - pools[0]) * step / 100 for step in range(101)]
        expected = [panel.fitted.parts(first.crash, pool, first.disk) for pool in between]
        for part, colour in ((Part.SCAN, MEASURED), (Part.APPLY, LIMIT)):
            alone = [each for each in panel.recoveries if frozenset({part}) in each.stretches]
            axes.plot(
                [each.pool / GIB for each in alone], [each.stretches[frozenset({part})] for each in alone], "o",
                color=colour, markersize=4, label=f"{part}, measured",
            )  # fmt: skip
            axes.plot(
                [pool / GIB for pool in between],
                [each[part] for each in expected],
                color=colour,
                label=f"{part}, model",
            )
        axes.axvline(panel.fitted.memory.needed(first.crash) / GIB, color=MODEL, linestyle=":", linewidth=1)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("buffer pool, GiB")
        axes.set_title(panel.label, fontsize="medium", loc="left")
    grid[0][0].set_ylabel("seconds")
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")
    figure.suptitle(
        "A larger pool scans longer and applies sooner, until all redo fits at once (dotted)",
        x=0.01,
        ha="left",
        fontsize="large",
    )
    save(figure, folder / "pools")


def plot_errors(folder: Path, judged: Sequence[HeldOutPrediction]) -> None:
    """Predicted over measured against measured, a panel each kind of what was held out: `errors.svg`, `.png`."""
    kinds = [kind for kind in HeldOut if any(each.held_out is kind for each in judged)]
    columns = min(len(kinds), _ACROSS)
    rows = math.ceil(len(kinds) / columns)
    figure, panels = plt.subplots(
        nrows=rows,
        ncols=columns,
        sharey=True,
        sharex=True,
        squeeze=False,
        figsize=(3.2 * columns + 0.8, 3.2 * rows + 0.9),
        layout="constrained",
    )
    for unused in panels.flat[len(kinds) :]:
        unused.remove()
    servers = sorted({each.observation.server for each in judged})
    for axes, kind in zip(panels.flat, kinds, strict=False):
        of_kind = [each for each in judged if each.held_out is kind]
        for place, server in enumerate(servers):
            own = [each for each in of_kind if each.observation.server == server]
            axes.plot(
                [each.observation.ready for each in own], [1 + each.relative for each in own], "osv^Dx"[place % 6],
                markersize=4, alpha=0.7, label=server,
            )  # fmt: skip
        axes.axhline(1, color="black", linewidth=1)
        axes.axhspan(1 / 1.15, 1.15, color="#DDDDDD", zorder=0)
        axes.set_title(str(kind), fontsize="medium", loc="left", color=MODEL)
        axes.set_xlabel("measured, s")
    first = panels[0][0]
    first.set_xscale("log")
    first.set_yscale("log")
    shown = [ratio for ratio in _RATIOS if any(_near(1 + each.relative, ratio) for each in judged)]
    first.set_yticks(shown, [f"{ratio:g} ×" for ratio in shown])
    first.set_xticks(_SECONDS, [f"{seconds:g}" for seconds in _SECONDS])
    first.minorticks_off()
    longest = max(each.observation.ready for each in judged)
    first.set_xlim(min(each.observation.ready for each in judged) / 1.2, longest * 1.2)
    for row in panels:
        row[0].set_ylabel("predicted / measured")
    figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize="small")
    off = sorted(abs(each.relative) for each in judged)
    said = f"Half of all held-out predictions are off by {off[len(off) // 2]:.0%} or less (grey: 15 %)"
    figure.suptitle(said, x=0.01, ha="left", fontsize="large")
    save(figure, folder / "errors")


def _near(ratio: float, tick: float) -> bool:
    """Within the range of that tick, or on the way to it."""
    return min(ratio, 1) / 1.3 <= tick <= max(ratio, 1) * 1.3


def _tick(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else format_duration(seconds).replace(" 0 s", "").replace(" 00 min", "")
