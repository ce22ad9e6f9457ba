"""What each level of each setting changes, against the baselines of the same blocks."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redolab.crashes.bench import crashes_of, samples_of, story_folder
from redolab.crashes.clients import read_moments
from redolab.crashes.images import MACHINE, WORKLOAD
from redolab.crashes.load_figures import LoadFigures, load_figures
from redolab.crashes.recovery import RecoveryTrial
from redolab.errors import LabError
from redolab.models.intervals import Ratio, ratios
from redolab.runs.factors import read_factors
from redolab.runs.machines import machine_names
from redolab.runs.store import Run
from redolab.samples.machine_use import read_machine_samples
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One level of one setting against the baseline of the same load on the same server; medians over the blocks."""

    server: str
    version: str
    load: str
    setting: str
    baseline: str
    level: str
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
    found = []
    for run in runs:
        plan: SettingsPlan = run.plan(SettingsPlan)
        seconds = _seconds(run)
        names = machine_names(run.record().sessions)
        images = {image.name: image for image in crashes_of(run)}
        ready = {record.trial.image: record.trial.seconds_to_ready for record in run.trials(RecoveryTrial)}
        for place, record in sorted(run.groups().items()):
            image, change = images.get(record.name), plan.groups[place]
            if image is None:
                continue
            folder = story_folder(run, image.name)
            machine = read_machine_samples(folder / MACHINE) if (folder / MACHINE).exists() else []
            figures = load_figures(
                read_moments(folder / WORKLOAD), samples_of(run, image.name), machine, image.capacity, seconds
            )
            if figures is None:
                continue
            block = f"{run.name} {names[record.session]} {image.spec.number}"
            version = image.spec.dataset.version
            found.append(Measured(change.server, version, block, change, figures, ready.get(image.name)))
    return found


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
    return Effect(
        server=first.server,
        version=first.version,
        load=first.change.spec.workload,
        setting=first.change.setting,
        baseline=first.change.baseline,
        level=first.change.level,
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
        base_ready=_median([each.ready for each in base]),
        ready=_median([each.ready for each in cell]),
        recovery=recovery,
    )


def _which(each: Measured) -> tuple[str, str]:
    return each.change.setting, each.change.level


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _seconds(run: Run) -> float:
    try:
        return read_factors(Factors, run.record().options).measured()
    except LabError:
        return Factors().measured()
