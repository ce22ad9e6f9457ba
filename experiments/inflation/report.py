"""Report of an inflation run: what each server's `Innodb_os_log_written` counts, and the model's error."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.figure import Figure

from redolab.counters.counted import CounterGrowth, what_is_counted
from redolab.grouping import by_key
from redolab.report.contents import Plot, Report
from redolab.report.intervals import median_of_known
from redolab.report.labels import server_label
from redolab.report.numbers import number, percent, span
from redolab.report.plots import LIMIT, MEASURED, MODEL, WIDTH, head, plt
from redolab.report.quantities import quantities_of
from redolab.report.table import Column
from redolab.runs.default_report import Configuration, configurations, configurations_table
from redolab.runs.store import Run
from redolab.servers.log_writer import Counted, Lengths, LogWriter, bytes_per_lsn_byte
from redolab.units import noun

from .experiment import Inflation, InflationTrial, Inserts

_POINTS = 200
_TICKS = {100: "100", 1_000: "1,000", 10_000: "10,000", 100_000: "100,000", 1_000_000: "1,000,000"}
_MEANINGS = {
    Counted.LSN: "the LSN under another name: true as the redo that you generate, blind to the rewriting of blocks",
    Counted.BLOCKS: "blocks of 512 bytes, each rewriting included",
    Counted.BLOCKS_AND_PADDING: "blocks of 512 bytes, each rewriting included, and the zeros that fill up what is written ahead",
    None: "unknown, as no configuration of this run rewrites blocks",
}


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    """Medians of one configuration, and the model's prediction. Ratios are bytes for each byte of LSN."""

    configuration: Configuration
    ratio: float
    """os_log_written, median."""
    r: float
    """Bytes of LSN in a write of the log, median."""
    device: float | None
    """Bytes that the device was sent, median; None where it was not counted."""
    model: float | None
    """Model's os_log_written, median; None if the meaning of the counter is unknown."""

    @property
    def step(self) -> Inserts:
        """Inserts of this configuration."""
        step: Inserts = self.configuration.results[0].step
        return step

    @property
    def error(self) -> float | None:
        """Share of the measured ratio by which the model's differs."""
        return None if self.model is None else self.model / self.ratio - 1


@dataclass(frozen=True, slots=True)
class CounterEvidence:
    """Evidence of one server's trials on its counter; the first configuration has the first value of every factor."""

    label: str
    writer: LogWriter
    counted: Counted | None
    cells: Sequence[MeasuredCell]

    @property
    def ratios(self) -> Sequence[float]:
        """Ratio of os_log_written to the LSN, for every configuration."""
        return [each.ratio for each in self.cells]

    @property
    def why_blank(self) -> Sequence[str]:
        """Return each layer that was not counted, with the reason."""
        trials = [trial for cell in self.cells for trial in cell.configuration.trials]
        reasons = {layer: why for each in trials for layer, why in each.why_blank.items()}
        return [f"{layer}: {why}" for layer, why in reasons.items()]


def counter_evidence(run: Run) -> list[CounterEvidence]:
    """Return the evidence of a run on each server, in the order of its plan. Raises `LabError` if it cannot be read."""
    by_server = by_key(configurations(Inflation, run), lambda each: each.results[0].group.server)
    return [_evidence_of(name, each) for name, each in by_server.items()]


def _evidence_of(name: str, found: Sequence[Configuration]) -> CounterEvidence:
    first: InflationTrial = found[0].results[0].trial
    growths = [
        CounterGrowth(each.trial.lsn_per_log_write, each.step.lengths, each.trial.ratio)
        for configuration in found
        for each in configuration.results
    ]
    counted = what_is_counted(first.log_writer, growths)
    label = server_label(name, first.version)
    return CounterEvidence(label, first.log_writer, counted, [_measured_cell(each, counted) for each in found])


def _measured_cell(configuration: Configuration, counted: Counted | None) -> MeasuredCell:
    ratio, r = (statistics.median(configuration.values(name)) for name in ("ratio", "lsn_per_log_write"))
    device = median_of_known(configuration.values("device_ratio"))
    if counted is None:
        return MeasuredCell(configuration, ratio, r, device, None)
    model = statistics.median(
        bytes_per_lsn_byte(each.trial.log_writer, counted, each.trial.lsn_per_log_write, each.step.lengths)
        for each in configuration.results
    )
    return MeasuredCell(configuration, ratio, r, device, model)


def report(run: Run) -> Report:
    """Return answer, table and plots of a run."""
    servers = counter_evidence(run)
    cells = {id(each.configuration): each for server in servers for each in server.cells}
    model = [
        Column[Configuration]("model", lambda row: number(cells[id(row)].model), right=True),
        Column[Configuration]("error", lambda row: percent(cells[id(row)].error), right=True),
    ]
    notes = [
        "Bytes for each byte of LSN, in the same stretch of inserts. r: bytes of LSN in a write of the log. model: the formula of "
        "docs/inflation.md for r, and its error.",
        *(f"{each.label} counts {_MEANINGS[each.counted]}." for each in servers),
        *dict.fromkeys(f"Blank: {why}." for each in servers for why in each.why_blank),
    ]
    table = configurations_table(
        "Redo log writes", [cell.configuration for cell in cells.values()], quantities_of(InflationTrial), notes, model
    )
    return Report(
        answer=answer(servers),
        tables=[table],
        plots=[
            Plot("ratio", partial(plot_ratio, servers=servers)),
            Plot("layers", partial(plot_layers, servers=servers)),
        ],
    )


def answer(servers: Sequence[CounterEvidence]) -> str:
    """Return the ratio of os_log_written to the LSN in the first configuration of each server, as a sentence."""
    if not servers:
        return "Nothing was measured."
    first = servers[0].cells[0].step
    clients = noun(first.threads, "client")
    ratios = span([each.ratios[0] for each in servers])
    return f"Innodb_os_log_written counts {ratios} bytes for each byte of LSN ({clients}, rows of {first.row_bytes} bytes)."


def plot_ratio(servers: Sequence[CounterEvidence]) -> Figure:
    """Plot os_log_written for each byte of LSN against r, a panel for servers that write and count alike."""
    panels = by_key(servers, lambda each: (each.writer, each.counted))
    figure, axes = plt.subplots(
        len(panels), 1, figsize=(WIDTH, 1.2 + 2.2 * len(panels)), sharex=True, layout="constrained", squeeze=False
    )
    every_r = [cell.r for each in servers for cell in each.cells]
    least, most = 0.8 * min(every_r), 1.25 * max(every_r)
    curve_at = [least * (most / least) ** (step / _POINTS) for step in range(_POINTS + 1)]
    for panel, ((writer, counted), own) in zip(axes.flat, panels.items(), strict=True):
        for lengths, style, label in ((Lengths.EQUAL, "-", "model, one client"), (Lengths.RANDOM, "--", "several")):
            if counted is not None:
                curve = [bytes_per_lsn_byte(writer, counted, r, lengths) for r in curve_at]
                panel.plot(curve_at, curve, color=MODEL, linestyle=style, linewidth=1, label=label)
        for one, marker, label in ((True, "o", "measured, one client"), (False, "^", "several")):
            cells = [cell for each in own for cell in each.cells if (cell.step.threads == 1) == one]
            xs, ys = [cell.r for cell in cells], [cell.ratio for cell in cells]
            panel.plot(xs, ys, marker, markersize=5, color=MEASURED, markerfacecolor="white", label=label)
        panel.set(xscale="log", yscale="log", xlim=(least, most), ylim=(0.93, 8))
        panel.set_yticks([1, 2, 3, 5, 7], ["1", "2", "3", "5", "7"])
        panel.set_xticks(list(_TICKS), list(_TICKS.values()))
        panel.minorticks_off()
        panel.grid(visible=True, color="#DDDDDD", linewidth=0.5)
    figure.supxlabel("r: redo of a log write, bytes of LSN", fontsize="medium")
    figure.supylabel("os_log_written, bytes for each byte of LSN", fontsize="medium")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small", frameon=False
    )
    most_counted = number(max(ratio for each in servers for ratio in each.ratios), 1)
    head(
        figure, f"os_log_written counts up to {most_counted} bytes for each byte of redo where log writes are short", ""
    )
    for panel, own in zip(axes.flat, panels.values(), strict=True):
        panel.set_title(", ".join(each.label for each in own), fontsize="small", loc="left", color=MODEL)
    return figure


def plot_layers(servers: Sequence[CounterEvidence]) -> Figure:
    """Plot os_log_written and the bytes sent to the device, in the first configuration of each server."""
    first = [each.cells[0] for each in servers]
    figure, axes = plt.subplots(figsize=(WIDTH, 1.9 + 0.52 * len(servers)), layout="constrained")
    for values, label, colour, shift in (
        ([each.ratio for each in first], "os_log_written", MEASURED, -0.19),
        ([each.device for each in first], "written to the device", "#BBBBBB", 0.19),
    ):
        bars = axes.barh(
            [place + shift for place in range(len(first))],
            [each or 0 for each in values],
            height=0.38,
            color=colour,
            label=label,
        )
        axes.bar_label(
            bars, ["not counted" if each is None else number(each) for each in values], padding=4, fontsize="small"
        )
    axes.axvline(1, color=LIMIT, linewidth=1, label="LSN")
    axes.set_yticks(range(len(servers)), [each.label for each in servers])
    axes.set_ylim(len(servers) - 0.4, -0.6)
    axes.margins(x=0.1)
    axes.set_xlabel("bytes for each byte of LSN")
    figure.legend(loc="outside lower center", ncols=3, fontsize="small", frameon=False)
    factors = first[0].configuration.factors
    shared = ", ".join(f"{name} {value}" for name, value in factors.items() if name != "server")
    head(figure, answer(servers).partition(" (")[0], shared)
    return figure
