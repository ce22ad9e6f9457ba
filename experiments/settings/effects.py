"""Effects of each level of each setting against the baselines of the same blocks."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from redolab.errors import InvalidInput, LabError
from redolab.models.intervals import Ratio, chances, median_of_known, ratios, stand_together
from redolab.records.alike import Alike
from redolab.records.crash import CrashSpec
from redolab.results.load_figures import LoadFigures
from redolab.results.loads import Load, found_in
from redolab.runs.factors import read_factors
from redolab.runs.store import Run
from redolab.servers.catalogue import server_catalogue
from redolab.units import format_duration, format_size, parse_size

from .changes import BASELINE, Skipped, skipped
from .factors import Factors
from .planned import PlannedChange, SettingsPlan

_BASE = (BASELINE, BASELINE)


@dataclass(frozen=True, slots=True)
class MeasuredLoad:
    """One load with one level, and the recovery after it."""

    run: str
    machine: str
    key: Alike
    block: str
    spec: CrashSpec
    change: PlannedChange
    figures: LoadFigures
    ready: float | None
    variables: Mapping[str, str]
    """Values of the settings that the server reports."""
    late_share: float | None = None
    """Largest delay of the disk model's answers in its load and recoveries, as a share of all latencies."""
    buffered: bool = False
    """True if its disk was buffered by the page cache."""

    @property
    def which(self) -> tuple[str, str]:
        """Setting and its level."""
        return self.change.setting, self.change.level


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingEffect:
    """One level of one setting against the baseline of the same load on the same server; medians over the blocks."""

    machine: str
    server: str
    version: str
    load: str
    storage: str
    apart: str
    """Properties that distinguish its baseline from others of that load and server, as in `log 1G`; empty without
    others.
    """
    setting: str
    baseline: str
    level: str
    used: str | None
    """Value that the server reports, if it is not the requested one."""
    same_used: bool
    """True if the server reports the baseline's value: the level was not in effect."""
    blocks: int
    """Number of blocks with a baseline to compare with."""
    barren: int
    """Number of its loads in which nothing succeeded, which no effect counts."""
    loads: int
    base_rate: float
    rate: float
    is_notpm: bool
    throughput: Ratio | None
    """Change of throughput; None if it cannot be compared, for example because every connection was refused."""
    base_latency: float | None
    latency: float | None
    base_log_waits: float | None
    log_waits: float | None
    base_cpu: float | None
    cpu: float | None
    """Share of all CPUs in use."""
    failed: float
    """Transactions or connections that failed, a second."""
    fillings: float | None
    """Number of times the log was filled."""
    base_ready: float | None
    ready: float | None
    recovery: Ratio | None
    chances: tuple[float, float]
    """Two-sided p-values of the effects on throughput and on recovery; NaN if unknown."""
    late_share: float | None
    buffered: bool
    throughput_stands: bool = False
    """True if the effect is significant among all effects (`stand_together`)."""
    recovery_stands: bool = False

    @property
    def decided_by(self) -> None:
        """Figures of the storage that decided the row; None: any may have."""
        return

    @property
    def size(self) -> float:
        """Sort key: the largest significant change of throughput or recovery; any other change counts less."""
        told = [
            abs(each.change)
            for each, stands in ((self.throughput, self.throughput_stands), (self.recovery, self.recovery_stands))
            if each is not None and stands
        ]
        return 1 + max(told) if told else abs(self.throughput.change) if self.throughput else 0.0


def measured_in(runs: Sequence[Run]) -> list[MeasuredLoad]:
    """Return the loads of runs that have figures, in the order of measurement. Raises `LabError`."""
    plans: dict[str, SettingsPlan] = {run.name: run.plan(SettingsPlan) for run in runs}
    return [_measured(load, plans[load.run].groups[load.group]) for load in found_in(runs).loads]


def _measured(load: Load, change: PlannedChange) -> MeasuredLoad:
    late = [load.image.late_share, *(each.trial.late_share for each in load.recoveries)]
    times = [each.trial.ready_s for each in load.recoveries]
    return MeasuredLoad(
        load.run,
        load.machine,
        load.key,
        load.block,
        load.image.spec,
        change,
        load.figures,
        median_of_known(times),
        load.image.variables,
        max((share for share in late if share is not None), default=None),
        load.buffered,
    )


def effects(measured: Sequence[MeasuredLoad]) -> list[SettingEffect]:
    """Return the effects, server by server, the largest first.

    Loads are compared with the baseline of their own run; runs with comparable baselines are pooled.
    """
    baselines = {
        (each.run, each.machine, each.spec.dataset.server, each.spec.workload): (each.machine, each.key)
        for each in measured
        if each.which == _BASE
    }
    kinds: dict[tuple[str, Alike], list[MeasuredLoad]] = defaultdict(list)
    for each in measured:
        key = (each.run, each.machine, each.spec.dataset.server, each.spec.workload)
        if key in baselines:
            kinds[baselines[key]].append(each)
    apart = _apart([of_kind[0] for of_kind in kinds.values()])
    found = _beside_each_other(
        [effect for of_kind, words in zip(kinds.values(), apart, strict=True) for effect in _of_kind(of_kind, words)]
    )
    servers = list(dict.fromkeys((each.server, each.machine) for each in found))
    return sorted(found, key=lambda effect: (servers.index((effect.server, effect.machine)), -effect.size))


def _beside_each_other(found: Sequence[SettingEffect]) -> list[SettingEffect]:
    """Return the effects, each marked if it is significant among all."""
    stand = stand_together([chance for each in found for chance in each.chances])
    return [
        replace(each, throughput_stands=throughput, recovery_stands=recovery)
        for each, throughput, recovery in zip(found, stand[::2], stand[1::2], strict=True)
    ]


def _apart(kinds: Sequence[MeasuredLoad]) -> list[str]:
    """Return for each baseline its differences from others of the same load on the same server."""

    def on(each: MeasuredLoad) -> tuple[str, str, str, str]:
        return each.machine, each.spec.dataset.server, each.spec.dataset.version, each.spec.workload

    said = []
    for kind in kinds:
        others = [_conditions(other) for other in kinds if on(other) == on(kind)]
        differ = [words for place, words in enumerate(_conditions(kind)) if len({other[place] for other in others}) > 1]
        said.append(", ".join(differ or ([f"run {kind.run}"] if len(others) > 1 else [])))
    return said


def _conditions(measured: MeasuredLoad) -> tuple[str, ...]:
    spec = measured.spec
    return (
        spec.storage,
        f"log {format_size(spec.instance.log_size)}",
        f"pool {format_size(spec.instance.buffer_pool)}",
        f"tables {format_size(spec.dataset.size)}",
        f"{spec.threads} clients",
        "" if spec.kill.after is None else f"loads of {format_duration(spec.kill.after)}",
    )


def skipped_in(runs: Sequence[Run]) -> Mapping[str, Sequence[Skipped]]:
    """Return server → the requested settings that it does not have."""
    found: dict[str, list[Skipped]] = {}
    for run in runs:
        plan: SettingsPlan = run.plan(SettingsPlan)
        for server in dict.fromkeys(group.server for group in plan.groups):
            try:
                names = read_factors(Factors, run.record().options).varied()
                own = skipped(names, server_catalogue().get(server).dialect())
            except LabError:
                # Skip servers and factors that this version of redolab does not know.
                continue
            known = found.setdefault(server, [])
            known += [each for each in own if each not in known]
    return found


def _of_kind(measured: Sequence[MeasuredLoad], apart: str) -> list[SettingEffect]:
    cells: dict[tuple[str, str], list[MeasuredLoad]] = defaultdict(list)
    for each in measured:
        cells[each.which].append(each)
    base = cells.pop(_BASE)
    rates = [(each.block, each.which, each.figures.rate.mean) for each in measured if each.figures.rate.mean > 0]
    times = [(each.block, each.which, each.ready) for each in measured if each.ready]
    throughput, recovery = ratios(rates, _BASE), ratios(times, _BASE)
    of_throughput, of_recovery = chances(rates, _BASE), chances(times, _BASE)
    return [
        _effect(
            cell,
            base,
            throughput.get(which),
            recovery.get(which),
            (of_throughput.get(which, math.nan), of_recovery.get(which, math.nan)),
            apart,
        )
        for which, cell in cells.items()
    ]


def _effect(
    cell: Sequence[MeasuredLoad],
    base: Sequence[MeasuredLoad],
    throughput: Ratio | None,
    recovery: Ratio | None,
    by_chance: tuple[float, float],
    apart: str,
) -> SettingEffect:
    common = {each.block for each in cell} & {each.block for each in base}
    cell = [each for each in cell if each.block in common] or cell
    base = [each for each in base if each.block in common] or base
    first = cell[0]
    used = _used(first)
    same = used is not None and all(used == _used(each, first.change.setting) for each in base)
    return SettingEffect(
        machine=first.machine,
        server=first.spec.dataset.server,
        version=first.spec.dataset.version,
        load=first.spec.workload,
        storage=first.spec.storage,
        apart=apart,
        setting=first.change.setting,
        baseline=first.change.baseline,
        level=first.change.level,
        used=used if used is not None and (same or not _as_asked(first.change.level, used)) else None,
        same_used=same,
        blocks=len(common) if throughput is None else throughput.blocks,
        barren=sum(not each.figures.rate.mean for each in cell),
        loads=len(cell),
        base_rate=statistics.median(each.figures.rate.mean for each in base),
        rate=statistics.median(each.figures.rate.mean for each in cell),
        is_notpm=first.figures.new_orders is not None,
        throughput=None if same else throughput,
        base_latency=median_of_known([each.figures.latency_95_ms for each in base]),
        latency=median_of_known([each.figures.latency_95_ms for each in cell]),
        base_log_waits=median_of_known([each.figures.log_waits for each in base]),
        log_waits=median_of_known([each.figures.log_waits for each in cell]),
        base_cpu=median_of_known([each.figures.cpu_share for each in base]),
        cpu=median_of_known([each.figures.cpu_share for each in cell]),
        failed=statistics.median(each.figures.errors for each in cell),
        fillings=median_of_known([each.figures.fillings for each in cell]),
        base_ready=median_of_known([each.ready for each in base]),
        ready=median_of_known([each.ready for each in cell]),
        recovery=None if same else recovery,
        chances=(math.nan, math.nan) if same else by_chance,
        late_share=max((share for each in (*cell, *base) if (share := each.late_share) is not None), default=None),
        buffered=any(each.buffered for each in (*cell, *base)),
    )


def _as_asked(level: str, used: str) -> bool:
    """Return True if a number that a server reports is the requested one. Anything but a number counts as True."""
    try:
        return float(used) == parse_size(level.partition(",")[0])
    except (ValueError, InvalidInput):
        return True


def _used(measured: MeasuredLoad, setting: str | None = None) -> str | None:
    """Return the value of a setting that the server reports, by default its own; None if it reports none.

    If the setting concerns all files of the redo log, it is the value of one file times their number.
    """
    name, _, of_all = (setting or measured.change.setting).partition(",")
    value = measured.variables.get(name)
    if value is None or not of_all:
        return value
    return str(int(value) * int(measured.variables.get("innodb_log_files_in_group", "1")))
