"""Pictures of the model: recovery time over log size, and predictions against what was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from redolab.models.recovery_time.fit import Fitted, Observation
from redolab.models.recovery_time.held_out import HeldOut, HeldOutPrediction, counts_once, weighted_median, weights
from redolab.models.recovery_time.terms import Part
from redolab.models.sizing import SHOWN, possible_sizes
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save
from redolab.sizing.crash import worst_age
from redolab.sizing.question import Model
from redolab.sizing.recovery import recovery_at
from redolab.units import GIB, MIB, format_duration, format_size

HEADLINE_SHARE = 0.25
"""The buffer pool of the picture over log sizes, as a share of the log."""
_RATIOS = (0.2, 0.5, 1, 2, 5)
_TICKS = (1, 3, 10, 30, 60, 180, 600, 1800, 3600, 10_800)

_FULL = 0.75
"""Of the redo that is predicted for: a crash with less is none that belongs beside it."""


def log_size_within(model: Model, rto: float) -> int | None:
    """The largest log that recovers within so many seconds 95 % sure, with that share of it as pool."""
    found = None
    for size in possible_sizes(256 * MIB, 64 * GIB):
        if recovery_at(model.with_pool(int(size * HEADLINE_SHARE)), size).ninety[1] > rto:
            return found
        found = size
    return found


def plot_over_log_size(folder: Path, model: Model, measured: Sequence[Observation], rto: float, label: str) -> None:
    """The predicted band from 256M to 64G, measured points, and the time that is wanted: `over-log-size.svg`, `.png`."""
    at = [recovery_at(model.with_pool(int(size * HEADLINE_SHARE)), size) for size in SHOWN]
    sizes = [size / GIB for size in SHOWN]
    figure, axes = plt.subplots(figsize=(WIDTH, 4.4), layout="constrained")
    low, high = [each.ninety[0] for each in at], [each.ninety[1] for each in at]
    points = [
        each
        for each in measured
        if math.isclose(each.pool / each.log_size, HEADLINE_SHARE, rel_tol=0.1) and _of_worst(each, model) >= _FULL
    ]
    # What goes beyond every point is drawn fainter; the size at which it begins is in both.
    beyond = sum(size <= max((each.log_size for each in points), default=0) for size in SHOWN) - 1
    for part, strength, said in (
        (slice(beyond + 1), 1.0, ""),
        (slice(max(0, beyond), None), 0.4, ", beyond what was measured"),
    ):
        axes.fill_between(sizes[part], low[part], high[part], color=MEASURED, alpha=0.2 * strength, linewidth=0,
            label=None if said else "90 % interval, predicted",
        )  # fmt: skip
        axes.plot(
            sizes[part], [each.seconds for each in at[part]], color=MEASURED, alpha=strength, label=f"predicted{said}"
        )
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
    ends = list(dict.fromkeys(f"{choose(shares):.0%}" for choose in (min, max))) if shares else []
    return f"measured, with {' to '.join(ends)} of that redo" if ends else "measured"


def _of_worst(one: Observation, model: Model) -> float:
    """The redo of a crash, as a share of the most that its log can leave."""
    return one.crash.redo / worst_age(model, one.log_size)


@dataclass(frozen=True, slots=True)
class PoolPanel:
    """Recoveries of one crash of a server with many pools, and what was learnt of the server."""

    label: str
    fitted: Fitted
    recoveries: Sequence[Observation]


def plot_pools(folder: Path, panels: Sequence[PoolPanel]) -> None:
    """Scan, apply and both together over the buffer pool, measured and by the model, a panel each server: `pools.svg`, `.png`."""
    columns = min(len(panels), 2)
    lines = math.ceil(len(panels) / columns)
    figure, grid = plt.subplots(lines, columns, squeeze=False, figsize=(WIDTH, 1.2 + 2.6 * lines), layout="constrained")
    for axes, panel in zip(grid.flat, panels, strict=False):
        _pools_panel(axes, panel)
    for unused in grid.flat[len(panels) :]:
        unused.remove()
    for axes in grid[-1]:
        axes.set_xlabel("buffer pool, GiB")
    figure.supylabel("seconds", fontsize="medium")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize="small", frameon=False)
    head(figure, _pools_in_words(panels), "")
    for axes, panel in zip(grid.flat, panels, strict=False):
        axes.set_title(panel.label, fontsize="small", loc="left", color=MODEL)
    save(figure, folder / "pools")


_CURVES = (
    ("scan + apply", (Part.SCAN, Part.APPLY), "black", "s", "-", 1.8),
    ("scan", (Part.SCAN,), MEASURED, "o", "--", 1.1),
    ("apply", (Part.APPLY,), LIMIT, "^", ":", 1.5),
)
"""Name, parts, colour, marker of what is measured, line of the model and its width."""


def _pools_panel(axes: Axes, panel: PoolPanel) -> None:
    first = panel.recoveries[0]
    pools = sorted({each.pool for each in panel.recoveries})
    between = [pools[0] + (pools[-1] - pools[0]) * step / 100 for step in range(101)]
    expected = [panel.fitted.parts(first.crash, pool, first.disk) for pool in between]
    for name, parts, colour, marker, style, width in _CURVES:
        points = [(each.pool / GIB, seconds) for each in panel.recoveries if (seconds := _seconds_of(each, parts))]
        axes.plot(
            *zip(*points, strict=True),
            linestyle="",
            color=colour,
            marker=marker,
            markersize=4,
            label=f"{name}, measured",
        )
        axes.plot(
            [pool / GIB for pool in between], [sum(each[part] for part in parts) for each in expected], color=colour,
            linestyle=style, linewidth=width, label=f"{name}, model",
        )  # fmt: skip
    needed = panel.fitted.memory.needed(first.crash) / GIB
    axes.axvline(needed, color=MODEL, linewidth=1)
    axes.annotate(
        "all redo fits", (needed, 0), xytext=(-3, 3), textcoords="offset points", ha="right", fontsize="x-small", color=MODEL
    )  # fmt: skip
    axes.set_ylim(bottom=0)


def _seconds_of(recovery: Observation, parts: Sequence[Part]) -> float | None:
    """The measured seconds of these parts; None where the log does not tell one of them apart."""
    known = [recovery.stretches.get(frozenset({part})) for part in parts]
    return None if any(each is None for each in known) else sum(each or 0.0 for each in known)


def _pools_in_words(panels: Sequence[PoolPanel]) -> str:
    """As in `With 12 times the buffer pool scan and apply together take 0.8 to 1.1 times as long`."""
    ratios, larger = [], []
    for panel in panels:
        sums = {each.pool: seconds for each in panel.recoveries if (seconds := _seconds_of(each, _CURVES[0][1]))}
        least, most = min(sums), max(sums)
        ratios.append(sums[most] / sums[least])
        larger.append(most / least)
    times = f"{min(ratios):.1f} to {max(ratios):.1f}"
    return (
        f"A larger pool scans longer and applies sooner: together they take {times} times as long with "
        f"{max(larger):.0f} times the pool"
    )


def plot_errors(folder: Path, judged: Sequence[HeldOutPrediction]) -> None:
    """How far held-out predictions were off, a panel each kind of what was held out: `errors.svg`, `.png`."""
    kinds = [kind for kind in HeldOut if any(each.held_out is kind for each in judged)]
    columns = min(len(kinds), 2)
    lines = math.ceil(len(kinds) / columns)
    figure, panels = plt.subplots(
        lines,
        columns,
        sharex=True,
        sharey=True,
        squeeze=False,
        figsize=(WIDTH, 1.3 + 1.25 * lines),
        layout="constrained",
    )
    of_kinds = {kind: [each for each in judged if each.held_out is kind] for kind in kinds}
    ratios = {kind: [1 + each.relative for each in own] for kind, own in of_kinds.items()}
    units = {kind: [counts_once(each) for each in own] for kind, own in of_kinds.items()}
    for axes, kind in zip(panels.flat, kinds, strict=False):
        _errors_panel(axes, ratios[kind], units[kind])
    for unused in panels.flat[len(kinds) :]:
        unused.remove()
    first = panels[0][0]
    first.set_xscale("log")
    shown = [tick for tick in _RATIOS if any(_near(each, tick) for own in ratios.values() for each in own)]
    first.set_xticks(shown, [f"{tick:g} ×" for tick in shown])
    first.minorticks_off()
    first.set_xlim(0.85 * min(map(min, ratios.values())), 1.15 * max(map(max, ratios.values())))
    first.yaxis.set_major_formatter("{x:.0%}")
    figure.supxlabel(f"predicted / measured time to ready; grey: within {100 * (_CLOSE - 1):.0f} %", fontsize="medium")
    figure.supylabel("share of the crashes, servers or machines", fontsize="medium")
    off = {kind: weighted_median([abs(each - 1) for each in ratios[kind]], units[kind]) for kind in kinds}
    least, most = min(off, key=lambda kind: off[kind]), max(off, key=lambda kind: off[kind])
    head(
        figure,
        f"Half of the predictions were off by at most {100 * off[least]:.0f} % for {least}, {100 * off[most]:.0f} % for {most}",
        "",
    )
    for axes, kind in zip(panels.flat, kinds, strict=False):
        title = f"{str(kind)[0].upper()}{str(kind)[1:]}: {off[kind]:.0%} (median)"
        axes.set_title(title, fontsize="small", loc="left", fontweight="bold")
    save(figure, folder / "errors")


_CLOSE = 1.15
_BINS_OF_A_DOUBLING = 5


def _errors_panel(axes: Axes, ratios: Sequence[float], units: Sequence[str]) -> None:
    least, most = (round(_BINS_OF_A_DOUBLING * math.log2(end)) for end in (min(ratios), max(ratios)))
    edges = [2 ** ((step - 0.5) / _BINS_OF_A_DOUBLING) for step in range(least, most + 2)]
    axes.axvspan(1 / _CLOSE, _CLOSE, color="#DDDDDD", zorder=0)
    axes.hist(
        ratios, bins=edges, weights=[each / len(set(units)) for each in weights(units)], color=MEASURED, rwidth=0.9
    )
    axes.axvline(1, color="black", linewidth=1)


def _near(ratio: float, tick: float) -> bool:
    """Within the range of that tick, or on the way to it."""
    return min(ratio, 1) / 1.3 <= tick <= max(ratio, 1) * 1.3


def _tick(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else format_duration(seconds).replace(" 0 s", "").replace(" 00 min", "")
