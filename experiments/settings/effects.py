"""What each level of each setting changes, against the baselines of the same blocks."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redolab.crashes.load_figures import LoadFigures
from redolab.crashes.loads import Load, found_in
from redolab.errors import LabError
from redolab.models.intervals import Ratio, ratios
from redolab.runs.factors import read_factors
from redolab.runs.store import Run
from redolab.servers.known import server_catalogue

from .changes import BASELINE, Skipped, skipped
from .factors import Factors
from .plan import PlannedChange, SettingsPlan

_BASE = (BASELINE, BASELINE)


@dataclass(frozen=True, slots=True)
class Measured:
    """One load of one level, and the recovery after it."""

    server: str
    version: str
    block: str
    change: PlannedChange
    figures: LoadFigures
    ready: float | None
    variables: Mapping[str, str]
    """As the server says it uses them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One level of one setting against the baseline of the same load on the same server; medians over the blocks."""

    server: str
    version: str
    load: str
    setting: str
    baseline: str
    level: str
    used: str | None
    """What the server says that it used; None where it does not say."""
    same_used: bool
    """Whether the server says that it used what it used in the baseline: the level was not had."""
    blocks: int
    base_rate: float
    rate: float
    is_notpm: bool
    throughput: Ratio | None
    """None where there was nothing to compare, as where every connection was refused."""
    base_latency: float | None
    latency: float | None
    base_log_waits: float | None
    log_waits: float | None
    failed: float
    """Transactions or connections that failed, a second."""
    fillings: float | None
    """How often the log was filled."""
    base_ready: float | None
    ready: float | None
    recovery: Ratio | None

    @property
    def size(self) -> float:
        """By which it is sorted: how much throughput it changes, or recovery where that is more; what is not told counts less."""
        told = [abs(each.change) for each in (self.throughput, self.recovery) if each is not None and each.is_told]
        return 1 + max(told) if told else abs(self.throughput.change) if self.throughput else 0.0


def measured_in(runs: Sequence[Run]) -> list[Measured]:
    """The loads of runs whose figures can be told, in the order of measuring. Raises `LabError`."""
    plans: dict[str, SettingsPlan] = {run.name: run.plan(SettingsPlan) for run in runs}
    return [_measured(load, plans[load.run].groups[load.group]) for load in found_in(runs).loads]


def _measured(load: Load, change: PlannedChange) -> Measured:
    dataset = load.image.spec.dataset
    ready = next((trial.seconds_to_ready for trial in load.recoveries), None)
    return Measured(dataset.server, dataset.version, load.block, change, load.figures, ready, load.image.variables)


def effects(measured: Sequence[Measured]) -> list[Effect]:
    """Server by server, what changes the most first."""
    found: list[Effect] = []
    for server in dict.fromkeys(each.server for each in measured):
        own = [each for each in measured if each.server == server]
        of_server = [
            effect
            for load in dict.fromkeys(each.change.spec.workload for each in own)
            for effect in _of_load([each for each in own if each.change.spec.workload == load])
        ]
        found += sorted(of_server, key=lambda effect: -effect.size)
    return found


def skipped_in(runs: Sequence[Run]) -> Mapping[str, Sequence[Skipped]]:
    """Server → the settings that it does not have, of those that were asked for."""
    found: dict[str, Sequence[Skipped]] = {}
    for run in runs:
        try:
            names = read_factors(Factors, run.record().options).varied()
        except LabError:
            continue
        plan: SettingsPlan = run.plan(SettingsPlan)
        for server in dict.fromkeys(group.server for group in plan.groups):
            found[server] = skipped(names, server_catalogue().get(server).dialect())
    return found


def _of_load(measured: Sequence[Measured]) -> list[Effect]:
    cells: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for each in measured:
        cells[each.change.setting, each.change.level].append(each)
    base = cells.pop(_BASE, [])
    if not base:
        return []
    rates = [(each.block, _which(each), each.figures.rate.mean) for each in measured if each.figures.rate.mean > 0]
    throughput = ratios(rates, _BASE)
    times = [(each.block, _which(each), each.ready) for each in measured if each.ready]
    recovery = ratios([(block, which, ready) for block, which, ready in times if ready is not None], _BASE)
    return [_effect(cell, base, throughput.get(which), recovery.get(which)) for which, cell in cells.items()]


def _effect(
    cell: Sequence[Measured], base: Sequence[Measured], throughput: Ratio | None, recovery: Ratio | None
) -> Effect:
    first = cell[0]
    used = first.variables.get(_variable(first.change.setting))
    return Effect(
        server=first.server,
        version=first.version,
        load=first.change.spec.workload,
        setting=first.change.setting,
        baseline=first.change.baseline,
        level=first.change.level,
        used=used,
        same_used=used is not None and used == base[0].variables.get(_variable(first.change.setting)),
        blocks=len({each.block for each in cell}),
        base_rate=statistics.median(each.figures.rate.mean for each in base),
        rate=statistics.median(each.figures.rate.mean for each in cell),
        is_notpm=first.figures.new_orders is not None,
        throughput=throughput,
        base_latency=_median([each.figures.latency_95_ms for each in base]),
        latency=_median([each.figures.latency_95_ms for each in cell]),
        base_log_waits=_median([each.figures.log_waits for each in base]),
        log_waits=_median([each.figures.log_waits for each in cell]),
        failed=statistics.median(each.figures.errors for each in cell),
        fillings=_median([each.figures.fillings for each in cell]),
        base_ready=_median([each.ready for each in base]),
        ready=_median([each.ready for each in cell]),
        recovery=recovery,
    )


def _variable(setting: str) -> str:
    """The server's variable: a setting of which it is told that it is of all files is that of one."""
    return setting.partition(",")[0]


def _which(each: Measured) -> tuple[str, str]:
    return each.change.setting, each.change.level


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None
