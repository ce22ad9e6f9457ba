"""Plots of the inflation experiment, as SVG and PNG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from redolab.models.inflation import Counted, Lengths, LogWriter, bytes_per_lsn_byte
from redolab.report.labels import server_label
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt, save, wrapped

from .table import CountedServer, InflationRow

_COLUMNS = 2
_POINTS = 200
_LETTERS = 52
"""Of a panel's title in a line."""
_TICKS = {100: "100", 1_000: "1,000", 10_000: "10,000", 100_000: "100,000", 1_000_000: "1,000,000"}
NEAR = 0.05
"""Up to here the model is called near."""
_LAYERS = (("os_log_written", MEASURED), ("written to the device", "#BBBBBB"))


def plot_ratio(folder: Path, found: Sequence[CountedServer]) -> None:
    """os_log_written per LSN byte against r, a panel for the servers that write and count alike: `ratio.svg`, `.png`."""
    groups = _alike(found)
    columns = min(_COLUMNS, len(groups))
    lines = math.ceil(len(groups) / columns)
    figure, panels = plt.subplots(
        lines, columns, figsize=(WIDTH, 1.2 + 2.5 * lines), sharex=True, sharey=True, layout="constrained", squeeze=False
    )  # fmt: skip
    every_r = [row.lsn_per_log_write_bytes for of_server in found for row in of_server.rows]
    for panel, group in zip(panels.flat, groups, strict=False):
        _ratio_panel(panel, group, min(every_r) * 0.8, max(every_r) * 1.25)
    for panel in panels.flat[len(groups) :]:
        panel.set_visible(False)
    for panel in panels[-1]:
        panel.set_xlabel("redo of a log write, bytes of LSN")
    figure.supylabel("os_log_written, bytes for each byte of LSN", fontsize="medium")
    handles = {
        label: handle for panel in panels.flat for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize="small", frameon=False
    )
    head(figure, _ratio_in_words(found), "")
    for panel, group in zip(panels.flat, groups, strict=False):
        panel.set_title(_group_name(group), fontsize="small", loc="left", color=MODEL)
    save(figure, folder / "ratio")


def _alike(found: Sequence[CountedServer]) -> list[list[CountedServer]]:
    """The servers that write their log and count it in the same way, what counts the most bytes first."""
    groups: dict[tuple[LogWriter, Counted | None], list[CountedServer]] = {}
    for each in found:
        groups.setdefault((each.writer, each.counted), []).append(each)
    return sorted(groups.values(), key=lambda group: -_most(group))


def _most(group: Sequence[CountedServer]) -> float:
    return max(row.os_log_written_per_lsn_byte for of_server in group for row in of_server.rows)


def _group_name(group: Sequence[CountedServer]) -> str:
    """As in `MySQL 5.5.9, MySQL 5.6.24: counts blocks`."""
    meaning = {Counted.LSN: "the LSN", None: "what is not known"}.get(group[0].counted, str(group[0].counted))
    servers = ", ".join(server_label(each.server, each.rows[0].version) for each in group)
    return "\n".join(wrapped(f"{servers}: counts {meaning}", _LETTERS))


def _ratio_in_words(found: Sequence[CountedServer]) -> str:
    """As in `os_log_written counts up to 6.7 bytes for each byte of redo where log writes are short; the model …`."""
    said = f"os_log_written counts up to {_most(found):.1f} bytes for each byte of redo where log writes are short"
    off = [abs(row.off) for of_server in found for row in of_server.rows if row.off is not None]
    return said + (
        f"; the model is within {100 * NEAR:.0f} % in {sum(each <= NEAR for each in off)} of {len(off)} cells"
        if off
        else ""
    )


def _ratio_panel(panel: Axes, group: Sequence[CountedServer], least: float, most: float) -> None:
    first = group[0]
    if first.counted is not None:
        lengths = {Lengths.EQUAL: ("-", "model, one client"), Lengths.RANDOM: ("--", "model, several clients")}
        at = [least * (most / least) ** (step / _POINTS) for step in range(_POINTS + 1)]
        for spread, (style, label) in lengths.items():
            curve = [bytes_per_lsn_byte(first.writer, first.counted, r, spread) for r in at]
            panel.plot(at, curve, color=MODEL, linestyle=style, linewidth=1, label=label, zorder=1)
    for one_client, marker, label in ((True, "o", "measured, one client"), (False, "^", "measured, several clients")):
        rows = [row for of_server in group for row in of_server.rows if (row.threads == 1) == one_client]
        panel.plot(
            [row.lsn_per_log_write_bytes for row in rows],
            [row.os_log_written_per_lsn_byte for row in rows],
            linestyle="", marker=marker, markersize=5, color=MEASURED, markerfacecolor="white", label=label, zorder=2,
        )  # fmt: skip
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_yticks([1, 2, 3, 5, 7], ["1", "2", "3", "5", "7"])
    panel.set_xticks(list(_TICKS), list(_TICKS.values()))
    panel.minorticks_off()
    panel.set_xlim(least, most)
    panel.set_ylim(0.93, 8)
    panel.grid(visible=True, color="#DDDDDD", linewidth=0.5)
    panel.set_axisbelow(True)


def plot_layers(folder: Path, found: Sequence[CountedServer]) -> None:
    """What the counter says and what the device gets in the first cell of each server: `layers.svg`, `.png`."""
    rows = [of_server.rows[0] for of_server in found]
    figure, axes = plt.subplots(figsize=(WIDTH, 1.9 + 0.52 * len(rows)), layout="constrained")
    height = 0.38
    for place, row in enumerate(rows):
        for number, ((name, colour), value) in enumerate(zip(_LAYERS, _layers(row), strict=True)):
            at = place + height * (number - 0.5)
            axes.barh(at, value or 0, height=height, color=colour, label=name if place == 0 else None)
            axes.annotate(
                "not counted" if value is None else f"{value:.2f}", (value or 0, at),
                xytext=(4, 0), textcoords="offset points", va="center", fontsize="small",
            )  # fmt: skip
    axes.axvline(1, color=LIMIT, linewidth=1, label="LSN")
    axes.set_yticks(range(len(rows)), [server_label(row.server, row.version) for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(right=1.1 * max(value or 0 for row in rows for value in _layers(row)))
    axes.set_xlabel("bytes for each byte of LSN")
    first = rows[0]
    head(
        figure,
        _finding(rows),
        f"innodb_flush_log_at_trx_commit={first.flush_log_at_trx_commit}, {first.threads} client{'s' * (first.threads > 1)}, "
        f"rows of {first.row_bytes} bytes, {first.rows_per_transaction} in a transaction",
    )
    figure.legend(loc="outside lower center", ncols=len(_LAYERS) + 1, fontsize="small", frameon=False)
    save(figure, folder / "layers")


def _finding(rows: Sequence[InflationRow]) -> str:
    """What the picture of the layers shows."""
    ratios = [row.os_log_written_per_lsn_byte for row in rows]
    devices = [row.device_per_lsn_byte for row in rows if row.device_per_lsn_byte is not None]
    said = f"os_log_written counts {min(ratios):.2f} to {max(ratios):.2f} bytes for each byte of redo"
    return f"{said}; the device writes {min(devices):.1f} to {max(devices):.1f}" if devices else said


def _layers(row: InflationRow) -> list[float | None]:
    return [row.os_log_written_per_lsn_byte, row.device_per_lsn_byte]
