"""Effect of each level against the baseline: a share with an interval, and the phase."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import scipy

from redolab.errorlog import Phase
from redolab.models.intervals import SHARE, Ratio, stand_together
from redolab.records.alike import Alike, grouped, pooled
from redolab.records.recovery import Outcome, RecoveryTrial
from redolab.report.labels import server_label

from .cases import BASELINE

_OF_A_CASE = ("spec", "buffer_pool", "settings")
"""Parts of the comparison key in which levels differ; their baseline is equal in all others."""
_UP_TO_READY = (Phase.DISCOVER, Phase.SCAN, Phase.APPLY, Phase.OPEN, Phase.ACCEPT)
_FEWEST = 2
"""Fewest crashes for a spread."""


@dataclass(frozen=True, slots=True)
class MeasuredCase:
    """One recovery of a case."""

    server: str
    factor: str
    level: str
    trial: RecoveryTrial
    key: Alike
    run: str = ""
    crash: str = ""
    """Description of how its crash was made."""
    machine: str = ""
    """Machine id. Empty in runs made before ids were recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorEffect:
    """One level of one server against the server's baseline."""

    server: str
    version: str
    factor: str
    level: str
    ready: float
    """Seconds to ready: geometric mean over crashes and their recoveries; NaN if none was ready."""
    n: int
    crashes: int
    base: float
    """Seconds to ready of the baseline, in the same way."""
    ratio: Ratio
    """Relative difference from the baseline; its blocks are crashes."""
    chance: float
    """Two-sided p-value of the difference."""
    phase: str
    """Phase that grew or shrank the most; empty if the log does not show it."""
    rollback: float | None
    """Mean seconds of rollback after ready."""
    unfinished: int
    """Number of recoveries that did not end in a ready server."""
    stands: bool = False
    """True if it is significant among all measured levels of its baseline (`stand_together`)."""
    on: str = ""
    """Name of the machine, if the server was measured on several."""
    baseline: int = 1
    """Number of its baseline, in the order of first measurement."""

    @property
    def label(self) -> str:
        """Name of the server, with its machine and baseline if it has several."""
        on = f" on {self.on}" if self.on else ""
        return (
            server_label(self.server, self.version) + on + (f", baseline {self.baseline}" if self.baseline > 1 else "")
        )

    @property
    def added(self) -> float:
        """Seconds added to the baseline's."""
        return self.ready - self.base


def effects(measured: Sequence[MeasuredCase]) -> list[FactorEffect]:
    """Return for each server the baseline, then all other levels, the factor that adds most first, its levels together.

    Results of several runs on one machine are pooled if their baselines are equal in everything.
    """
    found: list[FactorEffect] = []
    kinds = _of_one_baseline(measured)
    machines = {(key["server"], key.machine) for key, _, _ in kinds}
    several_machines = {server for server, count in Counter(server for server, _ in machines).items() if count > 1}
    baselines = list(dict.fromkeys(_made(each) for _, _, own in kinds for each in own if each.factor == BASELINE))
    spread = _spread_of_baselines([own for _, _, own in kinds])
    for key, _, own in kinds:
        server = key["server"]
        cells: dict[tuple[str, str], list[RecoveryTrial]] = defaultdict(list)
        for each in own:
            cells[each.factor, each.level].append(each.trial)
        if not _by_image(cells[BASELINE, BASELINE]):
            continue
        (made,) = {_made(each) for each in own if each.factor == BASELINE}
        of_it = [
            _effect(server, factor, level, trials, cells[BASELINE, BASELINE], spread)
            for (factor, level), trials in sorted(cells.items(), key=lambda cell: cell[0][0] != BASELINE)
        ]
        on = key.machine.in_words() if server in several_machines else ""
        for effect, stands in zip(of_it, stand_together([each.chance for each in of_it]), strict=True):
            found.append(replace(effect, stands=stands, on=on, baseline=baselines.index(made) + 1))
    most: dict[str, float] = defaultdict(float)
    for effect in found:
        # A level that was never ready adds more than any other.
        most[effect.factor] = max(most[effect.factor], effect.ratio.change if effect.n else math.inf)
    labels = list(dict.fromkeys(each.label for each in found))
    return sorted(
        found,
        key=lambda effect: (
            labels.index(effect.label),
            effect.factor != BASELINE,
            -most[effect.factor],
            effect.factor,
            effect.added if effect.n else math.inf,
        ),
    )


def _made(case: MeasuredCase) -> tuple[str, str]:
    """Return the crash and the machine of a case."""
    return case.crash, case.machine


def _of_one_baseline(measured: Sequence[MeasuredCase]) -> list[tuple[Alike, Alike, list[MeasuredCase]]]:
    """Return the cases that share a baseline, with its key: comparable cases of a run, and of runs with equal
    baselines.
    """
    found: dict[tuple[Alike, Alike, str], list[MeasuredCase]] = {}
    for run in dict.fromkeys(each.run for each in measured):
        kinds = grouped([(each.key, each) for each in measured if each.run == run], *_OF_A_CASE)
        for key, own in kinds.items():
            if bases := [each.key for each in own if each.factor == BASELINE]:
                found.setdefault((key, pooled(bases), own[0].machine), []).extend(own)
    return [(key, base, own) for (key, base, _), own in found.items()]


def _effect(
    server: str,
    factor: str,
    level: str,
    trials: Sequence[RecoveryTrial],
    base: Sequence[RecoveryTrial],
    spread: tuple[float, int],
) -> FactorEffect:
    of_level, of_base = _logarithms(_by_image(trials)), _logarithms(_by_image(base))
    ready = math.exp(statistics.fmean(of_level.values())) if of_level else math.nan
    base_ready = math.exp(statistics.fmean(of_base.values()))
    change = math.log(ready / base_ready)
    is_base = factor == BASELINE
    reach, chance = (0.0, math.nan) if is_base else _certainty(change, of_level, of_base, spread)
    blocks = 0 if is_base else len(of_level)
    return FactorEffect(
        server=server,
        version=trials[0].version,
        factor=factor,
        level=level,
        ready=ready,
        n=sum(trial.ready_s is not None for trial in trials),
        crashes=len({trial.image for trial in trials}),
        base=base_ready,
        ratio=Ratio(math.expm1(change), math.expm1(change - reach), math.expm1(change + reach), blocks),
        chance=chance,
        phase="" if is_base else _phase(trials, base),
        rollback=_mean([_phases(trial).get(Phase.ROLLBACK) for trial in trials]),
        unfinished=sum(trial.outcome is not Outcome.READY for trial in trials),
    )


def _certainty(
    change: float, level: Mapping[str, float], base: Mapping[str, float], spread: tuple[float, int]
) -> tuple[float, float]:
    """Return half of the 95 % interval of a level's change, and the change's two-sided p-value.

    The unit is the logarithm of a crash's mean: comparable crashes differ more than recoveries of one crash. If the
    level has the baseline's own crashes, the test is paired; otherwise it is Welch's, with a spread for each. A level
    of a single crash gets the spread of all baselines. NaN without enough data.
    """
    is_paired = level.keys() <= base.keys()
    if is_paired and len(level) < _FEWEST:
        return math.nan, math.nan
    if is_paired:
        test = scipy.stats.ttest_1samp([value - base[name] for name, value in level.items()], 0.0)
    elif len(level) < _FEWEST or len(base) < _FEWEST:
        deviation, freedom = spread
        error = deviation * math.sqrt(1 / len(level) + 1 / len(base))
        student = scipy.stats.t(freedom)
        chance = 2 * float(student.sf(abs(change) / error)) if error else 0.0
        return float(student.ppf((1 + SHARE) / 2)) * error, chance
    else:
        test = scipy.stats.ttest_ind(list(level.values()), list(base.values()), equal_var=False)
    low, high = test.confidence_interval(SHARE)
    return float(high - low) / 2, float(test.pvalue)


def _spread_of_baselines(measured: Sequence[Sequence[MeasuredCase]]) -> tuple[float, int]:
    """Return the pooled standard deviation between crashes of a baseline, in logarithms, and its degrees of freedom."""
    squares, freedom = 0.0, 0
    for own in measured:
        crashes = list(_logarithms(_by_image([each.trial for each in own if each.factor == BASELINE])).values())
        if crashes:
            squares += math.fsum((each - statistics.fmean(crashes)) ** 2 for each in crashes)
            freedom += len(crashes) - 1
    return (math.sqrt(squares / freedom), freedom) if freedom else (math.nan, 0)


def _logarithms(seconds: Mapping[str, Sequence[float]]) -> Mapping[str, float]:
    """Return crash → the mean of the logarithms of its recoveries."""
    return {name: statistics.fmean(map(math.log, of_it)) for name, of_it in seconds.items()}


def _by_image(trials: Sequence[RecoveryTrial]) -> Mapping[str, list[float]]:
    seconds: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        if trial.ready_s is not None:
            seconds[trial.image].append(trial.ready_s)
    return seconds


def _phase(trials: Sequence[RecoveryTrial], base: Sequence[RecoveryTrial]) -> str:
    """Return the phase whose mean differs most from the baseline's; scan and apply as one if the log does not separate
    them.
    """
    differences = {}
    for phase in _UP_TO_READY:
        now, before = (_mean([_phases(trial).get(phase) for trial in each]) for each in (trials, base))
        if now is not None and before is not None:
            differences[str(phase)] = now - before
    starts = [_mean([_start(trial) for trial in each]) for each in (trials, base)]
    if starts[0] is not None and starts[1] is not None:
        differences["start"] = starts[0] - starts[1]
    return max(differences, key=lambda name: abs(differences[name]), default="")


def phases_of(measured: Sequence[MeasuredCase], effect: FactorEffect) -> Mapping[Phase, float]:
    """Return phase up to ready → its mean seconds in the recoveries of a level, as far as logs show them."""
    trials = [each.trial for each in measured if (each.factor, each.level) == (effect.factor, effect.level)]
    found = {phase: _mean([_phases(trial).get(phase) for trial in trials]) for phase in _UP_TO_READY}
    return {phase: seconds for phase, seconds in found.items() if seconds is not None}


def _phases(trial: RecoveryTrial) -> Mapping[Phase, float | None]:
    # If a ready server's log ends before that, it was not understood: its few phases would pass for all.
    if trial.ready_s is not None and trial.timeline is not None and trial.timeline.seconds_to_ready is None:
        return {}
    return {} if trial.timeline is None else {time.phase: time.seconds for time in trial.timeline.phases}


def _start(trial: RecoveryTrial) -> float | None:
    if trial.timeline is None or trial.ready_s is None or trial.timeline.seconds_to_ready is None:
        return None
    return trial.ready_s - trial.timeline.seconds_to_ready


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
