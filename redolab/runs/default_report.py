"""Default report of an experiment: every configuration with median, interval and n, and one plot."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from redolab.errors import LabError
from redolab.grouping import by_key
from redolab.report.contents import Plot, Report
from redolab.report.intervals import RelativeChange
from redolab.report.labels import server_label
from redolab.report.numbers import NONE, interval_of_median, median_with_interval, number, span
from redolab.report.quantities import Quantity, quantities_of
from redolab.report.table import SCREEN, Column, ReportTable
from redolab.runs.factors import read_factors
from redolab.runs.store import Run
from redolab.runs.trial_results import Result
from redolab.units import noun

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from redolab.runs.experiment import Experiment

_NOTE = "Medians, in brackets their 95 % interval; of fewer than six trials the least and the greatest."


@dataclass(frozen=True, slots=True)
class Configuration:
    """The trials of one group and step on one machine."""

    factors: Mapping[str, str]
    """Heading → value, for the factors that distinguish configurations."""
    results: Sequence[Result[Any, Any, Any]]
    change: RelativeChange | None = None
    """Difference from its baseline, as `redolab.runs.baseline` finds it."""

    @property
    def trials(self) -> list[Any]:
        """Trials of the results."""
        return [each.trial for each in self.results]

    def values(self, name: str) -> list[float]:
        """Return the trials' values of a quantity in the table's unit; trials without one are left out."""
        scale = quantities_of(type(self.results[0].trial))[name].scale
        return [scale * value for each in self.results if (value := getattr(each.trial, name)) is not None]

    def split(
        self, heading: str, parts: Callable[[Any], Sequence[Any]], name: Callable[[Any], str]
    ) -> list[Configuration]:
        """Return a configuration for each name of its trials' parts, with that name under `heading`."""
        named: dict[str, list[Result[Any, Any, Any]]] = {}
        for each in self.results:
            for part in parts(each.trial):
                named.setdefault(name(part), []).append(replace(each, trial=part))
        return [Configuration({**self.factors, heading: each}, results) for each, results in named.items()]


def configurations(experiment: type[Experiment[Any, Any, Any, Any, Any]], *runs: Run) -> list[Configuration]:
    """Return the configurations of runs in the order in which they were requested. Raises `LabError`."""
    results = experiment.results(*runs)
    by_cell = by_key(results, lambda each: (each.machine, getattr(each.trial, "version", ""), each.group, each.step))
    requested = [cell for run in runs for cell in _requested(experiment, run)]
    ranks = {cell: rank for rank, cell in enumerate(dict.fromkeys(requested))}
    several = len({each.machine for each in results}) > 1
    made = []
    for machine, version, group, step in sorted(by_cell, key=lambda each: ranks.get(each[2:], len(ranks))):
        factors = {name.replace("_", " "): value for part in (group, step) for name, value in part.described().items()}
        if version and "server" in factors:
            factors["server"] = server_label(factors["server"], version)
        where = {"machine": machine} if several else {}
        made.append(Configuration({**where, **factors}, by_cell[machine, version, group, step]))
    return made


def _requested(experiment: type[Experiment[Any, Any, Any, Any, Any]], run: Run) -> list[tuple[Any, Any]]:
    """Return the groups and steps of a run's options; none if this lab refuses them today."""
    try:
        cells = experiment.cells(read_factors(experiment.factors_type, run.record().options))
    except LabError:
        return []
    return [(group, step) for group, steps in cells.items() for step in steps]


def default_report(experiment: type[Experiment[Any, Any, Any, Any, Any]], run: Run) -> Report:
    """Return the report of a run. Raises `LabError` if it cannot be read."""
    measured = configurations(experiment, run)
    quantities = quantities_of(experiment.trial_type)
    name, first = next(iter(quantities.items()))
    return Report(
        answer=answer(measured, name, first),
        tables=[configurations_table(experiment.step_noun.several.capitalize(), measured, quantities)],
        plots=[Plot(name, partial(plot_quantity, measured=measured, name=name, quantity=first))] if measured else [],
    )


def answer(measured: Sequence[Configuration], name: str, quantity: Quantity) -> str:
    """Return the least and the greatest median of a quantity, as a sentence."""
    medians = [statistics.median(values) for each in measured if (values := each.values(name))]
    if not medians:
        return "Nothing was measured."
    unit = f" {quantity.unit}" if quantity.unit else ""
    title = f"{quantity.title[0].upper()}{quantity.title[1:]}"
    return f"{title}: {span(medians, quantity.places)}{unit} (medians of {noun(len(medians), 'configuration')})."


def configurations_table(
    title: str,
    measured: Sequence[Configuration],
    quantities: Mapping[str, Quantity],
    notes: Sequence[str] = (),
    more: Sequence[Column[Configuration]] = (),
) -> ReportTable:
    """Return a row for each configuration: its distinct factors, median and interval of each quantity, and n.

    `more` are columns of an experiment's own, before n.
    """
    headings = dict.fromkeys(name for each in measured for name in each.factors)
    factors = [
        Column[Configuration](
            name, partial(_factor, name=name), shared=f"{name} {{}}".format, right=_is_right(measured, name)
        )
        for name in headings
    ]
    all_notes = [*notes, _NOTE] if quantities else notes
    n = Column[Configuration]("n", lambda row: str(len(row.results)), right=True, shared="n={} each".format)

    def with_intervals(count: int) -> ReportTable:
        """Return the table with the intervals of its first `count` quantities."""
        quantity_columns = [
            Column[Configuration](
                each.heading, partial(_median, name=name, places=each.places, interval=place < count), right=True
            )
            for place, (name, each) in enumerate(quantities.items())
        ]
        return ReportTable.brief(title, measured, [*factors, *quantity_columns, *more, n], all_notes)

    tables = (with_intervals(count) for count in range(len(quantities), 1, -1))
    return next((table for table in tables if table.width <= SCREEN), with_intervals(1))


def plot_quantity(measured: Sequence[Configuration], name: str, quantity: Quantity) -> Figure:
    """Draw the trials of each configuration as points, with median and interval."""
    from redolab.report.plots import MEASURED, WIDTH, head, plt

    varied = [heading for heading in measured[0].factors if len({each.factors.get(heading) for each in measured}) > 1]
    figure, axes = plt.subplots(figsize=(WIDTH, 1.4 + 0.32 * len(measured)), layout="constrained")
    for place, each in enumerate(measured):
        values = each.values(name)
        if not values:
            continue
        axes.plot(values, [place] * len(values), "o", color=MEASURED, alpha=0.35, markersize=4, zorder=1)
        axes.plot(statistics.median(values), place, "|", color="black", markersize=14, markeredgewidth=2, zorder=3)
        if (interval := interval_of_median(values)) is not None:
            axes.hlines(place, *interval, color="black", linewidth=2, zorder=2)
    axes.set_yticks(
        range(len(measured)), [", ".join(each.factors.get(heading, "") for heading in varied) for each in measured]
    )
    axes.set_ylim(len(measured) - 0.5, -0.5)
    axes.set_xlim(left=min(0.0, axes.get_xlim()[0]))
    axes.set_xlabel(quantity.heading)
    axes.grid(visible=True, axis="x", color="#DDDDDD", linewidth=0.5)
    shared = [f"{heading} {measured[0].factors[heading]}" for heading in measured[0].factors if heading not in varied]
    head(figure, answer(measured, name, quantity).removesuffix("."), ", ".join(shared))
    return figure


def _factor(row: Configuration, name: str) -> str:
    return row.factors.get(name, NONE)


def _is_right(measured: Sequence[Configuration], name: str) -> bool:
    return all(each.factors.get(name, "0")[:1].isdigit() for each in measured)


def _median(row: Configuration, name: str, places: int, *, interval: bool) -> str:
    values = row.values(name)
    if interval or not values:
        return median_with_interval(values, places)
    return number(statistics.median(values), places)
