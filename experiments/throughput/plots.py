"""Plots of the throughput experiment, as SVG and PNG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save, wrapped
from redolab.results.load_figures import age_shares, per_second
from redolab.results.loads import Load
from redolab.units import format_duration, format_size

from .answer import in_rate, is_shown, panel_name
from .rows import ThroughputSeries

_SCALE, _LIGHTEST = "viridis_r", 0.2
"""Colour scale of the logs, and its lightest colour that is seen on white. A larger log is darker, in grey too."""
_STYLES = ("-", "--", "-.", ":")
_SMOOTHED = 30
"""Seconds over which throughput is averaged."""
_LETTERS = 27
"""Characters of a panel's name in a line, for panels side by side."""
_ROOM = 1.2
_MARGIN = 3.0
_WHOLE = 10
"""Seconds from which on a figure has no fraction."""
_ON_WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
"""Background of a figure that a line would cross out."""


def plot_trade(path: Path, series: Sequence[ThroughputSeries], rto: float, title: str) -> None:
    """Plot throughput above recovery over the log's size, a column a series, with the RTO: `path` with `.svg` and
    `.png`.

    Throughput is relative to the series' smallest log, so that all series have one scale.
    """
    figure, panels = plt.subplots(
        2, len(series), figsize=(max(WIDTH, 2.6 * len(series)), 5.8), sharex="col", sharey="row",
        layout="constrained", squeeze=False,
    )  # fmt: skip
    for column, each in enumerate(series):
        _throughput_panel(panels[0][column], each)
        _recovery_panel(panels[1][column], each, rto)
    top = max((_relative(each, row.rate.mean) for each in series for row in each.rows), default=1.0)
    panels[0][0].set_ylim(0, top * _ROOM)
    panels[0][0].yaxis.set_major_formatter("{x:.0%}")
    slowest = [
        value for each in series for row in each.rows for value in (row.ready, row.filled_ready) if value is not None
    ]
    # A line far above everything would press the measurements flat.
    if slowest:
        highest = max(*slowest, min(rto, 4 * max(slowest)))
        # Below 0 there is room for the figures of recoveries that take no time.
        panels[1][0].set_ylim(-0.12 * highest, highest * _ROOM)
    panels[0][0].set_ylabel("throughput,\nsmallest log = 100%")
    panels[1][0].set_ylabel("seconds to ready")
    for panel in panels[1]:
        panel.set_xlabel("redo log size")
    head(figure, title, "")
    for panel, each in zip(panels[0], series, strict=True):
        name = "\n".join(wrapped(panel_name(each, series), _LETTERS if len(series) > 1 else 2 * _LETTERS))
        panel.set_title(name, fontsize="small", loc="left", color=MODEL)
    handles = {
        label: handle for panel in panels.flat for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=2, fontsize="small", frameon=False
    )
    save(figure, path)


def _relative(one: ThroughputSeries, rate: float) -> float:
    """Return a rate relative to the series' smallest log; 0 if that had no throughput."""
    base = one.rows[0].rate.mean
    return rate / base if base else 0.0


def _throughput_panel(panel: Axes, one: ThroughputSeries) -> None:
    # The interval within one load would look like the one between loads.
    known = one.repeated and not any(math.isnan(row.rate.high) for row in one.rows)
    # A line between points would compare them, and suggest a gain.
    for rows, style, filled, label in (
        (
            [row for row in one.rows if row.log_size not in one.apart], "-", MEASURED,
            "throughput; 95 % interval where loads were repeated",
        ),
        (
            [row for row in one.rows if row.log_size in one.apart], "none", "white",
            "measured in other minutes of the load: no gain claimed",
        ),
    ):  # fmt: skip
        if rows:
            half = [[_relative(one, (row.rate.high - row.rate.low) / 2) for row in rows]] * 2 if known else None
            panel.errorbar(
                [row.log_size for row in rows], [_relative(one, row.rate.mean) for row in rows], yerr=half, marker="o",
                color=MEASURED, markerfacecolor=filled, linestyle=style, capsize=3, label=label,
            )  # fmt: skip
    first = one.rows[0]
    panel.annotate(
        in_rate(first), (first.log_size, 1.0), xytext=(-6, -18), textcoords="offset points", ha="left", fontsize="small",
        color=MEASURED,
    )  # fmt: skip
    for row in one.rows:
        gain = one.gains.get(row.log_size)
        if gain is not None and is_shown(gain):
            above = row.rate.high if known else row.rate.mean
            panel.annotate(
                f"{gain.change:+.0%}", (row.log_size, _relative(one, above)), xytext=(0, 7), textcoords="offset points",
                ha="center", fontsize="small", bbox=_ON_WHITE,
            )  # fmt: skip
    _sizes(panel, [row.log_size for row in one.rows])


def _recovery_panel(panel: Axes, one: ThroughputSeries, rto: float) -> None:
    sizes = [row.log_size for row in one.rows]
    # A filled log takes at least as long: its figures are on the other side of the points.
    lines = (
        ("filled_ready", "recovery with the log filled up", "s", "--", "#777777", (-9, 5, "right")),
        ("ready", "recovery after this load", "o", "-", MEASURED, (9, -11, "left")),
    )
    for name, label, marker, style, colour, (right, up, side) in lines:
        points = [(row.log_size, value) for row in one.rows if (value := getattr(row, name)) is not None]
        if not points:
            continue
        panel.plot(*zip(*points, strict=True), marker=marker, linestyle=style, color=colour, label=label)
        for size, seconds in points:
            panel.annotate(
                f"{seconds:.0f} s" if seconds >= _WHOLE else f"{seconds:.1f} s", (size, seconds), xytext=(right, up),
                textcoords="offset points", ha=side, fontsize="small", color=colour,
                bbox=_ON_WHITE,
            )  # fmt: skip
    panel.axhline(rto, color=LIMIT, linewidth=1, label=f"RTO {format_duration(rto)}")
    _sizes(panel, sizes)


def _sizes(panel: Axes, sizes: Sequence[int]) -> None:
    panel.set_xscale("log", base=2)
    panel.set_xticks(sizes, [format_size(size) for size in sizes])
    panel.minorticks_off()
    panel.grid(visible=True, axis="y", color="#DDDDDD", linewidth=0.5)
    panel.set_axisbelow(True)
    if len(sizes) > 1:
        panel.set_xlim(min(sizes) / _MARGIN, max(sizes) * _MARGIN)


def plot_ages(path: Path, series: Sequence[ThroughputSeries], title: str) -> None:
    """Plot checkpoint ages as shares of the hard limit over each load's time, with the flush points: `path` with
    `.svg`, `.png`.
    """
    figure, panels = plt.subplots(
        len(series), 1, figsize=(WIDTH, 1.2 + 2.3 * len(series)), layout="constrained", squeeze=False
    )
    looks = _looks(series)
    for panel, each in zip(panels.flat, series, strict=True):
        for load in each.loads:
            points = age_shares(load.samples, load.image.capacity)
            if not points:
                continue
            began = points[0][0]
            size = load.image.spec.instance.log_size
            panel.plot(
                [(at - began) / 60 for at, _ in points], [share for _, share in points], linewidth=1.2,
                color=looks[size][0], label=format_size(size),
            )  # fmt: skip
        _flush_points(panel, each.loads)
        panel.set_ylim(0, 1.05)
        panel.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
        panel.set_xlim(left=0)
        panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small", frameon=False, title="redo log")
    figure.supylabel("checkpoint age / hard limit", fontsize="medium")
    panels[-1][0].set_xlabel("minutes under load")
    head(figure, title, "")
    for panel, each in zip(panels.flat, series, strict=True):
        panel.set_title(panel_name(each, series), fontsize="small", loc="left", color=MODEL)
    save(figure, path)


def _flush_points(panel: Axes, loads: Sequence[Load]) -> None:
    if not loads:
        return
    image = loads[-1].image
    for age, name in ((image.capacity.async_flush_point, "async"), (image.sync_flush_point, "sync")):
        panel.axhline(age / image.hard_limit, color=LIMIT, linestyle="--", linewidth=0.8)
        panel.annotate(
            f"{name} flush point", (0.995, age / image.hard_limit), xycoords=("axes fraction", "data"), ha="right",
            va="bottom", fontsize="x-small", color=LIMIT,
        )  # fmt: skip


def plot_over_time(path: Path, series: Sequence[ThroughputSeries], title: str) -> None:
    """Plot throughput from the start of each load: `path` with `.svg` and `.png`."""
    figure, panels = plt.subplots(
        len(series), 1, figsize=(WIDTH, 1.2 + 1.9 * len(series)), layout="constrained", squeeze=False, sharex=True
    )
    looks = _looks(series)
    for panel, each in zip(panels.flat, series, strict=True):
        for load in each.loads:
            seconds = per_second(load.moments)
            # Leave out an incomplete last interval: a mean of few seconds would be a spike.
            chunks = [seconds[at : at + _SMOOTHED] for at in range(0, len(seconds) - _SMOOTHED + 1, _SMOOTHED)]
            if not chunks:
                continue
            began = seconds[0].end
            size = load.image.spec.instance.log_size
            colour, style = looks[size]
            panel.plot(
                [(chunk[0].end - began) / 60 for chunk in chunks],
                [
                    60 * sum(second.new_orders or 0.0 for second in chunk) / len(chunk)
                    if chunk[0].new_orders is not None
                    else sum(second.commits for second in chunk) / len(chunk)
                    for chunk in chunks
                ],
                linewidth=1.6, color=colour, linestyle=style, label=format_size(size),
            )  # fmt: skip
        panel.set_ylim(bottom=0)
        panel.yaxis.set_major_formatter("{x:,.0f}")
        panel.set_xlim(left=0)
        panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small", frameon=False, title="redo log")
    figure.supylabel(f"{_unit(series)}, means of {_SMOOTHED} s", fontsize="medium")
    panels[-1][0].set_xlabel("minutes under load")
    head(figure, title, "")
    for panel, each in zip(panels.flat, series, strict=True):
        panel.set_title(panel_name(each, series), fontsize="small", loc="left", color=MODEL)
    save(figure, path)


def _looks(series: Sequence[ThroughputSeries]) -> Mapping[int, tuple[str, str]]:
    """Return log size → its colour and line style, the same in every panel."""
    sizes = sorted({row.log_size for each in series for row in each.rows})
    scale = plt.get_cmap(_SCALE)
    shades = [_LIGHTEST + (1 - _LIGHTEST) * place / max(1, len(sizes) - 1) for place in range(len(sizes))]
    return {
        size: (to_hex(scale(shade)), _STYLES[-1 - place % len(_STYLES)] if len(sizes) <= len(_STYLES) else "-")
        for place, (size, shade) in enumerate(zip(sizes, shades, strict=True))
    }


def _unit(series: Sequence[ThroughputSeries]) -> str:
    units = {"NOTPM" if row.is_notpm else "commits/s" for each in series for row in each.rows}
    return " or ".join(sorted(units))
