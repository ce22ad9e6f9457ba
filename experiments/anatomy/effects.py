"""What each level adds to the baseline, as a share with an interval, and in which phase."""

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
"""What levels are levels of: the baseline that they are compared with is alike in all else."""
_UP_TO_READY = (Phase.DISCOVER, Phase.SCAN, Phase.APPLY, Phase.OPEN, Phase.ACCEPT)
_FEWEST = 2
"""Crashes: one has no spread."""


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
    """How its crash was made, in words."""
    machine: str = ""
    """The identity of the machine; empty where it was not noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorEffect:
    """One level of one server against the server's baseline."""

    server: str
    version: str
    factor: str
    level: str
    ready: float
    """Seconds to ready: the geometric mean of the crashes, of each of its recoveries; NaN where none was ready."""
    n: int
    crashes: int
    base: float
    """The same of the baseline."""
    ratio: Ratio
    """By what share it takes longer than the baseline; its blocks are crashes."""
    chance: float
    """To find such a difference where there is none."""
    phase: str
    """The phase that grew or shrank the most; empty where the log does not tell."""
    rollback: float | None
    """Mean of the rollback after ready, seconds."""
    unfinished: int
    """Recoveries that did not end in a server that was ready."""
    stands: bool = False
    """Whether it stands beside all levels of its baseline that were measured (`stand_together`)."""
    on: str = ""
    """The machine, where the server was measured on several."""
    baseline: int = 1
    """Which of the baselines it is compared with, in the order in which they were first measured."""

    @property
    def label(self) -> str:
        """Whose it is: the server, and what tells it apart where it has several baselines."""
        on = f" on {self.on}" if self.on else ""
        return (
            server_label(self.server, self.version) + on + (f", baseline {self.baseline}" if self.baseline > 1 else "")
        )

    @property
    def added(self) -> float:
        """Seconds, to those of the baseline."""
        return self.ready - self.base


def effects(measured: Sequence[MeasuredCase]) -> list[FactorEffect]:
    """The baseline of each server, and after it every other level: the factor that adds the most first, its levels together.

    What several runs of one machine measured is put together where their baselines are alike in all.
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
        # One that was never ready adds more than any other.
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
    """How and where its crash was made."""
    return case.crash, case.machine


def _of_one_baseline(measured: Sequence[MeasuredCase]) -> list[tuple[Alike, Alike, list[MeasuredCase]]]:
    """What can be levels of one baseline, with the key of that: of a run what is alike but for its case, of several if theirs are."""
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
    """Half of the 95 % interval of a level's change, and the chance to find such a change where there is none.

    Between the logarithms of crashes: those made alike differ by more than recoveries of one. Of pairs where the level has
    the baseline's own crashes; else Welch's, each with its own spread. A level of a single crash has none of its own: its
    crashes are taken to differ as those of all baselines do. NaN where nothing tells.
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
    """The standard deviation between crashes of a baseline, in logarithms, of all of them together, and its degrees of freedom."""
    squares, freedom = 0.0, 0
    for own in measured:
        crashes = list(_logarithms(_by_image([each.trial for each in own if each.factor == BASELINE])).values())
        if crashes:
            squares += math.fsum((each - statistics.fmean(crashes)) ** 2 for each in crashes)
            freedom += len(crashes) - 1
    return (math.sqrt(squares / freedom), freedom) if freedom else (math.nan, 0)


def _logarithms(seconds: Mapping[str, Sequence[float]]) -> Mapping[str, float]:
    """Crash → the mean of the logarithms of its recoveries."""
    return {name: statistics.fmean(map(math.log, of_it)) for name, of_it in seconds.items()}


def _by_image(trials: Sequence[RecoveryTrial]) -> Mapping[str, list[float]]:
    seconds: dict[str, list[float]] = defaultdict(list)
    for trial in trials:
        if trial.ready_s is not None:
            seconds[trial.image].append(trial.ready_s)
    return seconds


def _phase(trials: Sequence[RecoveryTrial], base: Sequence[RecoveryTrial]) -> str:
    """The phase whose mean differs the most from the baseline's; scan and apply in one where the log does not tell them apart."""
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
    """Phase up to ready → its mean seconds in the recoveries of a level, as far as the log tells them."""
    trials = [each.trial for each in measured if (each.factor, each.level) == (effect.factor, effect.level)]
    found = {phase: _mean([_phases(trial).get(phase) for trial in trials]) for phase in _UP_TO_READY}
    return {phase: seconds for phase, seconds in found.items() if seconds is not None}


def _phases(trial: RecoveryTrial) -> Mapping[Phase, float | None]:
    # Of a server that was ready, a log that ends before that was not understood: its few phases would pass for all.
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
